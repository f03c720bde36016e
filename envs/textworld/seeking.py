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
from synth.schemas.check import Facts

_PHASE = {"open": 1, "unlock": 1, "close": 2, "lock": 3}
"""Doors and lids last, and shut after what goes through them."""
DEEPEST = 12
"""Keys behind doors whose keys lie behind doors, ...: beyond it there is no plan."""


class Seeker:
    """Plans from the state alone; looks only at facts, the map, and which key fits what."""

    def __init__(self, logic: Logic) -> None:
        self._facts: Facts = logic.facts()
        self._here = str(self._facts["player/0/room"])
        self._rooms = {name: room for name, room in logic.known("at") if name != "P"}
        self._inside = {
            name: place for relation in ("in", "on") for name, place in logic.known(relation)
        }
        self._keys = {opened: key for key, opened in logic.known("match")}
        doors = {(room, other): door for room, door, other in logic.known("link")}
        self._doors = {door: room for (room, _), door in sorted(doors.items(), reverse=True)}
        self._map = nx.DiGraph()
        for direction in DIRECTIONS:
            for other, room in logic.known(f"{direction}_of"):
                self._map.add_edge(room, other, way=(direction, doors.get((room, other))))

    def next_command(self, wishes: Sequence[Command], seed: int) -> Command | None:
        """The next command for the first wish that is open; the seed draws the order of those that
        may stand in any.
        """

        order = list(wishes)
        if seed:
            Random(seed).shuffle(order)
        order.sort(key=lambda wish: _PHASE.get(wish.tool, 0))
        left = [wish for wish in order if not fulfilled(wish, self._facts)]

        return self._towards(left[0]) if left else None

    def _towards(self, wish: Command) -> Command | None:
        first, *rest = wish.arguments
        match wish.tool:
            case "take":
                return self._hold(first, 0)
            case "eat":
                return self._hold(first, 0) if not self._carried(first) else wish
            case "open":
                return self._opened(first, 0)
            case "unlock" | "close" | "lock":
                return self._shut(wish.tool, first)

        if not self._carried(first):
            return self._hold(first, 0)

        room = rest[0] if wish.tool == "drop" else self._room(rest[0])
        if room != self._here:
            return self._go(room, 0)
        if wish.tool == "insert" and self._state(rest[0]) != "open":
            return self._opened(rest[0], 0)

        return Command("drop", (first,)) if wish.tool == "drop" else wish

    def _shut(self, tool: str, name: str) -> Command | None:
        """Closed, locked, or unlocked and left closed."""

        state, key = self._state(name), self._keys.get(name)
        wants_key = tool == "lock" or state == "locked"
        if wants_key and key is not None and not self._carried(key):
            return self._hold(key, 0)
        if not self._beside(name):
            return self._go(self._room(name), 0)
        if state == "open":
            return Command("close", (name,))
        if key is None:
            return None

        return Command("unlock" if state == "locked" else "lock", (name, key))

    def _carried(self, name: str) -> bool:
        return self._facts.get(f"thing/{name}/place") == CARRIED

    def _state(self, name: str) -> str:
        state = self._facts.get(f"door/{name}/state", "open")
        return str(self._facts.get(f"container/{name}/state", state))

    def _room(self, name: str) -> str:
        """Where a thing is, or a side of a door."""
        while name in self._inside:
            name = self._inside[name]
        return self._doors.get(name, self._rooms.get(name, self._here))

    def _beside(self, name: str) -> bool:
        if name in self._doors:
            return any(way[1] == name for _, _, way in self._map.edges(self._here, data="way"))

        return self._room(name) == self._here

    def _hold(self, name: str, depth: int) -> Command | None:
        """On the way to carrying a thing."""

        if depth > DEEPEST:
            return None
        room, holder = self._room(name), self._inside.get(name)
        if room != self._here:
            return self._go(room, depth + 1)
        if holder is not None and self._state(holder) != "open":
            return self._opened(holder, depth + 1)

        return Command("take", (name,))

    def _opened(self, name: str, depth: int) -> Command | None:
        """On the way to an open door or lid."""

        if depth > DEEPEST:
            return None
        key, locked = self._keys.get(name, ""), self._state(name) == "locked"
        if locked and not self._carried(key):
            return self._hold(key, depth + 1) if key else None
        if not self._beside(name):
            return self._go(self._room(name), depth + 1)

        return Command("unlock", (name, key)) if locked else Command("open", (name,))

    def _go(self, room: str, depth: int) -> Command | None:
        """On the way to a room: around locked doors where there is such a way, else through
        them.
        """

        if depth > DEEPEST:
            return None
        way = self._way(room, locked=False) or self._way(room, locked=True)
        if not way:
            return None
        barred = [door for _, door in way if door is not None and self._state(door) == "locked"]
        if barred and not self._carried(self._keys.get(barred[0], "")):
            return self._hold(self._keys[barred[0]], depth + 1) if barred[0] in self._keys else None
        direction, door = way[0]
        shut = door is not None and self._state(door) != "open"

        return self._opened(door, depth + 1) if door and shut else Command("go", (direction,))

    def _way(self, room: str, *, locked: bool) -> list[tuple[str, str | None]]:
        """Directions and doors of a shortest way; empty where there is none."""

        def usable(here: str, there: str) -> bool:
            door = self._map[here][there]["way"][1]
            return locked or door is None or self._state(door) != "locked"

        ways = nx.single_source_shortest_path(
            nx.subgraph_view(self._map, filter_edge=usable), self._here
        )

        return [self._map[one][other]["way"] for one, other in pairwise(ways.get(room, ()))]
