"""Branch from state: a world is put before turn k of a recorded trajectory, and proves on the way
that it is the recorded world.

Resume, replay, retry, failure injection and counterfactual twins all stand on this.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from synth.boundary import FaultError, guard_async
from synth.schemas import (
    AgentTurn,
    CheckResult,
    Env,
    Fault,
    Observation,
    Opening,
    SampledBy,
    Snapshot,
    Task,
    Termination,
    Trajectory,
    valid_text,
)

Pair = tuple[str, Any, Any]
"""The name of something that a record holds, as it was recorded and as it is now."""


class Difference(msgspec.Struct, frozen=True):
    """Where and in what a world departs from its record; `turn` is None for the opening."""

    turn: int | None
    what: str
    expected: Any
    found: Any

    def __str__(self) -> str:
        where = "the opening" if self.turn is None else f"turn {self.turn}"
        expected, found = _short(self.expected), _short(self.found)
        return f"{where}: {self.what} recorded as {expected}, now {found}"


class DriftError(Exception):
    """The world answered otherwise than the record says: nothing may be built on this state."""

    def __init__(self, difference: Difference) -> None:
        super().__init__(str(difference))
        self.difference = difference


class Replayed(msgspec.Struct, frozen=True):
    """A trajectory executed again; `check` is None where the task has none or the replay did not
    get there.
    """

    matched: bool
    first_difference: Difference | None
    check: CheckResult | None


async def branch(
    env: Env,
    task: Task,
    trajectory: Trajectory,
    turn: int,
    *,
    snapshots: Mapping[int, Snapshot] | None = None,
) -> Opening:
    """Puts a world into the state before turn `turn`, and gives the opening as the trajectory
    records it.

    `snapshots` are keyed by the turn that they were taken before. The latest at or before `turn`
    that fits the world and its
    version is restored; without one the world is reset. The recorded turns from there to `turn` are
    done again and every
    answer compared. Raises `DriftError` at the first difference, `ValueError` for a turn that the
    trajectory does not have.
    """
    if not 0 <= turn <= len(trajectory.turns):
        raise ValueError(
            f"trajectory {trajectory.trajectory_id} has {len(trajectory.turns)} turns; there is "
            f"no state before turn {turn}"
        )
    done = await _restored(env, turn, snapshots or {})
    found = None
    if done is None:
        found, done = _opening_difference(trajectory, await env.reset(task)), 0
    found = found or await _redo(env, trajectory, range(done, turn))
    if found is not None:
        raise DriftError(found)
    return recorded_opening(trajectory)


def recorded_opening(trajectory: Trajectory) -> Opening:
    """The opening as a trajectory records it."""
    return Opening(
        trajectory.system_prompt, trajectory.tools, trajectory.opening, trajectory.opening_state_key
    )


async def branched(
    env: Env, task: Task, trajectory: Trajectory, turn: int, step_timeout_s: float
) -> Opening:
    """`branch` across the boundary. Raises `FaultError`, of `drift` where the world answers
    otherwise than recorded.
    """

    async def drifting() -> Opening:
        try:
            return await branch(env, task, trajectory, turn)
        except DriftError as error:
            where = f"branch from {trajectory.trajectory_id}"
            raise FaultError(Fault.DRIFT, f"{where}: {error}") from error

    limit_s = step_timeout_s * (turn + 1)
    return await guard_async(Fault.ENVIRONMENT, "branch", drifting, limit_s)


async def replay(env: Env, task: Task, trajectory: Trajectory) -> Replayed:
    """Executes a whole trajectory again, opening and check included, up to the first difference.

    The verdict is compared where one is stored. A verdict of another version of the check may
    differ (see `synth recheck`);
    the facts may not.
    """
    found = _opening_difference(trajectory, await env.reset(task))
    found = found or await _redo(env, trajectory, range(len(trajectory.turns)))
    if found is not None:
        return Replayed(False, found, None)
    if task.check is None and trajectory.check_result is None:
        return Replayed(True, None, None)
    check, stored = await env.check(), trajectory.check_result
    if stored is not None:
        pairs: list[Pair] = [("final facts", dict(stored.facts), dict(check.facts))]
        if stored.version == check.version:
            verdict, again = (stored.passed, stored.parts), (check.passed, check.parts)
            pairs.append(("verdict", verdict, again))
        found = _difference(len(trajectory.turns), pairs)
    return Replayed(found is None, found, check)


async def _restored(env: Env, turn: int, snapshots: Mapping[int, Snapshot]) -> int | None:
    """Restores the latest snapshot that fits, and gives the turn that it stands before."""
    spec = env.spec
    fitting = [
        at
        for at, snapshot in snapshots.items()
        if at <= turn and (snapshot.env, snapshot.version) == (spec.name, spec.version)
    ]
    if not fitting or "snapshot" not in spec.capabilities:
        return None
    await env.restore(snapshots[max(fitting)])
    return max(fitting)


async def _redo(env: Env, trajectory: Trajectory, turns: Sequence[int]) -> Difference | None:
    """Does recorded turns again, up to the first difference; what no agent did (canned turns) is
    not done.
    """
    for turn in (trajectory.turns[index] for index in turns):
        if turn.sampled_by is SampledBy.CANNED:
            continue
        response = await env.step(AgentTurn(turn.content, turn.tool_calls, turn.thought))
        pairs: list[Pair] = [
            ("observations", turn.observations, response.observations),
            ("state key", turn.state_key, response.state_key),
        ]
        is_last, termination = turn is trajectory.turns[-1], trajectory.termination
        done = is_last and termination is Termination.DONE
        # a user whom a model plays has ended it, of which the world knows nothing
        by_the_user = done and any(one.wording is not None for one in turn.observations)
        unknown = termination in (Termination.FAULT, Termination.UNREPORTED)
        if not (is_last and unknown) and not by_the_user:
            pairs.append(("end", done, response.done))
        found = _difference(turn.index, pairs)
        if found is not None:
            return found
    return None


def _opening_difference(trajectory: Trajectory, opening: Opening) -> Difference | None:
    """A canned greeting is recorded as the first turn, with the opening observations as its
    answer.
    """
    canned = [turn for turn in trajectory.turns[:1] if turn.sampled_by is SampledBy.CANNED]
    observations = (*trajectory.opening, *(o for turn in canned for o in turn.observations))
    pairs = [
        ("system prompt", trajectory.system_prompt, opening.system_prompt),
        ("tools", list(trajectory.tools), list(opening.tools)),
        ("greeting", canned[0].content if canned else None, opening.greeting),
        ("observations", observations, opening.observations),
        ("state key", trajectory.opening_state_key, opening.state_key),
    ]
    return _difference(None, pairs)


def _difference(turn: int | None, pairs: Sequence[Pair]) -> Difference | None:
    """The first that is expected and found otherwise. Observations are compared as a ledger holds
    them (no lone surrogates), in a user's scripted words.
    """

    def comparable(observation: Observation) -> Observation:
        given = observation.as_given()
        return replace(given, content=valid_text(given.content))

    for what, *both in pairs:
        if what == "observations":
            both = [[comparable(one) for one in side] for side in both]
        expected, found = both
        if expected != found:
            return Difference(turn, what, expected, found)
    return None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 300 else f"{text[:300]}… ({len(text)} characters)"
