"""Faults planted in the world's answers, and what an agent makes of them."""

import json
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.schemas.trajectory import Observation, Source, ToolCall, Turn
from synth.synthesizers.failures.mistakes.observation_faults import (
    PLANTS,
    Planting,
    Reaction,
    scripted_reaction,
)
from synth.synthesizers.failures.mistakes.point import InjectionPoint
from synth.synthesizers.failures.mistakes.transcript import InjectionTranscript
from tests.synthesizers.failures.twins import desk_twin, did, site
from tests.trajectories import make_trajectory, turns


def planted(kind: str, at: int) -> Planting:
    planting = PLANTS[kind](site(at), Random(3))
    assert planting is not None
    return planting


def test_a_corrupted_answer_differs_in_one_value_and_names_it() -> None:
    planting = planted("corrupted", 1)
    assert planting.new.content != planting.old.content
    assert len(planting.new.content) == len(planting.old.content)
    assert planting.wrong is not None
    assert planting.wrong in planting.new.content
    assert planting.wrong not in planting.old.content


def test_a_stale_answer_is_the_earlier_one_of_the_same_call_before_that_of_another_call() -> None:
    twin = desk_twin()
    before = did(2, "get_order", {"order_id": "O-2"}, {"order_id": "O-2", "status": "pending"})
    now = did(3, "get_order", {"order_id": "O-1"}, {"order_id": "O-1", "status": "cancelled"})
    changed = msgspec.structs.replace(twin, turns=(*twin.turns[:2], before, now, *twin.turns[4:]))
    planting = PLANTS["stale"](InjectionPoint(InjectionTranscript(changed), 3), Random(0))
    assert planting is not None
    assert planting.new.content == twin.turns[1].observations[0].content


def test_no_stale_answer_where_the_tool_was_not_asked_before() -> None:
    assert PLANTS["stale"](site(1), Random(0)) is None


def test_a_planted_error_stands_in_place_of_the_answer_and_is_marked_as_one() -> None:
    planting = planted("tool_error", 1)
    assert planting.new.error
    assert not planting.old.error


@pytest.mark.parametrize("kind", ["corrupted", "tool_error"])
def test_only_the_answer_itself_is_altered_and_as_many_are_given(kind: str) -> None:
    planting = planted(kind, 4)
    other = Observation("something else", call_id="c4", name="cancel_order")
    said = Observation("Yes.", Source.USER)
    assert planting.altered((planting.old, other, said)) == (planting.new, other, said)


@pytest.mark.slow
@given(st.lists(turns, min_size=1, max_size=4), st.sampled_from(sorted(PLANTS)))
def test_any_answers_can_be_altered_or_are_left_alone(made: list[Any], kind: str) -> None:
    numbered = tuple(msgspec.structs.replace(turn, index=at) for at, turn in enumerate(made))
    twin = msgspec.structs.replace(make_trajectory(), turns=numbered)
    planting = PLANTS[kind](InjectionPoint(InjectionTranscript(twin), len(made) - 1), Random(0))
    if planting is not None:
        shown = planting.altered(numbered[-1].observations)
        assert len(shown) == len(numbered[-1].observations)
        assert all(
            o.source is Source.TOOL
            for o, old in zip(shown, numbered[-1].observations, strict=True)
            if o != old
        )


LOOK = ToolCall.received("c1", "get_order", json.dumps({"order_id": "O-1"}))


def after(*then: Turn) -> Reaction:
    first = did(0, "get_order", {"order_id": "O-1"}, {"total": "99.50"})
    numbered = [msgspec.structs.replace(turn, index=at) for at, turn in enumerate([first, *then])]
    return scripted_reaction(
        msgspec.structs.replace(make_trajectory(), turns=tuple(numbered)), 0, LOOK, "99.50"
    )


AGAIN = did(1, "get_order", {"order_id": "O-1"}, {"total": "12.50"})
OTHER_LOOK = did(1, "list_orders", {"customer_id": "C-9"}, {})
TELLS = did(1, "reply", {"message": "You get 99.50 back."}, {"ok": True})
TELLS_RIGHT = did(1, "reply", {"message": "You get 12.50 back."}, {"ok": True})
HANDS_OVER = did(1, "escalate", {"summary": "The totals disagree."}, {"ok": True})
ASKS = did(1, "ask_customer", {"message": "Is 99.50 right?"}, {"ok": True})


@pytest.mark.parametrize(
    ("then", "expected"),
    [
        ((AGAIN, TELLS_RIGHT), Reaction("re_reads", 1, False)),
        ((OTHER_LOOK, AGAIN), Reaction("re_reads", 2, False)),
        ((TELLS,), Reaction("proceeds", 1, True)),
        ((OTHER_LOOK, TELLS_RIGHT), Reaction("proceeds", 2, False)),
        ((HANDS_OVER,), Reaction("escalates", 1, False)),
        ((ASKS, TELLS), Reaction("proceeds", 2, True)),
        ((OTHER_LOOK,), Reaction("stops", None, None)),
        ((Turn(index=1, content="Your total is 99.50."),), Reaction("proceeds", 1, True)),
    ],
)
def test_reactions_are_told_apart_by_the_first_turn_that_shows_one(
    then: tuple[Turn, ...], expected: Reaction
) -> None:
    assert after(*then) == expected
