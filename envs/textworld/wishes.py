"""What a derived goal wishes for: written as sentences, read back from them, and known to be
fulfilled by the facts.
"""

import re
from collections.abc import Sequence
from random import Random

from synth.envs.textworld.commands import Command
from synth.envs.textworld.goals import WORDINGS, sentence
from synth.envs.textworld.logic import CARRIED
from synth.schemas.check import Check, Facts

KEPT_CLOSED = ("Unlock the {0}, but do not open it.", "Get the {0} unlocked and leave it closed.")
"""Of what was locked and is to be closed: whoever opens it does more than that."""
PREPOSITIONS = {"at": "drop", "on": "put", "in": "insert"}
"""How a fact says where a thing is, and what brings it there."""
_ORDER = ("drop", "put", "insert", "take", "eat", "unlock", "open", "close", "lock")
"""Wordings of the first ones are tried first: the floor of a room is no piece of furniture."""
_SENTENCE = re.compile(r"(?<=\.) ")


def told(wish: Command, draw: Random) -> str:
    """One sentence; a wish is a command with what it ends at: `drop` has the room as well, keys are
    not told.
    """
    if wish.tool == "unlock":
        return draw.choice(KEPT_CLOSED).format(*wish.arguments)
    thing, *rest = wish.arguments
    return (
        sentence(Command(wish.tool, (thing,)), rest[0], draw)
        if wish.tool == "drop"
        else sentence(wish, "", draw)
    )


def read(goal: str) -> list[Command]:
    """The wishes of a goal, in its order; none where a sentence is not one of ours."""
    found = [_read(part) for part in _SENTENCE.split(goal)]
    return [] if None in found else [wish for wish in found if wish is not None]


def _read(text: str) -> Command | None:
    for tool in _ORDER:
        for wording in KEPT_CLOSED if tool == "unlock" else WORDINGS[tool]:
            pattern = (
                re.escape(wording)
                .replace(r"\{0\}", "(?P<first>[^.:,]+?)")
                .replace(r"\{1\}", "(?P<second>[^.:,]+?)")
            )
            found = re.fullmatch(pattern, text)
            if found is not None:
                return Command(tool, tuple(found.groupdict().values()))
    return None


def demanded(check: Check | None) -> list[Command]:
    """The wishes that a check's required rows stand for."""
    found: list[Command] = []
    for row in check.required if check is not None else ():
        name, place = str(row.where.get("id")), str(row.where.get("place"))
        if row.table == "food":
            found.append(Command("eat", (name,)))
        elif row.table == "thing" and place == CARRIED:
            found.append(Command("take", (name,)))
        elif row.table == "thing" and place.partition(" ")[0] in PREPOSITIONS:
            preposition, _, holder = place.partition(" ")
            found.append(Command(PREPOSITIONS[preposition], (name, holder)))
        elif row.table in ("door", "container"):
            found.append(
                Command(
                    {"open": "open", "closed": "close", "locked": "lock"}[str(row.where["state"])],
                    (name,),
                )
            )
    return found


def fulfilled(wish: Command, facts: Facts) -> bool:
    """Whether the facts are as wished."""
    first, *rest = wish.arguments
    state = facts.get(f"door/{first}/state", facts.get(f"container/{first}/state"))
    place = facts.get(f"thing/{first}/place")
    match wish.tool:
        case "take":
            return place == CARRIED
        case "drop" | "put" | "insert":
            return place == f"{ {'drop': 'at', 'put': 'on', 'insert': 'in'}[wish.tool] } {rest[0]}"
        case "eat":
            return facts.get(f"food/{first}/eaten") is True
    return (
        state
        == {"open": "open", "close": "closed", "unlock": "closed", "lock": "locked"}[wish.tool]
    )


def masked(wishes: Sequence[Command]) -> str:
    """The wishes with their things numbered as they come: put <1> on <2> + close <3>."""
    numbers: dict[str, int] = {}
    return " + ".join(
        " ".join(
            [
                wish.tool,
                *(f"<{numbers.setdefault(name, len(numbers) + 1)}>" for name in wish.arguments),
            ]
        )
        for wish in wishes
    )
