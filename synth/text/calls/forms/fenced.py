"""Calls in a fence: a block of JSON (or what a family writes) that holds calls of known tools and
nothing else. What else stands in a fence is quoted, and no call.
"""

import re

from synth.schemas import ToolSchemas
from synth.text.calls.found import UNREAD, FoundCalls
from synth.text.calls.json_calls import begun, read_objects
from synth.text.calls.python_calls import cut_call, read_python_calls

OPENS = r"^[ \t]*(?P<fence>`{3,}|~{3,})[ \t]*(?P<language>[\w+\-]*)[^\n`]*(?:\n|\Z)"
FENCED = "tool_call_fenced"
DATA = frozenset({"", "json", "jsonc", "json5", "xml", "tool", "function", "action"})
CALLS = frozenset({"tool_call", "tool_calls", "tool_code", "function_call", "tool_use"})
"""What a fence is called whose block may be a call; one of a programming language is code."""
LISTED = frozenset({"python", "py"})
"""Code that is a call only as a list of calls."""


def read_fenced(text: str, opened: "re.Match[str]", tools: ToolSchemas) -> FoundCalls:
    """The calls of a block, or the block as text."""
    close = re.compile(rf"^[ \t]*{opened['fence']}[ \t]*$", re.MULTILINE).search(text, opened.end())
    stop = close.start() if close is not None else len(text)
    end = close.end() if close is not None else len(text)
    block, language = text[opened.end() : stop].strip(), opened["language"].lower()
    if close is None:
        block = block.rstrip("`~\n")

    found = _calls(block, language, end, tools)
    if found is not None:
        return FoundCalls(found.calls, "", (FENCED, *found.repairs), end)
    cut = close is None and (
        begun(block, 0, tools) or (language in CALLS and cut_call(block, tools))
    )
    return FoundCalls((), text[opened.start() : end], (UNREAD,) if cut else (), end)


def _calls(block: str, language: str, end: int, tools: ToolSchemas) -> FoundCalls | None:
    """The calls that a block consists of, None where it does not."""
    if language in DATA | CALLS:
        found = read_objects(block, 0, tools, marked=False)
        if found is not None and found.end == len(block):
            return found
    listed = block.startswith("[") and language in DATA | LISTED
    if listed or language in CALLS:
        return read_python_calls(block, end, tools)
    return None
