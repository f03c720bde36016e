"""The tools of a database, as an agent sees them."""

from collections.abc import Mapping
from typing import Any

from synth.envs.episode import tool_schema
from synth.envs.sql.expert import MISCONCEPTIONS
from synth.schemas import EnvSpec, ToolCall, ToolSchema

SPEC = EnvSpec(
    name="sql",
    version="3",
    licence="Apache-2.0",
    capabilities=frozenset({"affordances", "facts", "snapshot", "expert", "recheck", "tasks"}),
    memory_bytes=1 << 20,
    facts={"answer/*/*": "free", "*/*/*": "required"},
    profiles=tuple(MISCONCEPTIONS),
)
SYSTEM_PROMPT = (
    "You work on a database through tools. A question is answered by one query, given to `answer`: "
    "it is run here and on another database with the same tables and other rows, and must be right "
    "on both, so do not write down values that you have seen. Changes are made with `change`, and "
    "nothing else may change; when all is done, say so. Give the columns that are asked for and no "
    "others."
)
OVER = "The work is over; nothing more can be done."


def _tool(name: str, about: str, sql: str | None) -> ToolSchema:
    """A tool's schema; `sql` describes its argument, where it has one."""
    properties = {"sql": {"type": "string", "description": sql}} if sql else {}
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return tool_schema(name, about, parameters)


TOOLS = (
    _tool("schema", "Show all tables with their columns and what they hold.", None),
    _tool("query", "Read: the rows of one SELECT, the first 50 of them.", "One SELECT."),
    _tool("change", "Change rows.", "One INSERT, UPDATE or DELETE."),
    _tool("answer", "Give the query that answers the question; this ends the work.", "One SELECT."),
)
_NAMES = [tool["function"]["name"] for tool in TOOLS]


def problem_of(call: ToolCall) -> str | None:
    """What is wrong with a call before it is done."""
    if call.name not in _NAMES:
        return f"There is no tool {call.name[:80]!r}; there are {', '.join(_NAMES)}."

    if call.parse_error is not None:
        return call.parse_error

    arguments: Mapping[str, Any] = call.parsed()
    wanted = set() if call.name == "schema" else {"sql"}
    if arguments.keys() != wanted:
        return f"`{call.name}` takes {'one argument, sql' if wanted else 'no arguments'}."

    if wanted and not (isinstance(arguments["sql"], str) and arguments["sql"].strip()):
        return "`sql` must be a statement, as text."

    return None
