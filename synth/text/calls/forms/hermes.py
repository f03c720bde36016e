"""Calls in `<tool_call>`: `{"name": ..., "arguments": {...}}` (Hermes, Qwen), a list of these
(SmolLM2, Granite), and what other families write into the same tag.
"""

import json
import re

import msgspec

from synth.schemas import ToolCall, ToolSchemas, argument_error
from synth.text.calls.forms.glm import read_glm
from synth.text.calls.forms.qwen_xml import CLOSE, FUNCTION, OPEN, close_before_next, read_tagged
from synth.text.calls.found import (
    EXTRA_DATA,
    UNCLOSED,
    FoundCalls,
    after_space,
    json_end,
    tool_named,
)
from synth.text.calls.json_calls import Named, named_call, read_objects
from synth.text.calls.python_calls import read_python_calls

BROKEN = "tool_call_broken_json"

_NAME = r'"name"\s*:\s*(?P<name>"(?:[^"\\]|\\.)*")'
_ARGUMENTS = r'"(?:arguments|parameters)"\s*: ?(?P<arguments>'
_NAME_FIRST = re.compile(rf"\{{\s*{_NAME}(?:\s*,\s*{_ARGUMENTS}.*?)\}}?)?\Z", re.DOTALL)
_NAME_LAST = re.compile(rf"\{{\s*{_ARGUMENTS}.*),\s*{_NAME}\s*\}}?\Z", re.DOTALL)
_LOOSE_NAME = re.compile(
    r"\{\s*[\"']?name[\"']?\s*:\s*[\"']?(?P<name>[\w.\-]+)[\"']?\s*,?(?P<rest>.*)\Z", re.DOTALL
)
_STRING = msgspec.json.Decoder(str)
_NO_JSON = (ValueError, msgspec.DecodeError, RecursionError)


def rendered_call(name: str, arguments: str) -> str:
    """A call as Hermes and Qwen write it, arguments to the byte, broken ones too."""
    named = json.dumps(name, ensure_ascii=False)
    return f'{OPEN}\n{{"name": {named}, "arguments": {arguments}}}\n{CLOSE}'


def read_tag(text: str, opened: "re.Match[str]", tools: ToolSchemas) -> FoundCalls | None:
    """The calls of the tag that opens there, whatever form they have; None where it holds none."""
    begin = after_space(text, opened.end())
    if text.startswith(FUNCTION, begin):
        return read_tagged(text, begin, tools)
    if text.startswith("{", begin):
        return _read_json(text, begin, tools)

    close = close_before_next(text, begin)
    if text.startswith("[", begin):
        found = read_objects(text, begin, tools, marked=True)
        if found is not None:
            return _closed(text, found)
    if close is None:
        return None
    end = close + len(CLOSE)
    return read_glm(text[begin:close], end, tools) or read_python_calls(
        text[begin:close], end, tools
    )


def _closed(text: str, found: FoundCalls) -> FoundCalls:
    """What was found, up to the end of its tag."""
    close = close_before_next(text, found.end)
    if close is None:
        return msgspec.structs.replace(found, repairs=(*found.repairs, UNCLOSED))
    rest = text[found.end : close].strip()
    repairs = (*found.repairs, EXTRA_DATA) if rest else found.repairs
    return FoundCalls(found.calls, rest, repairs, close + len(CLOSE))


def _read_json(text: str, begin: int, tools: ToolSchemas) -> FoundCalls | None:
    """The calls in the tag whose inside begins there, and what else stood in it; None for no
    call.
    """
    end = json_end(text, begin)
    if end is None:
        return _read_broken(text, begin, tools)
    first = named_call(text[begin:end], tools, marked=True)
    if first is None:
        return _read_broken(text, begin, tools) if _no_json(text[begin:end]) else None

    close, made, repairs, rest = close_before_next(text, end), [first], list[str](), ""
    if close is None:
        repairs.append(UNCLOSED)
    else:
        begin = end
        end = after_space(text, end)
        repairs += [EXTRA_DATA] if end < close else []
        made += (following := _following(text, end, close, tools))[0]
        rest, end = following[1], close + len(CLOSE)

    mended = [repair for _, told in made for repair in told]
    repairs = list(dict.fromkeys((*mended, *repairs)))
    return FoundCalls(tuple(call for call, _ in made), rest, tuple(repairs), end)


def _following(text: str, end: int, close: int, tools: ToolSchemas) -> tuple[list[Named], str]:
    """Further calls of the same tag, and the text behind the last of them."""
    made: list[Named] = []
    while end < close:
        following = min(json_end(text, end) or close, close)
        named = named_call(text[end:following], tools, marked=True)
        if named is None:
            return made, text[end:close].strip()
        made.append(named)
        end = after_space(text, following)
    return made, ""


def _no_json(written: str) -> bool:
    """Whether only Python takes it for JSON: NaN, half a surrogate pair."""
    try:
        msgspec.json.decode(written)
    except _NO_JSON:
        return True
    return False


def _loosely_named(inside: str, tools: ToolSchemas) -> ToolCall | None:
    """A call of a known tool whose name stands between Python's quotes or none: the agent's
    error.
    """
    written = _LOOSE_NAME.match(inside)
    name = None if written is None else tool_named(tools, written["name"])
    if written is None or name is None:
        return None
    return ToolCall("", name, written["rest"].strip(), "the call is not JSON: its name is no text")


def _read_broken(text: str, begin: int, tools: ToolSchemas) -> FoundCalls | None:
    """A closed tag whose JSON is broken but names its tool: the arguments as written, and a parse
    error in any case.
    """
    close = close_before_next(text, begin)
    if close is None:
        return None

    inside = text[begin:close].strip()
    written = _NAME_FIRST.match(inside) or _NAME_LAST.match(inside)
    if written is None:
        loose = _loosely_named(inside, tools)
        end = close + len(CLOSE)
        return None if loose is None else FoundCalls((loose,), "", (BROKEN,), end)

    try:
        name = _STRING.decode(written["name"])
    except _NO_JSON:
        return None

    arguments = written["arguments"] or ""
    if written.re is _NAME_FIRST and argument_error(arguments + "}") is None:
        arguments += "}"  # it was the call's own brace that is missing
    why = argument_error(arguments) or "the call around the arguments is not JSON"
    return FoundCalls((ToolCall("", name, arguments, why),), "", (BROKEN,), close + len(CLOSE))
