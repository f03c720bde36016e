"""JSON or Python calls behind a token that says that calls follow: Llama's `<|python_tag|>`, and
its kin of Granite, Phi-4, Nemotron, InternLM, LFM 2, Llama 4.
"""

import re

from synth.schemas import ToolCall, ToolSchemas
from synth.text.calls.argument_types import properties_of
from synth.text.calls.found import (
    FoundCalls,
    after_ends,
    after_space,
    as_json,
    past,
    tool_named,
)
from synth.text.calls.json_calls import begun, read_objects
from synth.text.calls.python_calls import bracket_end, read_python_calls

_CLOSES = {
    "<|python_tag|>": r"<\|(?:eom_id|eot_id)\|>",
    "<|python_start|>": r"<\|python_end\|>",
    "<|tool_call|>": r"<\|/tool_call\|>|</s>",
    "<|tool_call_start|>": r"<\|tool_call_end\|>",
    "<|action_start|><|plugin|>": r"<\|action_end\|>",
    "<TOOLCALL>": "</TOOLCALL>",
    "<tool_calls>": "</tool_calls>",
    "<function_calls>": "</function_calls>",
    "<function_call>": "</function_call>",
    "functools": r"\Z",
}
"""Token -> what closes it, as a pattern."""
OPENS = (
    "|".join(re.escape(token) for token in _CLOSES if token != "functools") + r"|functools(?=\[)"
)
MARKED = "tool_call_marked"
INTERPRETERS = ("code_interpreter", "ipython", "python")
"""Llama's built-in tool takes code that stands behind the token as it is."""
_DOTTED = re.compile(r"[\w.]+\(")


def read_marked(text: str, opened: "re.Match[str]", tools: ToolSchemas) -> FoundCalls | None:
    """The calls behind the token: JSON, Python, or (behind Llama's) code for a tool that runs it;
    None for anything else.
    """
    begin = after_space(text, opened.end())
    closes = re.compile(rf"\s*(?:{_CLOSES[opened[0]]})")
    found = read_objects(text, begin, tools, marked=True)
    if found is None:
        following = text.find(opened[0], begin)
        last = following if following >= 0 else len(text)
        close = closes.search(text, begin, last)
        stop = close.start() if close is not None else last
        if text.startswith("[", begin) or _DOTTED.match(text, begin):
            stop = _python_end(text, begin, stop)
        found = read_python_calls(text[begin:stop], stop, tools, marked=True)
    if found is None and opened[0] == "<|python_tag|>" and not begun(text, begin, tools):
        found = _code(text[begin:stop].strip(), stop, tools)
    if found is None:
        return None

    end = after_ends(text, past(closes, text, found.end))
    return FoundCalls(found.calls, "", (MARKED, *found.repairs), end)


def _python_end(text: str, begin: int, stop: int) -> int:
    """Where a list of calls closes, or what is closed by its token ends."""
    end = bracket_end(text, begin, stop) if text.startswith("[", begin) else None
    return end if end is not None and end <= stop else stop


def _code(code: str, end: int, tools: ToolSchemas) -> FoundCalls | None:
    """Code for a tool that runs it, where one is offered that takes nothing else."""
    for name in filter(None, (tool_named(tools, one) for one in INTERPRETERS)):
        parameters = properties_of(tools, name) or {}
        if len(parameters) == 1 and code:
            call = ToolCall.received("", name, as_json({next(iter(parameters)): code}))
            return FoundCalls((call,), "", (), end)
    return None
