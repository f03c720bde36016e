"""Refusals in words are found in several families' words and languages, and no reason of a task is
taken for one.
"""

import pytest

from benchmarks.gates.refusals import WORDS
from synth.schemas import read_yaml
from synth.text.refusals import refuses

SETS = read_yaml(WORDS.read_text(encoding="utf-8"), WORDS.name)


@pytest.mark.parametrize("said", SETS["first"])
def test_what_refuses_is_found(said: str) -> None:
    assert refuses(said)
    assert refuses(f"{said} Is there anything else?")


def test_of_the_second_set_nine_in_ten_are_found() -> None:
    found = sum(map(refuses, SETS["second"]))
    assert (found, len(SETS["second"])) == (30, 32)


@pytest.mark.parametrize("said", SETS["none"])
def test_what_is_near_a_refusal_is_none(said: str) -> None:
    assert not refuses(said)


def test_data_and_long_texts_are_none() -> None:
    assert not refuses('{"reason": "I\'m sorry, I can\'t help with that."}')
    assert not refuses("I'm sorry, I can't help with that. " + "And so on. " * 60)
