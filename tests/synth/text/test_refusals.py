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


@pytest.mark.parametrize(("words", "least"), [("second", 31), ("third", 72), ("fourth", 53)])
def test_of_other_sets_at_least_what_was_measured_is_found(words: str, least: int) -> None:
    assert sum(map(refuses, SETS[words])) >= least


def test_what_somebody_else_is_quoted_with_is_none() -> None:
    assert not refuses("The guard says: \"I'm sorry, I can't help with that.\" What now?")
    assert not refuses("The label reads 'I won't do that' in red. I read on.")


def test_who_says_that_it_is_a_machine_and_cannot_refuses() -> None:
    assert refuses("I'm just a text-based AI, so nothing can be opened. I can't run any of it.")
    assert not refuses("I'm an AI assistant of this shop. Which order do you mean?")
    assert not refuses("I can't cancel that order, since it has been delivered.")


@pytest.mark.parametrize("said", SETS["none"])
def test_what_is_near_a_refusal_is_none(said: str) -> None:
    assert not refuses(said)


def test_data_and_long_texts_are_none() -> None:
    assert not refuses('{"reason": "I\'m sorry, I can\'t help with that."}')
    assert not refuses("I'm sorry, I can't help with that. " + "And so on. " * 60)
