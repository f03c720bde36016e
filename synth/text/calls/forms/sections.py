"""Calls between tokens of their own, name and arguments apart: DeepSeek V3, R1 and V3.1, Kimi K2.

V3 and R1: `<｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME`, then arguments in a fence of JSON; V3.1:
`<｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{...}`; Kimi K2:
`<|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>{...}<|tool_call_end|>`. Some
servers spell the tokens in ASCII.
"""

import re

from synth.schemas import ToolCall, ToolSchemas
from synth.text.calls.found import (
    UNCLOSED,
    UNREAD,
    FoundCalls,
    after_ends,
    cut_off,
    json_end,
    past,
    tool_named,
)

SECTION = "tool_call_section"
_BAR, _GAP = r"[｜|]", r"[▁_ ]"


def _token(*words: str) -> str:
    """The pattern of a token of these words."""
    return f"<{_BAR}{_GAP.join(words)}{_BAR}>"


_OPEN = f"(?:{_token('tool', 'calls', 'begin')}|{_token('tool', 'calls', 'section', 'begin')})"
_CLOSE = f"(?:{_token('tool', 'calls', 'end')}|{_token('tool', 'calls', 'section', 'end')})"
_BEGIN, _END = _token("tool", "call", "begin"), _token("tool", "call", "end")
_BETWEEN = f"(?:{_token('tool', 'sep')}|{_token('tool', 'call', 'argument', 'begin')})"
OPENS = rf"{_OPEN}|{_BEGIN}"
_CALL = re.compile(
    rf"\s*{_BEGIN}\s*(?:function\s*{_BETWEEN}\s*)?(?:functions\.)?(?P<name>[^\s<｜|:]+)(?::\d+)?\s*"
    rf"(?:{_BETWEEN}\s*)?(?:```(?:json)?\s*)?"
)
_OPENED = re.compile(rf"\s*{_OPEN}")
_FENCE_END = re.compile(r"\s*```")
_CALL_END = re.compile(rf"\s*{_END}")
_STOP = re.compile(rf"\s*(?:```\s*)?(?:{_END}|{_BEGIN}|{_CLOSE})")
_SECTION_END = re.compile(rf"\s*{_CLOSE}")


def read_section(text: str, opened: "re.Match[str]", tools: ToolSchemas) -> FoundCalls | None:
    """The calls of a section; None where there is no whole one."""
    end = past(_OPENED, text, opened.start())
    calls, repairs = list[ToolCall](), [SECTION]

    while (begun := _CALL.match(text, end)) is not None:
        found = _arguments(text, begun.end())
        if found is None:
            repairs.append(UNREAD)
            break
        arguments, end, closed = found
        name = tool_named(tools, begun["name"]) or begun["name"]
        calls.append(ToolCall.received("", name, arguments))
        repairs += [] if closed else [UNCLOSED]

    if not calls:
        return None
    end = after_ends(text, past(_SECTION_END, text, end))
    return FoundCalls(tuple(calls), "", tuple(dict.fromkeys(repairs)), end)


def _arguments(text: str, begin: int) -> tuple[str, int, bool] | None:
    """The arguments that begin there, where the call ends, and whether it is closed; None where it
    is cut off.
    """
    stop = json_end(text, begin)
    if stop is None or not text.startswith("{", begin):
        closing = _STOP.search(text, begin)
        if closing is None or (stop is None and cut_off(text, begin)):
            return None
        stop = closing.start()
    written = text[begin:stop].strip()

    fenced = past(_FENCE_END, text, stop)
    end = past(_CALL_END, text, fenced)
    return written or "{}", end, end > fenced
