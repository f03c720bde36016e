"""Numbers, days and times have one form, however they are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.text.leaks.spelled import atoms


@pytest.mark.parametrize(
    ("said", "atom"),
    [
        ("nine-one-seven-three", "d:9173"),
        ("four hundred and eighty-two dollars and fifteen cents", "n:482.15"),
        ("three dozen and one", "n:37"),
        ("it is thirty-seven", "n:37"),
        ("number twenty-two ten", "n:2210"),
        ("the code is forty-four seventy-one", "d:4471"),
        ("a dozen moves", "n:12"),
        ("room two-twelve", "n:212"),
        ("two and a half thousand", "n:2500"),
        ("about fifty-nine hundred", "n:5900"),
        ("one hundred and sixty-four fifty", "n:164.5"),
        ("in '57", "n:1957"),
        ("5 thousand", "n:5000"),
        ("1,250.50 in all", "n:1250.5"),
        ("at twenty to seven", "t:6:40"),
        ("a quarter past three", "t:3:15"),
        ("at 15:15", "t:3:15"),
        ("on 2026-03-14", "m:3"),
        ("on 2026-03-14", "o:14"),
        ("the twenty-first of May", "o:21"),
        ("the 9th", "o:9"),
        ("14 March", "o:14"),
        ("three bags", "3 bags"),
    ],
)
def test_a_number_is_read_in_words_and_in_digits(said: str, atom: str) -> None:
    assert atom in atoms(said)


@pytest.mark.parametrize("text", ["the second one", "I may march on", "one of two", ""])
def test_what_stands_everywhere_is_no_number(text: str) -> None:
    assert not {atom for atom in atoms(text) if atom[:2] in ("n:", "d:", "m:", "o:")}


@given(st.integers(min_value=10, max_value=999_999))
def test_a_number_in_digits_is_itself_with_or_without_commas(number: int) -> None:
    assert f"n:{number:g}" in atoms(f"we counted {number} of them")
    assert atoms(f"all {number:,} of them") == atoms(f"all {number} of them")


@given(st.text())
def test_no_text_breaks_it(text: str) -> None:
    atoms(text)
