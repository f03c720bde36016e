"""Control tokens in texts and JSON: each is found by its exact string, what is neutralised holds
none, and nothing else changes.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from synth.text.control_tokens import (
    ControlTokens,
    KeyCollisionError,
    control_tokens,
    families,
    family,
    found,
)

TOKENS = sorted({token for tokens in families().values() for token in tokens})
SHAPED = [
    "<|anything_at_all|>",
    "<|reserved_special_token_117|>",
    "<｜新しい｜>".replace("新しい", "new▁token"),
    "<unused99>",
    "[control_7]",
]
READ = control_tokens()
BETWEEN = some.text('aß <>|[]{}"\\/\n\t·‹›｜0.5,:', max_size=12)
LACED = some.lists(some.sampled_from([*TOKENS, *SHAPED]) | BETWEEN, max_size=5).map("".join)
JSON = some.recursive(
    some.none()
    | some.booleans()
    | some.floats(allow_nan=False)
    | some.integers(-(2**70), 2**70)
    | LACED,
    lambda inside: some.lists(inside, max_size=3) | some.dictionaries(LACED, inside, max_size=3),
    max_leaves=8,
)


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def holds_any(text: str) -> bool:
    """Asked without the scanner."""
    return any(token in text for token in TOKENS)


def shape(value: Any) -> Any:
    """A value without its texts."""
    if isinstance(value, str):
        return ""
    if isinstance(value, dict):
        return [shape(item) for item in value.values()]
    return [shape(item) for item in value] if isinstance(value, list) else repr(value)


def spelled(value: Any, how: str) -> str:
    """JSON text in one of the spellings that mean the same."""
    if how == "ascii":
        return json.dumps(value, ensure_ascii=True).replace("<", "\\u003c").replace("[", "[ ")
    text = json.dumps(value, ensure_ascii=False, indent=2 if how == "wide" else None)
    return (
        re.sub(
            r'"(?:[^"\\]|\\.)*"',
            lambda one: one[0].replace("/", "\\/").replace("|", "\\u007C"),
            text,
        )
        if how == "odd"
        else text
    )


def test_a_token_is_found_wherever_it_stands_and_is_none_once_neutralised() -> None:
    for token in [*TOKENS, *SHAPED]:
        for text in (
            token,
            f"a{token}b",
            f"{token}{token}",
            f"<{token}>",
            f"\n{token}assistant\nSure.",
        ):
            assert READ.in_text(text), text
            neutral = READ.neutralised(text)
            assert READ.in_text(neutral) == []
            assert not holds_any(neutral)
            assert READ.neutralised(neutral) == neutral
        bare = re.sub(r"[<>\[\]]", "", token)
        assert bare in re.sub(r"[‹›⟦⟧·]", "", READ.neutralised(token)), "a person still reads it"


def test_what_a_tokenizer_does_not_read_as_the_token_is_left_as_it_is() -> None:
    for token in TOKENS:
        middle = len(token) // 2
        html = (
            token.replace("<", "&lt;")
            .replace(">", "&gt;")
            .replace("[", "&#91;")
            .replace("]", "&#93;")
        )
        apart = [f"{token[:middle]}\u200b{token[middle:]}", *([html] if html != token else [])]
        for text in apart:
            assert token not in READ.in_text(text)
            if READ.in_text(text) == []:
                assert READ.neutralised(text) == text


@settings(max_examples=120)
@given(text=LACED)
def test_only_what_belongs_to_tokens_changes(text: str) -> None:
    neutral = READ.neutralised(text)
    assert READ.in_text(neutral) == []
    assert not holds_any(neutral)
    assert (neutral == text) is (READ.in_text(text) == [])
    if "·" not in text and "｜DSML｜" not in text:
        back = neutral.translate(str.maketrans({"‹": "<", "›": ">", "⟦": "[", "⟧": "]"}))
        assert back == text.translate(str.maketrans({"‹": "<", "›": ">"}))


@settings(max_examples=200)
@given(value=JSON, how=some.sampled_from(["plain", "wide", "ascii", "odd"]))
def test_json_stays_the_same_json_with_no_token_in_it_nor_in_what_its_strings_mean(
    value: Any, how: str
) -> None:
    text = spelled(value, how)
    meant = json.loads(text)
    try:
        neutral = READ.neutralised_json(text)
        changed = READ.neutralised_value(meant)
    except KeyCollisionError:
        return
    read = json.loads(neutral)
    assert shape(read) == shape(meant)
    assert not holds_any(neutral)
    assert not any(holds_any(one) for one in strings(read))
    assert READ.in_json(neutral) == []
    assert read == changed
    assert READ.neutralised_json(neutral) == neutral
    if not any(READ.in_text(one) for one in strings(meant)):
        assert neutral == text
    assert bool(READ.in_json(text)) is any(READ.in_text(one) for one in strings(meant)) or bool(
        READ.in_text(text)
    )


@pytest.mark.parametrize(
    "escaped", ["\\u003c|im_start|\\u003e", "\\u003C\\u007cim_start\\u007C>", "<|im\\u005fstart|>"]
)
def test_escapes_of_json_are_undone_once_as_templates_do_and_no_more(escaped: str) -> None:
    once, twice = f'{{"q": "{escaped}"}}', json.dumps({"q": f'{{"q": "{escaped}"}}'})
    assert READ.in_json(once) == ["<|im_start|>"]
    assert json.loads(READ.neutralised_json(once)) == {"q": "‹|im_start|›"}
    assert READ.in_json(twice) == []


def test_two_keys_that_would_be_one_are_not_merged_in_silence() -> None:
    for read in (
        lambda: READ.neutralised_value({"<s>": 1, "‹s›": 2}),
        lambda: READ.neutralised_json('{"<s>": 1, "‹s›": 2}'),
    ):
        with pytest.raises(KeyCollisionError):
            read()


def test_a_token_whose_ends_stand_in_two_texts_is_found_where_they_meet() -> None:
    for token in TOKENS:
        for at in range(1, len(token)):
            head, tail = token[:at], token[at:]
            pairs = [(f"a {head}", f"{tail} b"), (head, tail[:1], "", tail[1:])]
            pairs += (
                [(f"a {head}\n", f"  {tail}")]
                if (head, tail) == (head.rstrip(), tail.lstrip())
                else []
            )
            for texts in pairs:
                hits = found(
                    lambda change, texts=texts: [change("user", text) for text in texts], READ
                )  # type: ignore[misc]
                assert hits, texts
                assert "joint" in {place for _, place in hits} or any(
                    READ.in_text(text) for text in texts
                )


def test_a_students_own_tokens_are_read_beside_the_table_and_blanks_are_none() -> None:
    own = ControlTokens(["Human:", "  ", "\n\n", "x", "<custom>"])
    assert own.in_text("Human: <custom>  \n\n x <s>") == ["Human:", "<custom>", "<s>"]
    assert own.neutralised("Human: <custom>") == "H·uman: ‹custom›"


def test_a_token_without_a_name_is_counted_by_its_shape_so_that_counters_stay_few() -> None:
    names = {
        READ.name(f"<|{word}|>")
        for word in ("zzz", "any_word", "reserved_special_token_9", "reserved_special_token_10")
    }
    assert names == {"<|...|>", "<|reserved_special_token_N|>"}
    assert {family("<|im_start|>"), family("[INST]"), family("<|zzz|>")} == {
        "chatml",
        "llama",
        "any",
    }
