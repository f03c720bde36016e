"""A key is taken out of a text in whatever spelling, and nothing else is."""

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from synth.keys.remover import KeyRemover
from tests.attack.key_echoes import told

MARK = "<SHOP_TOKEN>"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/=.:!#$&"
KEYS = st.one_of(
    st.text(LETTERS, min_size=16, max_size=64),
    st.text("0123456789abcdef", min_size=32, max_size=64),
    st.text("0123456789", min_size=16, max_size=20),
    st.builds("sk-{}".format, st.text(LETTERS[:62], min_size=20, max_size=40)),
    st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=16, max_size=40),
    st.text(st.characters(min_codepoint=0xC0, max_codepoint=0x24F), min_size=16, max_size=24),
).filter(lambda key: len(set(key)) >= 8)
SPELLINGS = {
    "plain": lambda key: key,
    "upper": lambda key: "".join(letter.upper() if letter.isascii() else letter for letter in key),
    "base64": lambda key: base64.b64encode(key.encode()).decode(),
    "base64 url": lambda key: base64.urlsafe_b64encode(key.encode()).decode().rstrip("="),
    "base64 of user:key": lambda key: base64.b64encode(f"user:{key}".encode()).decode(),
    "base64 of more": lambda key: base64.b64encode(f'{{"a": "{key}", "b": 1}}'.encode()).decode(),
    "base64 in lines": lambda key: base64.encodebytes(f"{'y' * 40}{key}".encode()).decode(),
    "base64 twice": lambda key: base64.b64encode(base64.b64encode(key.encode())).decode(),
    "base64 of hex": lambda key: base64.b64encode(key.encode().hex().encode()).decode(),
    "hex": lambda key: key.encode().hex(),
    "hex upper": lambda key: key.encode().hex().upper(),
    "hex with colons": lambda key: key.encode().hex(":"),
    "hex with spaces": lambda key: key.encode().hex(" "),
    "hex in code": lambda key: "".join(f"\\x{byte:02x}" for byte in key.encode()),
    "percent where needed": lambda key: quote(key, safe=""),
    "percent in small letters": lambda key: "".join(f"%{byte:02x}" for byte in key.encode()),
    "percent everywhere": lambda key: "".join(f"%{byte:02X}" for byte in key.encode()),
    "percent twice": lambda key: quote(quote(key, safe=""), safe=""),
    "json": lambda key: json.dumps(key),
    "json in json": lambda key: json.dumps(json.dumps(key)),
    "json escapes": lambda key: "".join(f"\\u{ord(letter):04x}" for letter in key),
    "html": lambda key: "".join(f"&#{ord(letter)};" for letter in key),
    "html hex": lambda key: "".join(f"&#x{ord(letter):X};" for letter in key),
    "url": lambda key: f"https://user:{quote(key, safe='')}@shop.example/?q=1",
}  # fmt: skip


@settings(max_examples=10)
@given(
    key=KEYS,
    before=st.text(st.characters(codec="utf-8"), max_size=9),
    after=st.text(st.characters(codec="utf-8"), max_size=9),
)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_key_is_found_in_every_spelling(spelling: str, key: str, before: str, after: str) -> None:
    text = f"{before} |{SPELLINGS[spelling](key)}| {after}"
    cleaned = KeyRemover({MARK: key}).clean_text(text)
    assert MARK in cleaned
    assert not told(cleaned, key)
    assert KeyRemover({MARK: key}).clean_text(text) == cleaned
    assert cleaned.startswith(before)
    assert cleaned.endswith(after)


@settings(max_examples=30)
@given(
    key=KEYS,
    spelling=st.sampled_from(["plain", "base64", "hex", "percent where needed", "json"]),
    share=st.floats(0.55, 1),
    front=st.booleans(),
)
def test_an_echo_that_was_cut_leaves_less_than_half(
    key: str, spelling: str, share: float, front: bool
) -> None:
    written = SPELLINGS[spelling](key)
    size = max(int(len(written) * share), 1)
    text = f"x {written[:size]}" if front else f"{written[-size:]} x"
    assert not told(KeyRemover({MARK: key}).clean_text(text), key)


@settings(max_examples=40)
@given(
    key=KEYS, text=st.text(st.characters(codec="utf-8"), max_size=300), blob=st.binary(max_size=200)
)
def test_what_holds_no_key_stays_as_it_is(key: str, text: str, blob: bytes) -> None:
    keys = KeyRemover({MARK: key})
    for one in (
        text,
        base64.b64encode(blob).decode(),
        blob.hex(),
        quote(text, safe=""),
        json.dumps(text),
    ):
        if not told(one, key, share=0.3):
            assert keys.clean_text(one) == one
    assert keys.clean(blob) is blob or told(blob.decode("latin-1"), key, share=0.3)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec="utf-8"), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=8), inner, max_size=3)
    ),
    max_leaves=12,
)


@settings(max_examples=30)
@given(key=KEYS, value=JSON, nested=st.sampled_from(["plain", "base64", "json", "hex"]))
def test_values_of_json_stay_values_of_json(key: str, value: object, nested: str) -> None:
    keys = KeyRemover({MARK: key})
    assume(not told(json.dumps(value, ensure_ascii=False), key, share=0.3))
    assert keys.cleaned(value) == value
    written = {"value": value, "said": [SPELLINGS[nested](key)], key: 1}
    cleaned = keys.cleaned(written)
    assert json.loads(json.dumps(cleaned)) == cleaned
    assert (cleaned["value"], list(cleaned)[-1]) == (value, MARK)
    assert not told(json.dumps(cleaned, ensure_ascii=False), key)


def test_a_number_that_is_the_key_becomes_its_mark() -> None:
    assert KeyRemover({MARK: "4711081519471108"}).cleaned({"a": [4711081519471108, 12]}) == {
        "a": [MARK, 12]
    }


def test_the_longer_of_two_keys_of_which_one_holds_the_other_goes_as_a_whole() -> None:
    keys = KeyRemover({"<A>": "sk-live-0123456789", "<B>": "sk-live-0123456789-abcdefghij"})
    assert keys.clean_text("x sk-live-0123456789-abcdefghij y") == "x <B> y"
    assert keys.clean_text("x sk-live-0123456789 y") == "x <A> y"


def test_a_private_key_of_many_lines_is_found_whole_and_escaped() -> None:
    lines = "\n".join(
        base64.b64encode(bytes(range(at, at + 48))).decode() for at in range(0, 200, 10)
    )
    pem = f"-----BEGIN PRIVATE KEY-----\n{lines}\n-----END PRIVATE KEY-----\n"
    keys = KeyRemover({MARK: pem})
    for text in (pem, json.dumps(pem), base64.b64encode(pem.encode()).decode(), quote(pem)):
        assert not told(keys.clean_text(f"say: {text}"), pem, 1)


def test_a_word_too_short_to_be_a_key_stays() -> None:
    assert KeyRemover({MARK: "hunter2"}, shortest=8).clean_text("hunter2") == "hunter2"
