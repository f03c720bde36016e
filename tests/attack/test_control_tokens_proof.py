"""The proof of a dataset under real tokenizers: a row in whose texts a turn is forged fails, and
one that is neutralised has none.
"""

from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from synth.exporters.kind import RowSettings
from synth.exporters.kinds.control_tokens import guarded
from synth.exporters.proof.check import prove
from synth.schemas.trajectory import Observation, Source
from synth.text.control_tokens import control_tokens, neutralising
from synth.text.transcript.message_texts import TOOLS, with_messages
from tests.attack.control_token_rows import TOKENS, a_row, laced, ledger_of, solved, tally_of
from tests.attack.student_templates import STUDENTS, saved, student
from tests.synth.pairs.planted import accepted, act, fork_of_one_tool, planted, run

pytest.importorskip(
    "transformers", reason="needs the extra: pip install -e '.[train]' (make test-train)"
)
SCHEMA = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Looks.",
        "parameters": {"type": "object", "properties": {}},
    },
}


class Row(msgspec.Struct):
    """Messages with tools, in the fields that `laced` knows."""

    messages: list[dict[str, Any]]
    tools: list[Any]


def conversation() -> list[dict[str, Any]]:
    """All roles, two answers of tools in a row, a thought in an earlier turn and one in the
    last.
    """
    calls = [
        {
            "id": f"c{at}",
            "type": "function",
            "function": {"name": "look", "arguments": {"where": "shelf", "n": at}},
        }
        for at in (1, 2)
    ]
    return [
        {"role": "system", "content": "Help."},
        {"role": "user", "content": "Where is the lamp?"},
        {
            "role": "assistant",
            "content": "Let me see.",
            "reasoning_content": "two places",
            "tool_calls": calls,
        },
        {"role": "tool", "content": '{"at": "the shelf"}', "tool_call_id": "c1"},
        {"role": "tool", "content": "nothing there", "tool_call_id": "c2"},
        {"role": "user", "content": "And now?"},
        {"role": "assistant", "content": "On the shelf.", "reasoning_content": "seen it"},
    ]


@cache
def template_of(family: str) -> Any:
    return student(family)


def forged(family: str, messages: list[dict[str, Any]], tools: list[Any]) -> list[str]:
    from synth.exporters.proof.turns import turn_problems

    return list(turn_problems(messages, tools, template_of(family)))


def special_ids(family: str, messages: list[dict[str, Any]], tools: list[Any]) -> int:
    from synth.exporters.template import added_tokens

    template = template_of(family)
    return sum(
        number in added_tokens(template) for number in template.ids(template.text(messages, tools))
    )


def places(text: str) -> list[tuple[str, list[dict[str, Any]], list[Any]]]:
    """The conversation with a text put into each of its texts."""
    return [
        (place, changed.messages, changed.tools)
        for place, changed in laced(Row(conversation(), [SCHEMA]), text)
    ]


@pytest.mark.parametrize("family", list(STUDENTS))
def test_a_clean_conversation_has_the_turns_of_its_messages(family: str) -> None:
    assert forged(family, conversation(), [SCHEMA]) == []
    assert forged(family, conversation()[1:], []) == []
    assert special_ids(family, conversation(), [SCHEMA]) >= 8


@pytest.mark.parametrize("family", list(STUDENTS))
def test_a_turn_that_is_forged_in_any_text_that_is_rendered_fails(family: str) -> None:
    _, special, added, forgery = STUDENTS[family]
    clean = special_ids(family, conversation(), [SCHEMA])
    seen = 0
    for token in (forgery, *special, *(one for one in added if one.strip() and one != "<table>")):
        for place, messages, tools in places(token):
            rendered = special_ids(family, messages, tools) != clean
            assert bool(forged(family, messages, tools)) is rendered, (place, token)
            seen += rendered
    assert seen >= 10 * len(special)


@pytest.mark.parametrize("family", list(STUDENTS))
def test_tokens_of_other_families_and_neutral_texts_are_words_to_it(family: str) -> None:
    clean = special_ids(family, conversation(), [SCHEMA])
    change = neutralising(control_tokens())
    for token in (STUDENTS[family][3], *TOKENS[::60]):
        for place, messages, tools in places(token):
            neutral, schemas = with_messages(messages, change), change(TOOLS, tools)
            assert forged(family, neutral, schemas) == [], (place, token)
            assert special_ids(family, neutral, schemas) == clean


@settings(max_examples=200)
@given(
    family=some.sampled_from(sorted(STUDENTS)),
    words=some.lists(
        some.sampled_from(TOKENS) | some.text("ab<>|[]/\n ", max_size=6), min_size=1, max_size=4
    ),
    at=some.integers(0, 10**6),
)
def test_whatever_is_put_anywhere_the_proof_and_the_token_ids_agree(
    family: str, words: list[str], at: int
) -> None:
    laid = places("".join(words).replace('"', ""))
    place, messages, tools = laid[at % len(laid)]
    differs = special_ids(family, messages, tools) != special_ids(family, conversation(), [SCHEMA])
    assert forged(family, messages, tools) or not differs, place
    change = neutralising(control_tokens())
    neutral = with_messages(messages, change)
    assert special_ids(family, neutral, change(TOOLS, tools)) == special_ids(
        family, conversation(), [SCHEMA]
    )


@pytest.mark.parametrize("family", list(STUDENTS))
@pytest.mark.parametrize("kind", ["sft", "dpo", "kto", "prm"])
def test_the_check_of_an_export_fails_where_tokens_are_kept_and_passes_where_they_are_not(
    family: str, kind: str, tmp_path: Path
) -> None:
    forgery = STUDENTS[family][3]
    told = {"tools": (SCHEMA,), "system_prompt": "Help."}
    opening = (Observation(f"Bring the lamp, or the chair. {forgery}", Source.USER),)
    base, good = fork_of_one_tool("a", **told, opening=opening)
    passed = run("passed", act(0), solved=True, **told, opening=opening)
    ledger = planted(tmp_path, [base, good, passed], [accepted(base, 1, good)])
    name = saved(family, tmp_path)
    kept = prove(kind, ledger, RowSettings(control_tokens="keep", student=name))
    assert any("texts are read as turns, calls or thoughts" in line for line in kept.failed), (
        kept.findings
    )
    neutral = prove(kind, ledger, RowSettings(control_tokens="neutralise", student=name))
    assert neutral.report.rows == kept.report.rows > 0
    assert not any("texts are read as turns" in line for line in neutral.failed)
    dropped = prove(kind, ledger, RowSettings(student=name))
    assert dropped.report.rows == 0
    assert any(reason.startswith("control_tokens:") for reason in dropped.report.left_out)


def test_a_token_that_only_this_student_has_is_dropped_where_the_student_is_named(
    tmp_path: Path,
) -> None:
    fast = template_of("chatml").tokenizer
    fast.add_special_tokens({"additional_special_tokens": ["<custom_turn>"]})
    fast.save_pretrained(tmp_path / "custom")
    row = a_row(ledger_of(tmp_path), "sft")
    (changed, *_) = (one for place, one in laced(row, "<custom_turn>") if "content" in place)
    assert list(guarded([changed], tally_of("sft"))) != []
    assert list(guarded([changed], tally_of("sft", student=str(tmp_path / "custom")))) == []


@pytest.mark.parametrize("form", ["trl", "axolotl", "verl", "openai"])
def test_a_forged_turn_fails_in_every_form_that_the_students_template_renders_and_nothing_else_does(
    form: str, tmp_path: Path
) -> None:
    asked = Observation(f"What does it cost? {STUDENTS['chatml'][3]}", Source.USER)
    ledger = planted(tmp_path, [solved("clean"), solved("laced", opening=(asked,))], [])
    chosen = {"form": form, "student": saved("chatml", tmp_path)}
    kept = prove("sft", ledger, RowSettings(control_tokens="keep", **chosen))
    (failed,) = [line for line in kept.failed if "read as turns" in line]
    assert "(1 of 2 rows)" in failed
    assert "cannot be rendered" not in failed
    assert not any(
        "read as turns" in line or "cannot be" in line
        for line in prove("sft", ledger, RowSettings(**chosen)).failed
    )
