"""What can be done in a game: one typed tool per verb, and the same deed as the game's logic and as
its parser name it.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from synth.envs.storefront.tools.arguments import Checker, compiled
from synth.schemas.canonical import canonical_json
from synth.schemas.environment import AgentTurn
from synth.schemas.trajectory import ToolCall, ToolSchema

DIRECTIONS = ("north", "south", "east", "west")


class Command(NamedTuple):
    """A tool and its arguments in the order of the schema; things by their full names."""

    tool: str
    arguments: tuple[str, ...] = ()


def _thing(description: str) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "maxLength": 100, "description": description}


_DIRECTION = {"type": "string", "enum": list(DIRECTIONS)}
_KEY = _thing("full name of the key that you carry")
_SHOWN = _thing("full name, as shown")
_HELD = _thing("full name of what you carry")

_TOOLS: tuple[tuple[str, str, dict[str, Any], str], ...] = (
    ("look", "Describes the room you are in.", {}, "look"),
    ("inventory", "Lists what you carry.", {}, "inventory"),
    ("examine", "Looks at one thing closely.", {"thing": _SHOWN}, "examine {}"),
    ("go", "Walks to the next room.", {"direction": _DIRECTION}, "go {}"),
    ("open", "Opens a door or a container.", {"thing": _SHOWN}, "open {}"),
    ("close", "Closes a door or a container.", {"thing": _SHOWN}, "close {}"),
    (
        "unlock",
        "Unlocks a door or a container.",
        {"thing": _thing("full name of what is locked"), "key": _KEY},
        "unlock {} with {}",
    ),
    (
        "lock",
        "Locks a closed door or container.",
        {"thing": _thing("full name of what is closed"), "key": _KEY},
        "lock {} with {}",
    ),
    (
        "take",
        "Takes a thing from the floor, off a piece of furniture or out of an open container.",
        {"thing": _SHOWN},
        "take {}",
    ),
    ("drop", "Puts a thing that you carry on the floor.", {"thing": _HELD}, "drop {}"),
    (
        "put",
        "Puts a thing that you carry on a piece of furniture.",
        {"thing": _HELD, "on": _SHOWN},
        "put {} on {}",
    ),
    (
        "insert",
        "Puts a thing that you carry into an open container.",
        {"thing": _HELD, "into": _SHOWN},
        "insert {} into {}",
    ),
    ("eat", "Eats food that you carry. It is gone then.", {"thing": _HELD}, "eat {}"),
)
_TEMPLATES = {name: template for name, _, _, template in _TOOLS}
_PARAMETERS = {name: tuple(properties) for name, _, properties, _ in _TOOLS}


def _parameters(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


TOOLS: tuple[ToolSchema, ...] = tuple(
    {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": _parameters(properties),
        },
    }
    for name, description, properties, _ in _TOOLS
)
_CHECKERS: dict[str, Checker] = {
    name: compiled(_parameters(properties)) for name, _, properties, _ in _TOOLS
}

BY_RULE: dict[str, tuple[str, tuple[str, ...]]] = {
    **{f"go/{direction}": ("go", (direction,)) for direction in DIRECTIONS},
    "look": ("look", ()),
    "inventory": ("inventory", ()),
    **{
        f"examine/{where}": ("examine", (kind,))
        for where, kind in {"t": "t", "d": "d", "I": "o", "s": "o", "c": "o"}.items()
    },
    **{f"{verb}/{kind}": (verb, (kind,)) for verb in ("open", "close") for kind in "cd"},
    **{f"{verb}/{kind}": (verb, (kind, "k")) for verb in ("lock", "unlock") for kind in "cd"},
    **{rule: ("take", ("o",)) for rule in ("take", "take/c", "take/s")},
    "drop": ("drop", ("o",)),
    "put": ("put", ("o", "s")),
    "insert": ("insert", ("o", "c")),
    "eat": ("eat", ("f",)),
}
"""Rule of the game's logic -> its tool, and the placeholders (or the direction) that are the tool's
arguments.
"""
WITHOUT_EFFECT = ("look", "inventory", "examine")


def command_of_rule(rule: str, names: Mapping[str, str]) -> Command:
    """The command of a rule, given the name that stands for each of its placeholders."""
    tool, places = BY_RULE[rule]
    return Command(tool, tuple(names.get(place, place) for place in places))


def read_call(call: ToolCall) -> Command | str:
    """The command that a call stands for, names without article; or why it is none."""
    checker = _CHECKERS.get(call.name)
    if checker is None:
        return (
            f"There is no tool {ascii(call.name[:40])[1:-1]!r}; the tools are "
            f"{', '.join(_CHECKERS)}."
        )
    if call.parse_error is not None:
        return call.parse_error
    arguments = call.parsed()
    problem = checker(arguments, call.name)
    if problem is not None:
        return f"{problem}."
    return Command(call.name, tuple(_plain(arguments[name]) for name in _PARAMETERS[call.name]))


def _plain(name: str) -> str:
    words = name.split()
    return " ".join(
        words[1:] if len(words) > 1 and words[0].casefold() in ("the", "a", "an") else words
    )


def as_turn(command: Command, number: int) -> AgentTurn:
    """A turn that gives one command."""
    arguments = dict(zip(_PARAMETERS[command.tool], command.arguments, strict=True))
    return AgentTurn(
        tool_calls=(
            ToolCall.received(f"call_{number}", command.tool, canonical_json(arguments).decode()),
        )
    )


def typed(command: Command) -> str:
    """The command as the game's parser reads it; only for names that the game itself has given."""
    return _TEMPLATES[command.tool].format(*command.arguments)
