"""The tools of a repository, as an agent sees them."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from synth.envs.data_file import data_file
from synth.envs.episode import tool_schema
from synth.envs.repo.repair.erring import MISCONCEPTIONS
from synth.schemas import EnvSpec, ToolCall, ToolSchema, valid_text

SPEC = EnvSpec(
    name="repo",
    version="2",
    licence="that of each repository (docs/repo.md)",
    capabilities=frozenset({"affordances", "facts", "snapshot", "expert", "recheck", "tasks"}),
    memory_bytes=8 << 20,
    facts={"test/*/passed": "required", "file/*/digest": "free"},
    profiles=tuple(MISCONCEPTIONS),
)


class _TerminalTool(msgspec.Struct, frozen=True):
    """A tool; all its arguments are texts."""

    name: str
    about: str
    arguments: Mapping[str, str]
    optional: tuple[str, ...] = ()


class _TerminalTexts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an agent is told; `longest` bounds the characters of each argument."""

    system_prompt: str
    explore: str
    over: str
    idle: str
    thanks: str
    submitted: str
    tools: tuple[_TerminalTool, ...]
    longest: Mapping[str, int]


@cache
def texts() -> _TerminalTexts:
    """The texts, read once."""
    return msgspec.convert(data_file("repo/terminal"), _TerminalTexts)


def tool_schemas() -> tuple[ToolSchema, ...]:
    """The tools as a model is shown them."""
    return tuple(map(_schema, texts().tools))


def _schema(tool: _TerminalTool) -> ToolSchema:
    """One tool's schema."""
    properties = {
        name: {"type": "string", "description": about} for name, about in tool.arguments.items()
    }
    required = [name for name in properties if name not in tool.optional]
    parameters: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "required": required,
    }

    return tool_schema(tool.name, tool.about, parameters)


def problem_of(call: ToolCall) -> str | None:
    """What is wrong with a call before it is done, in words for a model."""
    tool = next((one for one in texts().tools if one.name == call.name), None)
    if tool is None:
        there = ", ".join(one.name for one in texts().tools)
        return f"There is no tool {call.name[:80]!r}; there are {there}."

    if call.parse_error is not None:
        return call.parse_error

    arguments = call.parsed()
    unknown = next((name for name in arguments if name not in tool.arguments), None)
    needed = [name for name in tool.arguments if name not in tool.optional]
    missing = next((name for name in needed if name not in arguments), None)
    if unknown is not None or missing is not None:
        takes = " and ".join(tool.arguments) or "no arguments"
        return f"`{tool.name}` takes {takes}."

    return next(filter(None, map(_problem_of_text, arguments.items())), None)


def _problem_of_text(argument: tuple[str, Any]) -> str | None:
    """What is wrong with one argument."""
    name, value = argument
    most = texts().longest[name]
    if not isinstance(value, str):
        return f"`{name}` must be a text."

    if len(value) > most:
        return f"`{name}` has {len(value)} characters; at most {most} are taken."

    if "\0" in value or valid_text(value) != value:
        return f"`{name}` holds a character that no file or command can have."

    return None
