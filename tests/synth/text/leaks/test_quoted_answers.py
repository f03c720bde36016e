"""Lessons that quote a tool's answer: what names its members is no fact of the lesson."""

import json

import pytest

from synth.schemas.trajectory import Trajectory, Turn
from synth.text.leaks import leaks
from synth.text.leaks.facts import facts_of
from synth.text.leaks.keys import is_field
from tests.synth.text.leaks.test_leaks import does, says, told

ANSWER = {
    "address1": "144 Lakeview Drive",
    "last_name": "Ito",
    "city": "New York",
    "state": "NY",
    "country": "USA",
    "zip": "10228",
    "payment_methods": {"credit_card_1620755": {"brand": "visa"}},
    "SAVE20": 0.2,
}


def quoting(*turns: Turn, answer: object = ANSWER) -> Trajectory:
    return told(*turns, guidance=f"Before you act, check what the tool says: {json.dumps(answer)}")


@pytest.mark.parametrize(
    "turn",
    [
        says("Please give me your last_name and the address1 of the parcel."),
        does("reply", message={"address1": "1 Elm Road", "last_name": "Diaz"}),
        says("I need your city, state, country and zip."),
        says('{"city": "Austin", "state": "TX", "country": "Canada", "zip": "78701"}'),
    ],
)
def test_names_of_members_are_no_leak(turn: Turn) -> None:
    assert leaks(quoting(turn)) == ()


@pytest.mark.parametrize(
    ("turn", "what"),
    [
        (says("I send it to 144 Lakeview Drive."), "Lakeview Drive"),
        (says("Shall I use credit_card_1620755?"), "credit_card_1620755"),
        (says("The code SAVE20 takes off a fifth."), "SAVE20"),
        (says("Is your zip 10228?"), "10228"),
    ],
)
def test_values_and_keys_that_are_values_are(turn: Turn, what: str) -> None:
    assert what in {leak.what for leak in leaks(quoting(turn))}


def test_a_run_of_words_within_a_value_is_copied_text() -> None:
    answer = {"note": "never ship on a friday before the carrier has called you back"}
    found = leaks(
        quoting(says("We never ship on a Friday before the carrier calls."), answer=answer)
    )
    assert [leak.kind for leak in found] == ["copied_text"]


def test_python_prints_keys_in_single_quotes() -> None:
    found = leaks(
        told(says("What is your address1?"), guidance=f"The tool said {ANSWER!r}, so ask.")
    )
    assert found == ()


def test_facts_hold_no_names_of_members() -> None:
    codes = facts_of(json.dumps(ANSWER)).codes
    assert "address1" not in codes
    assert "save20" in codes


@pytest.mark.parametrize(
    ("key", "names"),
    [
        ("zip", True),
        ("address1", True),
        ("City", True),
        ("order_id", True),
        ("1615379700", False),
        ("credit_card_1620755", False),
        ("SAVE20", False),
        ("O-9173", False),
    ],
)
def test_what_a_key_is(key: str, names: bool) -> None:
    assert is_field(key) is names


def test_who_asks_one_last_time_speaks_of_no_attempt() -> None:
    assert leaks(told(says("Could you please confirm one last time before I proceed?"))) == ()
    assert leaks(told(says("I got it wrong the last time.")))
