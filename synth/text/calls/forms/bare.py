"""Calls that nothing marks: objects or lists of them (Llama 3, and every family whose special
tokens a server left out), `NAME{...}`, Python's list of calls.

They stand on lines of their own, and name tools that there are.
"""

import re

from synth.schemas import ToolCall, ToolSchemas
from synth.text.calls.found import (
    UNREAD,
    FoundCalls,
    after_ends,
    cut_off,
    ends_line,
    json_end,
    tool_named,
)
from synth.text.calls.json_calls import begun, read_objects
from synth.text.calls.python_calls import bracket_end, cut_call, read_python_calls

OPENS = r"(?<=[:.!?] )(?=\[?\{)|^ {0,3}(?=[\[{]|[A-Za-z_][\w.\-]*[({\[])"
BARE = "tool_call_bare"
_NAMED = re.compile(r"(?P<name>[\w.\-]+)(?:\[ARGS\])?(?=\{)")
_CALL = re.compile(r"[A-Za-z_][\w.]*\(")


def read_bare(text: str, opened: "re.Match[str]", tools: ToolSchemas) -> FoundCalls | None:
    """The calls of a line or of several, or behind a sentence at the end; None for anything
    else.
    """
    begin = opened.end()
    found = read_objects(text, begin, tools, marked=False)
    if found is None:
        found = _named(text, begin, tools) or _listed(text, begin, tools)
    if found is None or not _apart(text, begin, found.end):
        return _cut(text, begin, tools) or _value(text, begin)
    return FoundCalls(found.calls, "", (BARE, *found.repairs), after_ends(text, found.end))


def _apart(text: str, begin: int, end: int) -> bool:
    """Whether calls stand in lines of their own, or begin or end the text; not amid a sentence."""
    if not ends_line(text, end):
        return not text[:begin].strip()
    in_line = text[max(begin - 3, 0) : begin].rpartition("\n")[2].strip()
    return not in_line or not text[after_ends(text, end) :].strip()


def _named(text: str, begin: int, tools: ToolSchemas) -> FoundCalls | None:
    """`NAME{...}`: what is left of Mistral's form without its tokens."""
    calls: list[ToolCall] = []
    end = begin
    while (named := _NAMED.match(text, end)) is not None:
        name, stop = tool_named(tools, named["name"]), json_end(text, named.end())
        if name is None or stop is None:
            break
        calls.append(ToolCall.received("", name, text[named.end() : stop]))
        end = stop
    return FoundCalls(tuple(calls), "", (), end) if calls else None


def _listed(text: str, begin: int, tools: ToolSchemas) -> FoundCalls | None:
    """A list of Python's calls; one call alone only where it is the whole text."""
    if text.startswith("[", begin):
        end = bracket_end(text, begin)
        return None if end is None else read_python_calls(text[begin:end], end, tools)
    alone = _CALL.match(text, begin) is not None and not text[:begin].strip()
    return read_python_calls(text[begin:], len(text), tools) if alone else None


def _cut(text: str, begin: int, tools: ToolSchemas) -> FoundCalls | None:
    """The rest of the text where a call of a tool begins in it and is cut off."""
    named, cut = _NAMED.match(text, begin), begun(text, begin, tools)
    if named is not None and tool_named(tools, named["name"]) is not None:
        cut = cut or cut_off(text, named.end())
    if text.startswith("[", begin) or not text[:begin].strip():
        cut = cut or cut_call(text[begin:], tools)
    return FoundCalls((), text[begin:], (UNREAD,), len(text)) if cut else None


def _value(text: str, begin: int) -> FoundCalls | None:
    """A whole JSON value that is no call, as text: nothing in it is one either."""
    end = json_end(text, begin) if text.startswith(("{", "["), begin) else None
    return None if end is None else FoundCalls((), text[begin:end], (), end)
