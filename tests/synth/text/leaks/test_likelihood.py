"""The likelihood leak: worked out by hand, and through a model whose probabilities are known."""

import asyncio
from collections.abc import Sequence

import msgspec
import pytest

from synth.schemas.model import Message, Scored, TokenScore
from synth.schemas.trajectory import ToolCall, ToolSchema
from synth.text.leaks.likelihood import (
    gains,
    largest_gain,
    leaks_by_likelihood,
    threshold,
    turn_gains_of_each,
)
from tests.trajectories import make_trajectory, make_turn


def scored(*turns: Sequence[float], **fields: str) -> Scored:
    """Turn i has the log-probabilities given, of tokens 10 i, 10 i + 1, ..."""
    tokens = [
        TokenScore(10 * at + n, value, 1)
        for at, values in enumerate(turns)
        for n, value in enumerate(values)
    ]
    return Scored(
        tuple(tokens),
        tuple(at for at, values in enumerate(turns) for _ in values),
        "h",
        True,
        **fields,
    )


def test_a_gain_is_the_mean_difference_of_the_turns_tokens_from_the_pivot_on() -> None:
    assert gains(scored([-9.0], [-1.0, -2.0], [-1.0]), scored([-1.0], [-2.0, -4.0], [-1.5]), 1) == {
        1: 1.5,
        2: 0.5,
    }


def test_turns_that_are_not_the_same_tokens_give_no_gain() -> None:
    assert gains(scored([-1.0], [-1.0]), scored([-1.0], [-1.0, -1.0]), 0) is None
    assert gains(scored(not_scored="too long"), scored([-1.0]), 0) is None
    assert gains(scored([-1.0]), scored(not_scored="too long"), 0) is None


def test_the_largest_counts_only_where_something_is_changed() -> None:
    turns = (
        make_turn(0),
        make_turn(1, tool_calls=(ToolCall.received("c", "cancel_order", "{}"),)),
        make_turn(2),
    )
    trajectory = msgspec.structs.replace(make_trajectory(), turns=turns)
    assert largest_gain(trajectory, {0: 9.0, 1: 0.25, 2: 7.0}) == 0.25
    assert largest_gain(trajectory, {0: 9.0}) is None


def test_the_limit_is_the_95th_percentile_under_shuffled_guidance() -> None:
    assert threshold([float(n) for n in range(100, 0, -1)]) == 95.0
    assert threshold([1.0] * 19) is None, "19 values have no 95th percentile"


@pytest.mark.parametrize(
    ("largest", "limit", "leaks"),
    [(0.6, 0.5, True), (0.5, 0.5, False), (None, 0.5, None), (0.6, None, None)],
)
def test_a_retry_leaks_above_the_limit(
    largest: float | None, limit: float | None, leaks: bool | None
) -> None:
    assert leaks_by_likelihood(largest, limit) is leaks


class Heeding:
    """Scores each assistant message as one token: at -0.1 after a system message that asks for it,
    else at -2.
    """

    async def score(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Scored:
        assistant = [at for at, message in enumerate(messages) if message["role"] == "assistant"]
        told = [
            any(m["role"] == "system" and "keep it short" in m["content"] for m in messages[:at])
            for at in assistant
        ]
        return scored(*([-0.1 if heard else -2.0] for heard in told))

    async def close(self) -> None: ...


@pytest.mark.parametrize(("pivot", "expected"), [(0, {0: 1.9, 1: 1.9, 2: 1.9}), (2, {2: 1.9})])
def test_a_model_scores_the_transcript_with_and_without_the_guidance(
    pivot: int, expected: dict[int, float]
) -> None:
    trajectory = make_trajectory(turns=3, pivot_turn=pivot)
    guidances = ["Please keep it short.", "Nothing."]
    found, unmoved = asyncio.run(turn_gains_of_each(Heeding(), trajectory, guidances))
    assert found == pytest.approx(expected)
    assert unmoved == pytest.approx(dict.fromkeys(expected, 0.0))
