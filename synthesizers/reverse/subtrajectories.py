"""Cuts subtrajectories out of a walk: operations about one customer or one object, played from the
start of the environment, alone or after no more of the walk than they need.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from random import Random

import msgspec

from synth.schemas import AgentTurn, Change, Env, Facts, Operation, Scalar, ToolCall
from synth.synthesizers.reverse.exploration import Walk, played


class Entities:
    """Finds the entities (keys of the environment's rows) that an operation is about."""

    def __init__(self, start: Facts) -> None:
        self._rows = defaultdict[str, list[Scalar]](list)
        for path, value in start.items():
            self._rows[_key(path)].append(value)

    def of(self, operation: Operation) -> frozenset[str]:
        """The rows that it changed, the entities that its arguments name, and those that both refer
        to; numbered rows name nothing.
        """

        changed = set(map(_key, operation.changed))
        values = [change.after for change in operation.changed.values()]
        values += [value for call in operation.turn.tool_calls for value in scalars(call)]
        named = changed | {value for value in values if isinstance(value, str)}
        # numbers name rows of many tables
        known = {name for name in named if name in self._rows and not name.isdigit()}
        referred = {
            str(value) for name in known for value in self._rows[name] if value in self._rows
        }

        return frozenset(name for name in known | referred | changed if not name.isdigit())


def _key(path: str) -> str:
    """The row of a path."""
    return path.split("/", 2)[1]


def scalars(call: ToolCall, *, keys: bool = True) -> Iterator[Scalar]:
    """Yields the values in a call's arguments, with `keys` also the names that they stand under."""
    waiting: list[object] = [] if call.parse_error is not None else [call.parsed()]

    while waiting:
        match waiting.pop():
            case Mapping() as mapping:
                waiting += [*(mapping if keys else ()), *mapping.values()]
            case list() as values:
                waiting += values
            case str() | int() | float() | None as value:
                yield value


def windows(
    operations: Sequence[Operation], start: Facts, most: int, draw: Random
) -> list[tuple[int, ...]]:
    """Numbers of the operations of each subtrajectory, 1 to `most` of them, every two neighbours
    about a common entity; in a drawn order.

    One ends at each operation in turn and reaches back over those that share an entity with it so
    far; repeated operations count once. A subtrajectory that ends in the state where it began, and
    in which nothing was refused or shown, is left out.
    """

    about = list(map(Entities(start).of, operations))
    calls = [
        [(call.name, call.arguments) for call in operation.turn.tool_calls]
        for operation in operations
    ]

    found: dict[tuple[int, ...], None] = {}

    for last in range(len(operations)):
        # the window grows backwards from its last operation
        window = [last]
        shared = set(about[last])
        found.setdefault((last,), None)

        for earlier in range(last - 1, -1, -1):
            if len(window) == most:
                break
            if about[earlier] & shared and calls[earlier] not in [calls[at] for at in window]:
                window.insert(0, earlier)
                shared |= about[earlier]
                found.setdefault(tuple(window), None)

    drawn = [window for window in found if not _undone([operations[number] for number in window])]
    draw.shuffle(drawn)

    return drawn


def _undone(operations: Sequence[Operation]) -> bool:
    """Whether every changed fact is as it was before, and nothing was refused or shown."""
    if any(one.denied is not None or one.shown is not None for one in operations):
        return False

    changes = [change for operation in operations for change in operation.changed.items()]
    first = {path: change.before for path, change in reversed(changes)}

    return first == {path: change.after for path, change in changes}


@dataclass(frozen=True)
class Segment:
    """Operations as they go from the start, in the turns that carry them; `places` are their places
    among the turns.
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
    """Cuts segments out of a walk by playing some of its turns in the same environment."""

    env: Env
    zones: Mapping[str, str]
    walk: Walk

    async def segment(self, wanted: Sequence[Operation], most: int) -> Segment | None:
        """Plays the wanted operations, or look-ups, from the start of the environment, and checks
        that they go as in the walk.

        Where they do not go alone, it adds the turns before them that they need, operations among
        those too, though never to a look-up; None where they would be more than `most`, or do not
        go even so.
        """

        # look-ups change nothing, and need no operation before them
        reads = all(operation.shown is not None for operation in wanted)
        own: Set[int] = {operation.at for operation in wanted}
        kept = own

        if not await self._as_before(own, own):
            before = range(max(own))
            written = {operation.at for operation in self.walk.operations}
            changing = {at for at in before if self.walk.steps[at].changed}
            kept = own | (set(before) - written if reads else changing)

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

    async def shortened(
        self,
        segment: Segment,
        gone: Sequence[int],
    ) -> Segment | None:
        """Leaves out some operations of a segment; None where none would be left, or one of the
        others would change nothing.
        """

        left = [number for number in range(len(segment.operations)) if number not in gone]

        if not left:
            return None

        removed = [segment.places[number] for number in gone]
        places = tuple(
            place - sum(other < place for other in removed)
            for place in (segment.places[number] for number in left)
        )

        kept = [segment.operations[number] for number in left]
        found = await self._played(segment.without(*gone), places, kept)
        # an operation that changes nothing without the others is not one of its own
        idle = any(not now.changed and now.denied is None for now in found.operations)

        return None if idle else found

    async def _played(
        self, turns: tuple[AgentTurn, ...], places: tuple[int, ...], kept: Sequence[Operation]
    ) -> Segment:
        """Plays turns, and reads what the operations among them change now."""
        done = await played(self.env, turns, zones=self.zones)
        operations = tuple(
            msgspec.structs.replace(operation, changed=done.steps[place].asked)
            for operation, place in zip(kept, places, strict=True)
        )

        return Segment(turns, places, operations, done.start, done.end)

    async def _fewest(
        self,
        kept: Set[int],
        wanted: Set[int],
    ) -> Set[int]:
        """Leaves out runs of turns that the wanted ones do not need, long runs first."""
        # delta debugging: long runs first, single turns last
        size = max(len(kept - wanted) // 2, 1)

        while size:
            left = sorted(kept - wanted)

            for first in range(0, len(left), size):
                fewer = kept - set(left[first : first + size])
                if fewer < kept and await self._as_before(fewer, wanted):
                    kept = fewer

            size //= 2

        return kept

    async def _as_before(
        self,
        turns: Set[int],
        wanted: Set[int],
    ) -> bool:
        """Plays these turns of the walk alone: whether the wanted ones change the same, are refused
        alike, and show the same where they are look-ups.
        """

        # a look-up must show the same; what an operation shows may differ
        looked = {operation.at for operation in self.walk.reads}
        before = {at: self.walk.steps[at] for at in sorted(turns)}
        done = await played(self.env, [one.turn for one in before.values()], zones=self.zones)

        return all(
            (at not in looked or now.shown == then.shown)
            and now.denied == then.denied
            and columns(now.asked, done.start) == columns(then.asked, self.walk.start)
            for (at, then), now in zip(before.items(), done.steps, strict=True)
            if at in wanted
        )


def columns(changed: Mapping[str, Change], start: Facts) -> list[str]:
    """The changed columns; new rows without their keys, which may be numbered as they come."""
    found = []
    for path in changed:
        table, key, column = path.split("/", 2)
        found.append(f"{table}/{key if path in start else '+'}/{column}")

    return sorted(found)
