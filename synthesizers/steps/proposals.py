"""Which steps of a failed trajectory are worth a test. A proposal is no label: only continuations
decide.
"""

from collections.abc import Iterator, Sequence
from itertools import zip_longest

import msgspec

from synth.schemas.trajectory import SampledBy, Trajectory, Turn


class SuggestedStep(msgspec.Struct, frozen=True):
    """A turn, and the rule that proposes it."""

    turn: int
    rule: str


def proposed(
    trajectory: Trajectory,
    successes: Sequence[Trajectory],
    most: int,
    suspected: Sequence[int] = (),
    dropped: Sequence[int] = (),
) -> list[SuggestedStep]:
    """At most `most` turns, from a judge's list, the turns at which the success potential fell, and
    four rules in turn, each turn once.

    `judge`: the turns that a judge suspects, in its order. `drop`: those in `dropped`, the lowest
    first, where the stage `topology` ran
    before. `departure`: the first turn after which no success among the task's trials
    was ever in the same state. `effect`: turns that changed the state and were not refused, the
    latest first. `error`: turns answered by
    an error, the first first. `last`: the last turn. Turns that the policy did not decide are never
    proposed.
    """
    turns = [turn for turn in trajectory.turns if turn.sampled_by is SampledBy.POLICY]
    rules = (
        _named("judge", [turn for index in suspected for turn in turns if turn.index == index]),
        _named("drop", [turn for index in dropped for turn in turns if turn.index == index]),
        _named("departure", _departure(turns, successes)),
        _named(
            "effect",
            [turn for turn in reversed(turns) if _changed(trajectory, turn) and not _refused(turn)],
        ),
        _named("error", [turn for turn in turns if _refused(turn)]),
        _named("last", turns[-1:]),
    )
    found: dict[int, SuggestedStep] = {}
    for round_ in zip_longest(*rules):
        for proposal in round_:
            if proposal is not None:
                found.setdefault(proposal.turn, proposal)
    return list(found.values())[:most]


def _named(rule: str, turns: Sequence[Turn]) -> Iterator[SuggestedStep]:
    return (SuggestedStep(turn.index, rule) for turn in turns)


def _departure(turns: Sequence[Turn], successes: Sequence[Trajectory]) -> Sequence[Turn]:
    passed = {
        turn.state_key
        for success in successes
        for turn in success.turns
        if turn.state_key is not None
    }
    left = next(
        (
            turn
            for turn in turns
            if passed and turn.state_key is not None and turn.state_key not in passed
        ),
        None,
    )
    return () if left is None else (left,)


def _changed(trajectory: Trajectory, turn: Turn) -> bool:
    """Whether the state after the turn is another than before it."""
    before = (
        trajectory.turns[turn.index - 1].state_key if turn.index else trajectory.opening_state_key
    )
    return turn.state_key is not None and turn.state_key != before


def _refused(turn: Turn) -> bool:
    return any(observation.error for observation in turn.observations)
