"""What a goal wishes for: written as sentences, from the fact that must come true and never from
the steps that lead there; read back from them, and known to be fulfilled by the facts.
"""

import re
from collections.abc import Mapping, Sequence
from random import Random

from synth.envs.textworld.commands import DATA, Command
from synth.envs.textworld.logic import CARRIED
from synth.schemas import Facts, Scalar

WORDINGS: Mapping[str, Sequence[str]] = DATA["wordings"]
KEPT_CLOSED: Sequence[str] = DATA["kept_closed"]
"""Of what was locked and is to be closed: whoever opens it does more than that."""
_PREPOSITIONS = {
    "drop": "at",
    "put": "on",
    "insert": "in",
}
"""What brings a thing to a place, and how a fact says where it is then."""
_STATES = {
    "open": "open",
    "close": "closed",
    "lock": "locked",
    "unlock": "closed",
}
_ORDER = ("drop", "put", "insert", "take", "eat", "unlock", "open", "close", "lock")
"""Wordings of the first ones are tried first: the floor of a room is no piece of furniture."""
_SENTENCE = re.compile(r"(?<=\.) ")


def sentence(
    last: Command,
    room: str,
    draw: Random,
) -> str:
    """One goal: what the last command of its solution brings about; `room` is where that is. Keys
    are not told.
    """
    things = (*last.arguments, room) if last.tool == "drop" else last.arguments
    return draw.choice(WORDINGS[last.tool]).format(*things)


def told(wish: Command, draw: Random) -> str:
    """One sentence; a wish is a command with what it ends at: `drop` has the room as well."""
    words = KEPT_CLOSED if wish.tool == "unlock" else WORDINGS[wish.tool]
    return draw.choice(words).format(*wish.arguments)


def read(goal: str) -> list[Command]:
    """The wishes of a goal, in its order; none where a sentence is not one of ours."""
    found = [_read(part) for part in _SENTENCE.split(goal)]
    return [] if None in found else [wish for wish in found if wish is not None]


def _read(text: str) -> Command | None:
    for tool in _ORDER:
        for wording in KEPT_CLOSED if tool == "unlock" else WORDINGS[tool]:
            pattern = re.sub(r"\\{[01]\\}", "([^.:,]+?)", re.escape(wording))
            found = re.fullmatch(pattern, text)
            if found is not None:
                return Command(tool, found.groups())

    return None


def wish_of(
    path: str,
    value: Scalar,
    before: Scalar,
) -> Command | None:
    """What a fact fulfils that came true; None where another fact says it."""

    table, name = path.split("/")[:2]
    if table == "food":
        return Command("eat", (name,))
    if table == "thing" and value == CARRIED:
        return Command("take", (name,))
    if table == "thing":
        preposition, _, place = str(value).partition(" ")
        tools = [tool for tool, said in _PREPOSITIONS.items() if said == preposition]
        return Command(tools[0], (name, place)) if tools else None

    if table not in ("door", "container"):
        return None
    if (before, value) == ("locked", "closed"):
        return Command("unlock", (name,))
    tool = next(tool for tool, state in _STATES.items() if state == value)

    return Command(tool, (name,))


def fulfilled(wish: Command, facts: Facts) -> bool:
    """Whether the facts are as wished."""

    first, *rest = wish.arguments
    place = facts.get(f"thing/{first}/place")
    if wish.tool == "take":
        return place == CARRIED
    if wish.tool == "eat":
        return facts.get(f"food/{first}/eaten") is True
    if wish.tool in _PREPOSITIONS:
        return place == f"{_PREPOSITIONS[wish.tool]} {rest[0]}"
    state = facts.get(f"door/{first}/state", facts.get(f"container/{first}/state"))

    return state == _STATES[wish.tool]


def masked(wishes: Sequence[Command]) -> str:
    """The wishes with their things numbered as they come: put <1> on <2> + close <3>."""

    names = dict.fromkeys(name for wish in wishes for name in wish.arguments)
    numbers = {name: f"<{number}>" for number, name in enumerate(names, start=1)}

    return " + ".join(
        " ".join([wish.tool, *(numbers[name] for name in wish.arguments)]) for wish in wishes
    )
