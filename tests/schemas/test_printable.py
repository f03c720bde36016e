"""Foreign text on a terminal: letters of any script stay, what steers a terminal is spelled out."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.schemas.text.printing import SPACING, printable


@pytest.mark.parametrize(
    ("received", "shown"),
    [
        ("\x1b[2J\x1b]0;pwn\x07", "\\x1b[2J\\x1b]0;pwn\\x07"),
        ("\u202e rtl \u2066", "\\u202e rtl \\u2066"),
        ("csi \x9b31m del \x7f", "csi \\x9b31m del \\x7f"),
        ("one\nstopped  fake\r", "one\\nstopped  fake\\r"),
        ("Grüße 你好 [bold] 🙂", "Grüße 你好 [bold] 🙂"),
        ("cut \ud800", "cut \ufffd"),
    ],
)
def test_what_steers_a_terminal_is_spelled_out_and_letters_stay(received: str, shown: str) -> None:
    assert printable(received) == shown


@given(st.text())
def test_no_control_character_is_left_but_the_spacing_that_was_asked_for(text: str) -> None:
    assert not [sign for sign in printable(text) if unicodedata.category(sign)[0] == "C"]
    kept = printable(text, SPACING)
    assert {sign for sign in kept if unicodedata.category(sign)[0] == "C"} <= set(
        "\n\t\u200c\u200d"
    )


def test_white_space_of_other_scripts_is_kept_where_texts_are_read() -> None:
    assert printable("一\u3000二\n\tdeep", SPACING) == "一\u3000二\n\tdeep"
