"""Operations of a walk played from the start of the world: alone, or with no more of the walk
before them than they need.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import msgspec

from synth.schemas.check import Facts
from synth.schemas.environment import AgentTurn, Env
from synth.schemas.reverse import Change, Operation
from synth.synthesizers.reverse.exploration import Walk, played


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

    def without(self, *operations: int) -> tuple[AgentTurn, ...]:
        """All turns but those of some operations."""
        gone = {self.places[operation] for operation in operations}
        return tuple(turn for place, turn in enumerate(self.turns) if place not in gone)

    def swapped(self, operation: int) -> tuple[AgentTurn, ...]:
        """All turns, with an operation and the next one in each other's place."""
        one, other = self.places[operation : operation + 2]
        turns = list(self.turns)
        turns[one], turns[other] = turns[other], turns[one]
        return tuple(turns)


@dataclass(frozen=True)
class Cutter:
    """Cuts segments out of a walk: plays some of its turns in the same world."""

    env: Env
    zones: Mapping[str, str]
    walk: Walk

    async def segment(self, wanted: Sequence[Operation], most: int) -> Segment | None:
        """The wanted operations, or the wanted look-ups, from the start of the world, as they went
        in the walk.

        Where they do not go alone, the turns before them that they need come with them, operations
        among those too, though never with a look-up; None where they would be more than `most`, or
        do not go even so.
        """
        reads = all(operation.shown is not None for operation in wanted)
        written = {operation.at for operation in self.walk.operations}
        own: Set[int] = {operation.at for operation in wanted}
        kept = own
        if not await self._as_before(own, own):
            before = range(max(own))
            useful = (
                set(before) - written
                if reads
                else {a for a in before if self.walk.steps[a].changed}
            )
            kept = own | useful
            if kept == own or not await self._as_before(kept, own):
                return None
            kept = await self._fewest(kept, own)
        if not reads:
            wanted = [operation for operation in self.walk.operations if operation.at in kept]
        if len(wanted) > most:
            return None
        order = sorted(kept)
        places = tuple(order.index(operation.at) for operation in wanted)
        turns = tuple(self.walk.steps[at].turn for at in order)
        return await self._played(turns, places, wanted)

    async def shortened(self, segment: Segment, gone: Sequence[int]) -> Segment | None:
        """The segment without some of its operations; None where none would be left, or one of the
        others would change nothing.
        """
        left = [number for number in range(len(segment.operations)) if number not in gone]
        if not left:
            return None
        before = [
            sum(segment.places[number] < segment.places[at] for number in gone) for at in left
        ]
        places = tuple(segment.places[at] - less for at, less in zip(left, before, strict=True))
        kept = [segment.operations[number] for number in left]
        found = await self._played(segment.without(*gone), places, kept)
        idle = any(not now.changed and now.denied is None for now in found.operations)
        return None if idle else found

    async def _played(
        self, turns: tuple[AgentTurn, ...], places: tuple[int, ...], kept: Sequence[Operation]
    ) -> Segment:
        done = await played(self.env, turns, zones=self.zones)
        operations = tuple(
            msgspec.structs.replace(operation, changed=done.steps[place].asked)
            for operation, place in zip(kept, places, strict=True)
        )
        return Segment(turns, places, operations, done.start, done.end)

    async def _fewest(self, kept: Set[int], wanted: Set[int]) -> Set[int]:
        """As few turns as can be found by leaving out runs of them, long ones first, of which the
        wanted ones do not need any.
        """
        size = max(len(kept - wanted) // 2, 1)
        while size:
            left = sorted(kept - wanted)
            for first in range(0, len(left), size):
                fewer = kept - set(left[first : first + size])
                if fewer < kept and await self._as_before(fewer, wanted):
                    kept = fewer
            size //= 2
        return kept

    async def _as_before(self, turns: Set[int], wanted: Set[int]) -> bool:
        """Whether the wanted ones among these turns of the walk change the same, are refused alike,
        and show the same where they are look-ups, with nothing else between.
        """
        looked = {operation.at for operation in self.walk.reads}
        before = {at: self.walk.steps[at] for at in sorted(turns)}
        done = await played(self.env, [s.turn for s in before.values()], zones=self.zones)
        return all(
            (at not in looked or now.shown == then.shown)
            and now.denied == then.denied
            and columns(now.asked, done.start) == columns(then.asked, self.walk.start)
            for (at, then), now in zip(before.items(), done.steps, strict=True)
            if at in wanted
        )


def columns(changed: Mapping[str, Change], start: Facts) -> list[str]:
    """What was changed, new rows by table and column: their keys may be numbered as they come."""
    return sorted(
        path if path in start else "/".join((*path.split("/")[:1], "+", *path.split("/")[2:]))
        for path in changed
    )
