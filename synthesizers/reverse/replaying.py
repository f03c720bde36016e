"""Operations of a walk played from the start of the world: alone, or with no more of the walk
before them than they need.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from synth.rollout.answers import stepped
from synth.schemas.check import Facts
from synth.schemas.environment import AgentTurn, Env
from synth.schemas.reverse import Change, Operation
from synth.schemas.task import Task
from synth.synthesizers.reverse.exploration import Exploration, changes, of_goals, refused, shown


@dataclass(frozen=True)
class Played:
    """Turns from the start: facts before and after; what each turn changed, by which rule it was
    refused, and what it showed.
    """

    start: Facts
    end: Facts
    changed: tuple[Mapping[str, Change], ...]
    denied: tuple[str | None, ...]
    shown: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Segment:
    """Operations as they go from the start, in the turns that carry them; `places` are the
    operations' places among the turns.
    """

    turns: tuple[AgentTurn, ...]
    places: tuple[int, ...]
    operations: tuple[Operation, ...]
    start: Facts
    end: Facts

    def without(self, operation: int) -> tuple[AgentTurn, ...]:
        """All turns but one operation's."""
        gone = self.places[operation]
        return (*self.turns[:gone], *self.turns[gone + 1 :])

    def swapped(self, operation: int) -> tuple[AgentTurn, ...]:
        """All turns, with an operation and the next one in each other's place."""
        one, other = self.places[operation : operation + 2]
        turns = list(self.turns)
        turns[one], turns[other] = turns[other], turns[one]
        return tuple(turns)


async def played(env: Env, turns: Sequence[AgentTurn], task: Task | None = None) -> Played:
    """The turns, done from a task's start, or from the start of an exploration."""
    await env.reset(task)
    start = before = dict(await env.facts())
    changed, denied, seen = [], [], []
    for at, turn in enumerate(turns):
        response = await stepped(env.step(turn), at, turn.tool_calls)
        after = dict(await env.facts())
        changed.append(changes(before, after))
        denied.append(refused(response) if not changed[-1] else None)
        seen.append(shown(response.observations))
        before = after
    return Played(start, before, tuple(changed), tuple(denied), tuple(seen))


async def segment(
    env: Env, zones: Mapping[str, str], walked: Exploration, wanted: Sequence[Operation], most: int
) -> Segment | None:
    """The wanted operations, or the wanted look-ups, from the start of the world, as they went in
    the walk.

    Where they do not go alone, the turns before them that they need come with them, operations
    among those too, though never with a
    look-up; None where they would be more than `most`, or do not go even so.
    """
    reads = all(operation.shown is not None for operation in wanted)
    written = {operation.at for operation in walked.operations}
    kept = {operation.at for operation in wanted}
    if not await _as_before(env, zones, walked, kept, kept):
        useful = (
            at not in written if reads else walked.steps[at].changed for at in range(max(kept))
        )
        before = [at for at, needed in enumerate(useful) if needed and at not in kept]
        carried = kept | set(before)
        if not before or not await _as_before(env, zones, walked, carried, kept):
            return None
        kept = await _fewest(env, zones, walked, carried, kept)
    operations = (
        list(wanted)
        if reads
        else [operation for operation in walked.operations if operation.at in kept]
    )
    if len(operations) > most:
        return None
    order = sorted(kept)
    done = await played(env, [walked.steps[at].turn for at in order])
    places = tuple(order.index(operation.at) for operation in operations)
    again = tuple(
        msgspec.structs.replace(operation, changed=of_goals(done.changed[place], zones))
        for operation, place in zip(operations, places, strict=True)
    )
    return Segment(
        tuple(walked.steps[at].turn for at in order), places, again, done.start, done.end
    )


async def _fewest(
    env: Env, zones: Mapping[str, str], walked: Exploration, carried: set[int], wanted: set[int]
) -> set[int]:
    """As few turns as can be found by leaving out runs of them, long ones first, of which the
    wanted ones do not need any.
    """
    kept, size = set(carried), max(len(carried - wanted) // 2, 1)
    while True:
        left = sorted(kept - wanted)
        for first in range(0, len(left), size):
            fewer = kept - set(left[first : first + size])
            if fewer < kept and await _as_before(env, zones, walked, fewer, wanted):
                kept = fewer
        if size == 1:
            return kept
        size //= 2


async def _as_before(
    env: Env,
    zones: Mapping[str, str],
    walked: Exploration,
    turns: Collection[int],
    wanted: Collection[int],
) -> bool:
    """Whether the wanted ones among these turns of the walk change the same, are refused alike, and
    show the same where they are
    look-ups, with nothing else between.
    """
    looked = {operation.at: operation.shown for operation in walked.reads}
    order = sorted(turns)
    done = await played(env, [walked.steps[at].turn for at in order])
    for at, changed, denied, seen in zip(order, done.changed, done.denied, done.shown, strict=True):
        if at in wanted:
            if at in looked and seen != looked[at]:
                return False
            found, expected = of_goals(changed, zones), of_goals(walked.steps[at].changed, zones)
            if denied != walked.steps[at].denied or columns(found, done.start) != columns(
                expected, walked.start
            ):
                return False
    return True


def columns(changed: Mapping[str, Change], start: Facts) -> list[str]:
    """What was changed, new rows by table and column: their keys may be numbered as they come."""
    return sorted(
        path if path in start else "/".join((*path.split("/")[:1], "+", *path.split("/")[2:]))
        for path in changed
    )
