"""Calls as Gemma writes them, which are no JSON.

Gemma 4: `<|tool_call>call:NAME{key:<|"|>text<|"|>,n:3}<tool_call|>`; FunctionGemma:
`<start_function_call>call:NAME{key:<escape>text<escape>}<end_function_call>`.
"""

import re
from collections.abc import Mapping
from typing import Any

from synth.schemas import ToolCall, ToolSchemas
from synth.text.calls.argument_types import properties_of, typed
from synth.text.calls.found import UNCLOSED, FoundCalls, after_ends, as_json, past, tool_named

GEMMA = "tool_call_gemma"
OPENS = r"<\|tool_call>|<start_function_call>"
_CALL = re.compile(r"\s*call:\s*(?P<name>[\w.\-]+)\s*\{")
_CLOSE = re.compile(r"\s*(?:<tool_call\|>|<end_function_call>)")
_QUOTES = ('<|"|>', "<escape>")
_KEY = re.compile(r"[\s,]*(?P<key>[^\s,:{}\[\]<>][^:{}\[\]<>]*?)\s*:\s*")
_COLON = re.compile(r"\s*:\s*")
_BARE = re.compile(r"[^,{}\[\]<>]*")
_BETWEEN = re.compile(r"[\s,]*")
_WORDS = {"true": True, "false": False, "null": None}
DEEPEST = 30


def read_gemma(text: str, opened: "re.Match[str]", tools: ToolSchemas) -> FoundCalls | None:
    """The call behind the token; None where it is not whole."""
    call = _CALL.match(text, opened.end())
    if call is None:
        return None

    name = tool_named(tools, call["name"]) or call["name"]
    try:
        arguments, end = _object(text, call.end(), properties_of(tools, name) or {}, 0)
    except ValueError:
        return None

    close = past(_CLOSE, text, end)
    made = ToolCall.received("", name, as_json(arguments))
    told = (GEMMA,) if close > end else (GEMMA, UNCLOSED)
    return FoundCalls((made,), "", told, after_ends(text, close))


def _object(
    text: str, position: int, kinds: Mapping[str, Any], depth: int
) -> tuple[dict[str, Any], int]:
    """What stands behind an opened brace, and where the one ends that closes it; `kinds` are the
    schemas of its members. Raises `ValueError` where it is cut off.
    """
    found: dict[str, Any] = {}
    while True:
        position = _past_commas(text, position)
        if text.startswith("}", position):
            return found, position + 1
        quote = _quoted(text, position)
        if quote is not None:
            name, position = quote
            colon = _COLON.match(text, position)
        else:
            colon = _KEY.match(text, position)
            name = colon["key"] if colon is not None else ""
        if colon is None or name in found:
            raise ValueError("no key")
        found[name], position = _value(text, colon.end(), kinds.get(name), depth + 1)


def _value(text: str, position: int, kind: Any, depth: int) -> tuple[Any, int]:
    """A value and where it ends; one without quotes is what its schema says."""
    if depth > DEEPEST:
        raise ValueError("too deep")
    quote = _quoted(text, position)
    if quote is not None:
        # FunctionGemma quotes numbers too
        written, end = quote
        return (typed(written, kind) if text.startswith("<escape>", position) else written), end
    if text.startswith("{", position):
        return _object(text, position + 1, {}, depth)
    if text.startswith("[", position):
        return _list(text, position + 1, depth)

    bare = _BARE.match(text, position)
    if bare is None or bare.end() >= len(text):
        raise ValueError("cut off")
    return _bare(bare[0].strip(), kind), bare.end()


def _list(text: str, position: int, depth: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    while True:
        position = _past_commas(text, position)
        if text.startswith("]", position):
            return found, position + 1
        one, position = _value(text, position, None, depth + 1)
        found.append(one)


def _bare(written: str, kind: Any) -> Any:
    """What is no text in quotes: a number, a truth, nothing; else what the schema makes of it."""
    if written in _WORDS:
        return _WORDS[written]
    try:
        number = float(written)
    except ValueError:
        return typed(written, kind)
    whole = re.fullmatch(r"-?\d+", written) is not None
    if number in (float("inf"), float("-inf")) or number != number:
        return written
    return int(written) if whole else number


def _quoted(text: str, position: int) -> tuple[str, int] | None:
    """A text between its quotes, and where it ends; None where none begins there."""
    for quote in _QUOTES:
        if text.startswith(quote, position):
            begin = position + len(quote)
            end = text.find(quote, begin)
            if end < 0:
                raise ValueError("cut off")
            return text[begin:end], end + len(quote)
    return None


def _past_commas(text: str, position: int) -> int:
    position = past(_BETWEEN, text, position)
    if position >= len(text):
        raise ValueError("cut off")
    return position
