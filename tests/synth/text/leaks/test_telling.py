"""Sentences that seem to tell what a lesson told, by form and words; no words of the sets that the
weights were fitted to.
"""

import pytest

from synth.text.leaks.content import stems_of
from synth.text.leaks.facts import Shown, facts_of
from synth.text.leaks.telling import telling_odds, telling_signs, tells

LESSON = facts_of(
    "The ferry is cancelled because of fog. The harbour master keeps the tickets. "
    "Ask for the cabin first."
)


def shown(*texts: str) -> Shown:
    found = Shown()
    for text in ("You sell tickets.", "When do we sail?", *texts):
        found.show(text)
    return found


@pytest.mark.parametrize(
    ("asserted", "asked"),
    [
        ("The ferry is cancelled.", "Is the ferry cancelled?"),
        ("Fog has closed the route.", "If there is fog, I might have to look at the route."),
        ("She waits at the harbour.", "Let me check whether she waits at the harbour."),
    ],
)
def test_what_is_asserted_is_likelier_to_tell_than_what_is_asked(asserted: str, asked: str) -> None:
    assert tells(asserted, LESSON, shown())
    assert not tells(asked, LESSON, shown())
    assert telling_odds(asserted, LESSON, shown()) > telling_odds(asked, LESSON, shown())


def test_what_was_shown_and_what_was_only_advised_is_not_told() -> None:
    heard = shown("The ferry is cancelled because of fog.")
    assert not any(sign.startswith("told>") for sign in telling_signs("Fog.", LESSON, heard))
    assert any(sign.startswith("told>") for sign in telling_signs("Fog.", LESSON, shown()))
    assert "told>0" not in telling_signs("He has a cabin.", LESSON, shown())


def test_an_assertion_that_has_nothing_to_do_with_the_lesson_is_not_suspected() -> None:
    text = "She plays the violin."
    assert telling_odds(text, LESSON, shown()) > 0, "by its form alone it would be"
    assert not tells(text, LESSON, shown())


def test_words_of_form_are_no_stems() -> None:
    assert stems_of("She will perhaps not be at the harbour") == stems_of("harbour")
