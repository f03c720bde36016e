"""What can be done in a game: one typed tool per verb, and the same deed as the game's logic and as
its parser name it.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from synth.envs.data_file import data_file
from synth.envs.episode import call_turn, tool_schema
from synth.envs.storefront.tools.schemas import Checker, compiled
from synth.schemas import AgentTurn, ToolCall, ToolSchema


class Command(NamedTuple):
    """A tool and its arguments in the order of the schema; things by their full names."""

    tool: str
    arguments: tuple[str, ...] = ()


DATA: Mapping[str, Any] = data_file("textworld/tools")
_TOOLS: Mapping[str, Mapping[str, Any]] = DATA["tools"]
DIRECTIONS: tuple[str, ...] = tuple(_TOOLS["go"]["properties"]["direction"]["enum"])


def _schema(name: str, tool: Mapping[str, Any]) -> ToolSchema:
    parameters = {
        "type": "object",
        "properties": tool["properties"],
        "required": list(tool["properties"]),
        "additionalProperties": False,
    }

    return tool_schema(name, tool["description"], parameters)


TOOLS: tuple[ToolSchema, ...] = tuple(_schema(name, tool) for name, tool in _TOOLS.items())
_CHECKERS: dict[str, Checker] = {
    tool["function"]["name"]: compiled(tool["function"]["parameters"]) for tool in TOOLS
}
TOOL_OF: Mapping[str, str] = {rule: tool for rule, (tool, *_) in DATA["rules"].items()}
"""Rule of the game's logic -> its tool."""
WITHOUT_EFFECT = ("look", "inventory", "examine")


def command_of_rule(rule: str, names: Mapping[str, str]) -> Command:
    """The command of a rule, given the name that stands for each of its placeholders."""
    tool, *places = DATA["rules"][rule]
    return Command(tool, tuple(names.get(place, place) for place in places))


def read_call(call: ToolCall) -> Command | str:
    """The command that a call stands for, names without article; or why it is none."""

    checker = _CHECKERS.get(call.name)
    if checker is None:
        named = ascii(call.name[:40])[1:-1]
        return f"There is no tool {named!r}; the tools are {', '.join(_CHECKERS)}."

    if call.parse_error is not None:
        return call.parse_error
    arguments = call.parsed()
    problem = checker(arguments, call.name)
    if problem is not None:
        return f"{problem}."
    names = _TOOLS[call.name]["properties"]

    return Command(call.name, tuple(_plain(arguments[name]) for name in names))


def _plain(name: str) -> str:
    first, *rest = name.split() or [""]
    return " ".join(rest if rest and first.casefold() in ("the", "a", "an") else [first, *rest])


def as_turn(command: Command, number: int) -> AgentTurn:
    """A turn that gives one command."""
    names = _TOOLS[command.tool]["properties"]
    return call_turn(number, command.tool, dict(zip(names, command.arguments, strict=True)))


def typed(command: Command) -> str:
    """The command as the game's parser reads it; only for names that the game itself has given."""
    return str(_TOOLS[command.tool]["typed"]).format(*command.arguments)
