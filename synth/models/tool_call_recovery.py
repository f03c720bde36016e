"""Tool calls found in text where the server missed them: in Hermes form, `<tool_call>{"name": ...,
"arguments": {...}}</tool_call>`, and in Qwen3-Coder's (xml_tool_calls).

Servers swallow calls inside thinking, give up at data after the JSON, or at the second call
(vllm#39056, #17790, #32638). What the model itself wrote wrongly stays wrong: a recognisable call
whose JSON is broken becomes a call with a `parse_error`.
"""

import json
import re
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from synth.models.call_ids import identified, ids_in_use
from synth.models.xml_tool_calls import (
    CLOSE,
    EXTRA_DATA,
    FUNCTION,
    OPEN,
    UNCLOSED,
    after_space,
    close_before_next,
    read_tagged,
    read_untagged,
    read_xml_call,
)
from synth.schemas.model import Completion, Message
from synth.schemas.trajectory import ToolCall, ToolSchema, argument_error

RECOVERED = "tool_call_recovered"
IN_THINKING = "tool_call_in_thinking"
BROKEN = "tool_call_broken_json"
NO_ARGUMENTS = "tool_call_without_arguments"
BESIDE = "tool_call_beside_others"

_OBJECT = json.JSONDecoder()
_OPENED = re.compile(f"{OPEN}|{FUNCTION}")
_NAME_FIRST = re.compile(
    r'\{\s*"name"\s*:\s*("(?:[^"\\]|\\.)*")(?:\s*,\s*"arguments"\s*: ?(?P<arguments>.*?)\}?)?\Z',
    re.DOTALL,
)
_NAME_LAST = re.compile(
    r'\{\s*"arguments"\s*: ?(?P<arguments>.*),\s*"name"\s*:\s*("(?:[^"\\]|\\.)*")\s*\}?\Z',
    re.DOTALL,
)
_THINKING = re.compile(r"<think>.*?(?:</think>|\Z)|\A(?:(?!<think>).)*?</think>", re.DOTALL)
_STRING = msgspec.json.Decoder(str)


class RecoveredCalls(msgspec.Struct, frozen=True):
    """Calls (without ids), the text around them, and the names of what was mended."""

    calls: tuple[ToolCall, ...]
    text: str
    repairs: tuple[str, ...] = ()


class _Written(msgspec.Struct):
    name: str
    arguments: msgspec.Raw = msgspec.Raw(b"")


_WRITTEN = msgspec.json.Decoder(_Written)


def rendered_call(call: ToolCall) -> str:
    """The call as Hermes and Qwen write it, arguments to the byte, broken ones too."""
    return (
        f'{OPEN}\n{{"name": {json.dumps(call.name, ensure_ascii=False)}, "arguments": '
        f"{call.arguments}}}\n{CLOSE}"
    )


def recover_tool_calls(text: str, tools: Sequence[ToolSchema] = ()) -> RecoveredCalls:
    """The calls that stand in a text, in order; never raises. `tools` say of what type bare text is
    (Qwen3-Coder).

    A call that is cut off is kept as text, and so is a tag that holds no recognisable call, and a
    `<function=` outside a tag that names no tool or is not closed.
    """
    calls: list[ToolCall] = []
    kept: list[str] = []
    repairs: list[str] = []
    position = 0
    while (opened := _OPENED.search(text, position)) is not None:
        start, inside = opened.span()
        read = (
            _read_call(text, inside, repairs, tools)
            if opened[0] == OPEN
            else read_untagged(text, start, repairs, tools)
        )
        if read is None:
            kept.append(text[position:inside])
            position = inside
            continue
        found, extra, end = read
        calls.extend(found)
        kept.extend((text[position:start], extra))
        position = end
    kept.append(text[position:])
    if not calls:
        return RecoveredCalls((), text)
    return RecoveredCalls(
        tuple(calls), "".join(kept).strip(), tuple(dict.fromkeys((RECOVERED, *repairs)))
    )


def with_recovered_calls(
    completion: Completion, messages: Sequence[Message], tools: Sequence[ToolSchema]
) -> Completion:
    """The completion with the calls that its server missed.

    Where it found some, those that it left in the content outside thinking come after them; a call
    that stands in both is one call. Where it found none, calls outside thinking come first; those
    inside are taken only where there are none outside, since a model may weigh a call that it then
    does not make. `raw` keeps what was received; content that consisted of calls only becomes None.
    """
    if not any(
        tag in (part or "")
        for part in (completion.content, completion.thought)
        for tag in (OPEN, FUNCTION)
    ):
        return completion
    content, thought = completion.content, completion.thought
    found, content = _outside_thinking(content or "", tools)
    if completion.tool_calls:
        found = _not_among(completion.tool_calls, found)
    elif not found.calls:
        content, thought, found = _inside_thinking(completion.content, completion.thought, tools)
    if not found.calls:
        return completion
    turn, seen = ids_in_use(messages)
    calls, mended = identified([*completion.tool_calls, *found.calls], turn, seen)
    repairs = tuple(dict.fromkeys((*completion.repairs, *found.repairs, *mended)))
    return replace(
        completion, content=content or None, thought=thought, tool_calls=calls, repairs=repairs
    )


def _not_among(known: Sequence[ToolCall], found: RecoveredCalls) -> RecoveredCalls:
    """The calls that were found beyond those known, each of which accounts for one of the same name
    and the same arguments.
    """
    left = [_meaning(call) for call in known]
    beyond = []
    for call in found.calls:
        if _meaning(call) in left:
            left.remove(_meaning(call))
        else:
            beyond.append(call)
    return RecoveredCalls(tuple(beyond), found.text, (*found.repairs, BESIDE))


def _meaning(call: ToolCall) -> tuple[str, object]:
    """Name and arguments; two spellings of one JSON object are the same."""
    return call.name, call.arguments if call.parse_error is not None else call.parsed()


def _outside_thinking(content: str, tools: Sequence[ToolSchema]) -> tuple[RecoveredCalls, str]:
    """What stands in the content outside of <think>; the thinking itself stays where it is."""
    spans = [match.span() for match in _THINKING.finditer(_without_arguments(content))]
    calls: list[ToolCall] = []
    kept: list[str] = []
    repairs: list[str] = []
    position = 0
    for start, end in [*spans, (len(content), len(content))]:
        found = recover_tool_calls(content[position:start], tools)
        calls.extend(found.calls)
        repairs.extend(found.repairs)
        kept.extend((found.text, content[start:end]))
        position = end
    return RecoveredCalls(tuple(calls), "", tuple(dict.fromkeys(repairs))), "".join(kept)


def _without_arguments(content: str) -> str:
    """The text with blanks for the arguments of its calls: a <think> in one is none, and every
    place stays where it is.
    """
    parts: list[str] = []
    position = 0
    while (opened := _OPENED.search(content, position)) is not None:
        begin = after_space(content, opened.end()) if opened[0] == OPEN else opened.start()
        xml = read_xml_call(content, begin, ())
        end = (
            xml.end if xml is not None else _object_end(content, begin) or max(begin, opened.end())
        )
        parts.append(content[position:begin] + " " * (end - begin))
        position = end
    return "".join([*parts, content[position:]])


def _inside_thinking(
    content: str | None, thought: str | None, tools: Sequence[ToolSchema]
) -> tuple[str | None, str | None, RecoveredCalls]:
    """The calls of the thought, else of the content's <think> parts, with both texts as they are
    without them.
    """
    for part, of_thought in ((thought, True), (content, False)):
        found = recover_tool_calls(part or "", tools)
        if found.calls:
            found = replace(found, repairs=(*found.repairs, IN_THINKING))
            return (content, found.text, found) if of_thought else (found.text, thought, found)
    return content, thought, RecoveredCalls((), "")


def _read_call(
    text: str, start: int, repairs: list[str], tools: Sequence[ToolSchema]
) -> tuple[tuple[ToolCall, ...], str, int] | None:
    """The calls in the tag whose inside begins at `start`, what else stood in it, and where the
    text goes on; None for no call.
    """
    begin = after_space(text, start)
    if text.startswith(FUNCTION, begin):
        return read_tagged(text, begin, repairs, tools)
    end = _object_end(text, begin)
    if end is None:
        return _read_broken(text, start, repairs)
    try:
        calls = [_whole_call(text[begin:end], repairs)]
    except msgspec.ValidationError:  # an object, but one that names no tool
        return None
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return _read_broken(text, start, repairs)
    close = close_before_next(text, end)
    if close is None:
        repairs.append(UNCLOSED)
        return tuple(calls), "", end
    while (begin := after_space(text, end)) < close:
        if EXTRA_DATA not in repairs:
            repairs.append(EXTRA_DATA)
        following = _object_end(text, begin)
        try:
            calls.append(_whole_call(text[begin : min(following or close, close)], repairs))
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return tuple(calls), text[begin:close].strip(), close + len(CLOSE)
        end = following or close
    return tuple(calls), "", close + len(CLOSE)


def _object_end(text: str, begin: int) -> int | None:
    """Where the JSON object that begins there ends; a closing tag inside one of its strings does
    not end it.
    """
    if not text.startswith("{", begin):
        return None
    try:
        return _OBJECT.raw_decode(text, begin)[1]
    except (ValueError, RecursionError):
        return None


def _whole_call(written: str, repairs: list[str]) -> ToolCall:
    """A call from JSON that is whole. Raises `msgspec.DecodeError` where it is not, or names no
    tool.
    """
    call = _WRITTEN.decode(written)
    arguments = bytes(call.arguments).decode()
    if not arguments:
        repairs.append(NO_ARGUMENTS)
    return ToolCall.received("", call.name, arguments or "{}")


def _read_broken(
    text: str, start: int, repairs: list[str]
) -> tuple[tuple[ToolCall, ...], str, int] | None:
    """A closed tag whose JSON is broken but names its tool: the arguments as written, and a parse
    error in any case.
    """
    close = close_before_next(text, start)
    if close is None:
        return None
    inside = text[start:close].strip()
    written = _NAME_FIRST.match(inside) or _NAME_LAST.match(inside)
    if written is None:
        return None
    try:
        name = _STRING.decode(written[1] if written.re is _NAME_FIRST else written[2])
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None
    arguments = written["arguments"] or ""
    if written.re is _NAME_FIRST and argument_error(arguments + "}") is None:
        arguments += "}"  # it was the call's own brace that is missing
    repairs.append(BROKEN)
    return (
        (
            ToolCall(
                "",
                name,
                arguments,
                argument_error(arguments) or "the call around the arguments is not JSON",
            ),
        ),
        "",
        close + len(CLOSE),
    )
