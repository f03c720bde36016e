"""What holds for any trajectory: what was invented is found, what was copied is not (small whole
numbers: from their own key).
"""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.schemas.trajectory import Observation, Source, ToolCall, Turn
from synth.text.provenance import Status
from tests.synth.text.provenance.episodes import called, last, linted

words = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=30).filter(
    lambda text: not (text.isdigit() and len(text) < 3)
)
scalars = (
    words
    | st.integers(100, 2**53)
    | st.floats(0.01, 1e6).map(lambda x: round(x, 2))
    | st.dates().map(str)
)
documents = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from("abcdefgh"), inner, max_size=4)
    ),
    max_leaves=12,
)
letters = st.text("bcdfghjkmnpqrstvwxyz", min_size=3, max_size=6)
invented = st.builds(
    lambda head, tail: f"{head}-{tail}", letters, st.integers(10**6, 10**9)
) | st.uuids().map(str)


def leaves(value: Any) -> list[Any]:
    inner = (
        list(value.values())
        if isinstance(value, dict)
        else value
        if isinstance(value, list)
        else None
    )
    return [value] if inner is None else [leaf for entry in inner for leaf in leaves(entry)]


@pytest.mark.slow
@given(st.lists(documents, min_size=1, max_size=4), words, invented)
def test_an_invented_identifier_is_always_found(shown, goal, identifier):
    turns = [called("get_thing", document, said=goal) for document in shown]
    found = last(linted(*turns, called("delete_thing", thing_id=identifier), goal=goal))
    told = json.dumps(shown) + goal
    assert (
        found.status is Status.UNJUSTIFIED
        or identifier.replace("-", "").casefold() in "".join(filter(str.isalnum, told)).casefold()
    )


@pytest.mark.slow
@given(st.lists(documents, min_size=1, max_size=4), st.booleans(), st.data())
def test_what_was_copied_from_an_earlier_observation_is_never_flagged(shown, escaped, data):
    copies = [leaf for document in shown for leaf in leaves(document)]
    if not copies:
        return
    value = data.draw(st.sampled_from(copies))
    turns = [called("get_thing", json.dumps(document, ensure_ascii=escaped)) for document in shown]
    assert (
        last(linted(*turns, called("delete_thing", thing=value))).status is not Status.UNJUSTIFIED
    )


@given(st.integers(0, 99), st.booleans(), st.lists(documents, max_size=3))
def test_a_small_number_copied_from_its_own_key_is_never_flagged(number, as_text, shown):
    turns = [called("get_thing", document) for document in [*shown, {"place": number}]]
    assert (
        last(linted(*turns, called("move_thing", place=str(number) if as_text else number))).status
        is not Status.UNJUSTIFIED
    )


@pytest.mark.slow
@given(st.lists(documents, max_size=3), invented)
def test_an_echoed_error_justifies_nothing(shown, identifier):
    failed = called("get_thing", f"Error: {identifier} not found", error=True, thing_id=identifier)
    turns = [called("get_thing", document) for document in shown]
    assert (
        last(linted(*turns, failed, called("delete_thing", thing_id=identifier))).status
        is Status.UNJUSTIFIED
    )


@given(st.lists(st.tuples(words, st.sampled_from(Source), st.booleans()), max_size=5))
def test_any_observation_can_be_read(shown):
    turn = called("delete_thing", thing="x")
    observations = tuple(Observation(text, source, error=error) for text, source, error in shown)
    turn = Turn(0, "text", turn.tool_calls, observations)
    assert len(linted(turn, turn).findings) == 2


def test_deeply_nested_arguments_and_answers_are_survived():
    deep = "[" * 800 + '"O-4471"' + "]" * 800
    call = ToolCall.received("c", "delete_thing", f'{{"thing": {deep}}}')
    turn = Turn(0, tool_calls=(call,), observations=(Observation(deep, call_id="c"),))
    first, second = linted(turn, turn).findings
    assert (first.status, second.status) == (Status.UNJUSTIFIED, Status.OBSERVED)
