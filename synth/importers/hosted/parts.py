"""Parts of a message that are calls which the provider ran, and their results: Anthropic's server
tools, Gemini's code and searches, LangChain's and OpenTelemetry's names for them.
"""

from typing import Any

from synth.importers.chats.tool_parts import ToolAnswer
from synth.importers.conversation import tool_call
from synth.importers.hosted.shown import shown
from synth.importers.records import WORDS, Object, first_inside, inside, is_object

_CALLS = frozenset(WORDS["hosted"]["calls"].split())
_RESULTS = frozenset(WORDS["hosted"]["results"].split())
_WORKED = ("OUTCOME_OK", "success", "completed", None)


def kind_of(part: Any) -> str:
    """The kind of a part, by its type, or by the key that Gemini has for each kind."""
    if not isinstance(part, dict):
        return ""
    kind = part.get("type", part.get("part_kind"))
    if isinstance(kind, str):
        return kind
    return next((key for key in part if _is_gemini(part, key)), "")


def _is_gemini(part: Object, key: str) -> bool:
    if key in ("toolCall", "toolResponse"):  # others name calls of the client so
        return is_object(part[key], toolType=str)
    return key in _CALLS | _RESULTS and isinstance(part[key], dict)


def hosted_call(part: Any) -> Object | None:
    """The call that a part is, where the provider ran it."""
    kind = kind_of(part)
    if not isinstance(part, dict):
        return None
    held: Any = part.get(kind)
    inner: Object = held if isinstance(held, dict) else part
    if is_result(part) or not (kind in _CALLS or _is_run(part) or is_object(held, toolType=str)):
        return None
    if kind in ("executableCode", "executable_code"):
        return tool_call(inner.get("id"), "code_execution", inner)

    whole = part | inner
    name = _first(whole, "name", "toolName", "tool_name", "toolType")
    arguments = _first(whole, "input", "args", "arguments")
    if not isinstance(name, str):
        return None
    if arguments is None and inner is not part:  # OpenTelemetry says by kind what was asked
        arguments = {key: one for key, one in inner.items() if key not in ("type", "id", "name")}
    return tool_call(_id(whole), name.lower() if "toolType" in whole else name, arguments)


def _first(value: Object, *keys: str) -> Any:
    return next((value[key] for key in keys if value.get(key) not in (None, "")), None)


def _is_run(part: Any) -> bool:
    return isinstance(part, dict) and part.get("providerExecuted") is True


def is_connector(part: Any) -> bool:
    """Whether a call went to a server of tools that the client named: all that there is of it is in
    the log, as of a call that the client makes itself.
    """
    kinds = (inside(part, "tool_type"), kind_of(part))
    return any(kind in ("mcp_call", "mcp_tool_use") for kind in kinds)


def is_result(part: Any) -> bool:
    """Whether a part is what a tool of the provider gave back."""
    kind = kind_of(part)
    if kind in _RESULTS or kind.endswith("_tool_result"):
        return True
    if _is_run(part):
        return kind in ("tool-result", "tool-error")
    return kind == "toolResponse" and is_object(part.get(kind), toolType=str)


def hosted_result(part: Any) -> ToolAnswer | None:
    """What a part gives back, where the provider ran the tool."""
    if not is_result(part):
        return None

    held: Any = part.get(kind_of(part))
    inner: Object = held if isinstance(held, dict) else part
    told = _first(inner, "content", "output", "result", "response", "errorText", "error")
    if told is None and inner is not part:
        told = {key: one for key, one in inner.items() if key not in ("type", "id", "outcome")}
    if is_object(told, "type", "value"):  # of the Vercel AI SDK
        told = told["value"]

    state = inner.get("outcome", inner.get("status"))
    broke = str(inside(told, "type") or "").endswith("_error") or kind_of(part) == "tool-error"
    flagged = any(inner.get(key) is True for key in ("is_error", "isError"))
    failed = broke or flagged or state not in _WORKED
    return ToolAnswer(shown(told), _id(part | inner), error=failed)


def _id(part: Object) -> str | None:
    named: str | None = first_inside(part, ("tool_use_id", "tool_call_id", "toolCallId", "id"), str)
    return named
