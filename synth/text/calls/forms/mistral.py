"""Calls as Mistral's models write them: `[TOOL_CALLS] [{"name": ..., "arguments": {...}}]` (to
tokenizer v7), `[TOOL_CALLS]NAME[CALL_ID]ID[ARGS]{...}` (v11), without the id (v13).
"""

import re

from synth.schemas import ToolCall, ToolSchemas
from synth.text.calls.found import (
    UNREAD,
    FoundCalls,
    after_ends,
    after_space,
    object_end,
    tool_named,
)
from synth.text.calls.json_calls import read_objects

OPENS = r"\[TOOL_CALLS\]"
MISTRAL = "tool_call_mistral"
_NAMED = re.compile(
    r"\s*(?:\[TOOL_CALLS\])?\s*(?P<name>[\w.\-]+)\s*(?:\[CALL_ID\]\s*\w+\s*)?(?:\[ARGS\])?\s*(?=\{)"
)
_NEXT = re.compile(r"\[TOOL_CALLS\]|</s>|\Z")


def read_mistral(text: str, opened: "re.Match[str]", tools: ToolSchemas) -> FoundCalls | None:
    """The calls behind the token, of either form; None where there is no whole one."""
    begin = after_space(text, opened.end())
    listed = read_objects(text, begin, tools, marked=True)
    if listed is not None:
        repairs = (MISTRAL, *listed.repairs)
        return FoundCalls(listed.calls, "", repairs, after_ends(text, listed.end))

    calls, told, end = list[ToolCall](), [MISTRAL], opened.start()
    while (named := _NAMED.match(text, end)) is not None:
        if end != opened.start() and not text[end:].lstrip().startswith("[TOOL_CALLS]"):
            break
        stop = object_end(text, named.end(), _NEXT)
        if stop is None:
            told.append(UNREAD)
            break
        name = tool_named(tools, named["name"]) or named["name"]
        calls.append(ToolCall.received("", name, text[named.end() : stop].strip()))
        end = stop
    if not calls:
        return None
    return FoundCalls(tuple(calls), "", tuple(told), after_ends(text, end))
