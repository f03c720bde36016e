"""The next step towards what a derived goal wishes for: a planner that knows the map, and reads the
goal from its words alone.
"""

from collections.abc import Sequence
from itertools import pairwise
from random import Random

import networkx as nx

from synth.envs.textworld.commands import DIRECTIONS, Command
from synth.envs.textworld.logic import CARRIED, Logic
from synth.envs.textworld.wishes import fulfilled
from synth.schemas import Facts

_PHASE = {
    "open": 1,
    "unlock": 1,
    "close": 2,
    "lock": 3,
}
"""Doors and lids last, and shut after what goes through them."""
DEEPEST = 12
"""Keys behind doors whose keys lie behind doors, ...: beyond it there is no plan."""


class _NoPlanError(Exception):
    """There is no way, or no key, to what is wished for."""


class Seeker:
    """Plans from the state alone; looks only at facts, the map, and which key fits what.

    Each need (`_hold`, `_open`, `_beside`, `_at`) gives the next command on the way to it, or None
    where it is met already: the first need that is not met says what to do. All raise
    `_NoPlanError`.
    """

    def __init__(self, logic: Logic) -> None:
        self._facts: Facts = logic.facts()
        self._here = str(self._facts["player/0/room"])
        self._rooms = {name: room for name, room in logic.known("at") if name != "P"}
        held = (*logic.known("in"), *logic.known("on"))
        self._inside = {name: place for name, place in held}
        self._keys = {opened: key for key, opened in logic.known("match")}

        doors = {(room, other): door for room, door, other in logic.known("link")}
        self._doors = {door: room for (room, _), door in sorted(doors.items(), reverse=True)}
        self._map = nx.DiGraph()
        for direction in DIRECTIONS:
            for other, room in logic.known(f"{direction}_of"):
                self._map.add_edge(room, other, way=(direction, doors.get((room, other))))

    def next_command(self, wishes: Sequence[Command], seed: int) -> Command | None:
        """The next command for the first wish that is open, None where there is no plan; the seed
        draws the order of those that may stand in any.
        """

        order = list(wishes)
        if seed:
            Random(seed).shuffle(order)
        order.sort(key=lambda wish: _PHASE.get(wish.tool, 0))
        left = [wish for wish in order if not fulfilled(wish, self._facts)]

        try:
            return self._towards(left[0]) if left else None
        except _NoPlanError:
            return None

    def _towards(self, wish: Command) -> Command | None:
        """The next command for a wish."""

        thing, *rest = wish.arguments
        match wish.tool:
            case "take":
                return self._hold(thing)
            case "eat":
                return self._hold(thing) or wish
            case "open":
                return self._open(thing)
            case "drop":
                return self._hold(thing) or self._at(rest[0]) or Command("drop", (thing,))
            case "put":
                return self._hold(thing) or self._at(self._room(rest[0])) or wish
            case "insert":
                there = self._hold(thing) or self._at(self._room(rest[0]))
                return there or self._open(rest[0]) or wish

        return self._shut(wish.tool, thing)

    def _shut(self, tool: str, name: str) -> Command:
        """Closed, locked, or unlocked and left closed."""

        state, key = self._state(name), self._keys.get(name)
        wants_key = tool == "lock" or state == "locked"
        there = self._hold(key) if wants_key and key is not None else None
        there = there or self._beside(name)

        if there is not None:
            return there
        if state == "open":
            return Command("close", (name,))
        if key is None:
            raise _NoPlanError

        return Command("unlock" if state == "locked" else "lock", (name, key))

    def _hold(self, name: str, depth: int = 0) -> Command | None:
        """To carry a thing."""

        if self._facts.get(f"thing/{name}/place") == CARRIED:
            return None
        if depth > DEEPEST:
            raise _NoPlanError

        there, holder = self._at(self._room(name), depth), self._inside.get(name)
        if there is None and holder is not None:
            there = self._open(holder, depth)

        return there or Command("take", (name,))

    def _open(self, name: str, depth: int = 0) -> Command | None:
        """To have a door or lid open."""

        state, key = self._state(name), self._keys.get(name)
        if state == "open":
            return None
        if state != "locked":
            return self._beside(name, depth) or Command("open", (name,))
        if key is None:
            raise _NoPlanError

        there = self._hold(key, depth + 1) or self._beside(name, depth)

        return there or Command("unlock", (name, key))

    def _beside(self, name: str, depth: int = 0) -> Command | None:
        """To stand at a door or a thing."""

        ways = self._map.edges(self._here, data="way") if name in self._doors else ()
        near = any(door == name for _, _, (_, door) in ways)
        return None if near else self._at(self._room(name), depth)

    def _at(self, room: str, depth: int = 0) -> Command | None:
        """To be in a room: around locked doors where there is such a way, else through them."""

        if room == self._here:
            return None
        way = self._way(room, locked=False) or self._way(room, locked=True)
        if not way:
            raise _NoPlanError

        barred = [door for _, door in way if door is not None and self._state(door) == "locked"]
        if barred and barred[0] not in self._keys:
            raise _NoPlanError
        key = self._hold(self._keys[barred[0]], depth + 1) if barred else None

        direction, door = way[0]
        opened = self._open(door, depth) if key is None and door is not None else None

        return key or opened or Command("go", (direction,))

    def _way(self, room: str, *, locked: bool) -> list[tuple[str, str | None]]:
        """Directions and doors of a shortest way; empty where there is none."""

        def usable(here: str, there: str) -> bool:
            door = self._map[here][there]["way"][1]
            return locked or door is None or self._state(door) != "locked"

        passable = nx.subgraph_view(self._map, filter_edge=usable)
        ways = nx.single_source_shortest_path(passable, self._here)

        return [self._map[one][other]["way"] for one, other in pairwise(ways.get(room, ()))]

    def _state(self, name: str) -> str:
        state = self._facts.get(f"door/{name}/state", "open")
        return str(self._facts.get(f"container/{name}/state", state))

    def _room(self, name: str) -> str:
        """Where a thing is, or a side of a door."""

        while name in self._inside:
            name = self._inside[name]
        return self._doors.get(name, self._rooms.get(name, self._here))
