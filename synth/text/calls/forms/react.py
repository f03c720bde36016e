"""Calls as ReAct writes them (arXiv 2210.03629, LangChain, tau-bench): `Action: NAME` and
`Action Input: {...}`, `Action: NAME[TEXT]`, or an object behind `Action:`.

Whatever follows `Observation:` the model made up: its turn ended before.
"""

import re

from synth.schemas import ToolCall, ToolSchemas, argument_error
from synth.text.calls.argument_types import properties_of, required_of
from synth.text.calls.found import (
    UNREAD,
    FoundCalls,
    after_space,
    as_json,
    object_end,
    past,
    tool_named,
)
from synth.text.calls.json_calls import begun, read_objects
from synth.text.calls.python_calls import read_python_calls

OPENS = r"^[ \t]*\**Action(?: \d+)?:\**[ \t]*(?=\S|\n)"
REACT = "tool_call_react"
INVENTED = "tool_call_result_invented"
_INPUT = re.compile(
    r"\s*[`\"']?(?P<name>[^\s`*\[({:\"']+)[ \t`*\"']*\n"
    r"\s*\**Action Input(?: \d+)?:\**[ \t]*(?:\n(?=\s*[{`]))?"
)
_BRACKET = re.compile(r"\s*(?P<name>[\w.\-]+)\[(?P<text>[^\n]*)\][ \t]*(?=\n|\Z)")
_CALL = re.compile(r"\s*(?P<call>[\w.]+\([^\n]*\))[ \t]*(?=\n|\Z)")
_ALONE = re.compile(
    r"\s*(?P<name>[^\s`*\[({:]+)[ \t`*]*(?:(?:\n\s*\**A[A-Za-z ]{0,12})?\Z|\n\s*\**Obs)"
)
_FENCE = re.compile(r"\s*```\w*[ \t]*\n?")
_FENCE_END = re.compile(r"\s*```")
_OBSERVED = re.compile(r"^[ \t]*\**Observation(?: \d+)?:", re.MULTILINE)
_LABEL = re.compile(r"^[ \t]*\**Thought(?: \d+)?:\**", re.MULTILINE)
_STOP = re.compile(r"\n[ \t]*\**(?:Observation|Thought|Action|Final Answer)(?: \d+)?:|\Z")


def read_react(text: str, opened: "re.Match[str]", tools: ToolSchemas) -> FoundCalls | None:
    """The call behind `Action:`; None where it names no tool."""
    found = _with_input(text, opened.end(), tools) or _at_once(text, opened.end(), tools)
    if found is None:
        return None
    if not found.calls:
        return FoundCalls((), text[opened.start() :], found.repairs, len(text))

    observed = _OBSERVED.match(text, after_space(text, found.end))
    repairs = (REACT, *found.repairs, *((INVENTED,) if observed is not None else ()))
    end = len(text) if observed is not None else found.end
    return FoundCalls(found.calls, "", repairs, end)


def without_label(text: str) -> str:
    """What stands before a call, without the word `Thought:` before its last thought."""
    *before, last = _LABEL.split(text)
    return "".join((*before, last.lstrip())) if before else text


def _with_input(text: str, begin: int, tools: ToolSchemas) -> FoundCalls | None:
    """Name and input on lines of their own."""
    named = _INPUT.match(text, begin)
    name = None if named is None else tool_named(tools, named["name"])
    if named is None or name is None:
        return _without_input(text, begin, tools)

    begin = past(_FENCE, text, named.end())
    fenced = begin > named.end()
    end = object_end(text, begin, _STOP)
    if end is None:
        return FoundCalls((), "", (UNREAD,))
    given = text[begin:end].strip().removesuffix("```").strip()
    if not given and properties_of(tools, name) and not text[end:].strip():
        return FoundCalls((), "", (UNREAD,))

    end = past(_FENCE_END, text, end) if fenced else end
    return FoundCalls((_call(name, given, tools),), "", (), end)


def _without_input(text: str, begin: int, tools: ToolSchemas) -> FoundCalls | None:
    """A tool's name that the text ends with: a call where the tool takes nothing, else cut off."""
    alone = _ALONE.match(text, begin)
    name = None if alone is None else tool_named(tools, alone["name"])
    if alone is None or name is None:
        return None
    if properties_of(tools, name):
        return FoundCalls((), "", (UNREAD,)) if alone.end() == len(text) else None
    return FoundCalls((ToolCall("", name, "{}"),), "", (), alone.end("name"))


def _at_once(text: str, begin: int, tools: ToolSchemas) -> FoundCalls | None:
    """An object, `NAME[TEXT]`, or `NAME(key=value)`."""
    inside = past(_FENCE, text, begin)
    start = after_space(text, inside)
    found = read_objects(text, start, tools, marked=False)
    if found is not None:
        end = past(_FENCE_END, text, found.end) if inside > begin else found.end
        return FoundCalls(found.calls, "", found.repairs, end)
    if begun(text, start, tools):
        return FoundCalls((), "", (UNREAD,))

    bracket = _BRACKET.match(text, begin)
    name = None if bracket is None else tool_named(tools, bracket["name"])
    if bracket is not None and name is not None:
        return FoundCalls((_call(name, bracket["text"], tools),), "", (), bracket.end())
    call = _CALL.match(text, begin)
    return read_python_calls(call["call"], call.end(), tools) if call is not None else None


def _call(name: str, given: str, tools: ToolSchemas) -> ToolCall:
    """A call with an object, with nothing, or with a text for the only parameter that it has, or
    cannot do without; what is none of these is the agent's error.
    """
    properties = properties_of(tools, name) or {}
    if argument_error(given) is None:
        return ToolCall.received("", name, given)
    if not properties and given.lower() in ("", "none", "null", "{}"):
        return ToolCall.received("", name, "{}")
    only = properties if len(properties) == 1 else required_of(tools, name)
    if len(only) == 1 and not given.startswith("{"):
        text = given[1:-1] if re.fullmatch(r'"[^"]*"', given) else given
        return ToolCall.received("", name, as_json({str(next(iter(only))): text}))
    return ToolCall.received("", name, given)
