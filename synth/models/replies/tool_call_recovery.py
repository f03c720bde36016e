"""Tool calls found in text where the server missed them: in Hermes form, `<tool_call>{"name": ...,
"arguments": {...}}</tool_call>`, and in Qwen3-Coder's (xml_tool_calls).

Servers swallow calls inside thinking, give up at data after the JSON, or at the second call
(vllm#39056, #17790, #32638). What the model itself wrote wrongly stays wrong: a recognisable call
whose JSON is broken becomes a call with a `parse_error`.
"""

import json
import re
from collections import Counter
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from synth.models.replies.call_ids import arguments_meaning, identified
from synth.models.replies.xml_tool_calls import (
    CLOSE,
    EXTRA_DATA,
    FUNCTION,
    OPEN,
    UNCLOSED,
    FoundCalls,
    after_space,
    close_before_next,
    read_tagged,
    read_untagged,
    read_xml_call,
)
from synth.schemas import Completion, Messages, ToolCall, ToolSchemas, argument_error

RECOVERED = "tool_call_recovered"
IN_THINKING = "tool_call_in_thinking"
BROKEN = "tool_call_broken_json"
NO_ARGUMENTS = "tool_call_without_arguments"
BESIDE = "tool_call_beside_others"

_OBJECT = json.JSONDecoder()
_NO_JSON = (ValueError, msgspec.DecodeError, RecursionError)
_OPENED = re.compile(f"{OPEN}|{FUNCTION}")
_THINK = re.compile(f"{OPEN}|{FUNCTION}|</?think>")
_NAME = r'"name"\s*:\s*(?P<name>"(?:[^"\\]|\\.)*")'
_NAME_FIRST = re.compile(
    rf'\{{\s*{_NAME}(?:\s*,\s*"arguments"\s*: ?(?P<arguments>.*?)\}}?)?\Z', re.DOTALL
)
_NAME_LAST = re.compile(rf'\{{\s*"arguments"\s*: ?(?P<arguments>.*),\s*{_NAME}\s*\}}?\Z', re.DOTALL)
_STRING = msgspec.json.Decoder(str)


class _Written(msgspec.Struct):
    name: str
    arguments: msgspec.Raw = msgspec.Raw(b"")


_WRITTEN = msgspec.json.Decoder(_Written)


def rendered_call(name: str, arguments: str) -> str:
    """A call as Hermes and Qwen write it, arguments to the byte, broken ones too."""
    named = json.dumps(name, ensure_ascii=False)
    return f'{OPEN}\n{{"name": {named}, "arguments": {arguments}}}\n{CLOSE}'


def recover_tool_calls(text: str, tools: ToolSchemas = ()) -> FoundCalls:
    """The calls that stand in a text, in order; never raises. `tools` say of what type bare text is
    (Qwen3-Coder).

    A call that is cut off is kept as text, and so is a tag that holds no recognisable call, and a
    `<function=` outside a tag that names no tool or is not closed.
    """
    found: list[FoundCalls] = []
    kept: list[str] = []
    position = 0
    while (opened := _OPENED.search(text, position)) is not None:
        start, inside = opened.span()
        begin = after_space(text, inside)
        if opened[0] == FUNCTION:
            read = read_untagged(text, start, tools)
        elif text.startswith(FUNCTION, begin):
            read = read_tagged(text, begin, tools)
        else:
            read = _read_json(text, begin)

        if read is None:
            kept.append(text[position:inside])
            position = inside
        else:
            found.append(read)
            kept += (text[position:start], read.text)
            position = read.end
    return _together(found, "".join([*kept, text[position:]]).strip() if found else text)


def _together(found: Sequence[FoundCalls], text: str) -> FoundCalls:
    """What was found in the parts of a text, and the text that is left."""
    calls = tuple(call for one in found for call in one.calls)
    mended = dict.fromkeys(repair for one in found for repair in one.repairs)
    return FoundCalls(calls, text, tuple({RECOVERED: None, **mended}) if calls else ())


def with_recovered_calls(
    completion: Completion, messages: Messages, tools: ToolSchemas
) -> Completion:
    """The completion with the calls that its server missed.

    Where it found some, those that it left in the content outside thinking come after them; a call
    that stands in both is one call. Where it found none, calls outside thinking come first; those
    inside are taken only where there are none outside, since a model may weigh a call that it then
    does not make. `raw` keeps what was received; content that consisted of calls only becomes None.
    """
    content, thought = completion.content or "", completion.thought or ""
    if not (_OPENED.search(content) or _OPENED.search(thought)):
        return completion
    known, why = completion.tool_calls, BESIDE

    found = _outside_thinking(content, tools)
    content, calls = found.text, list[ToolCall]()

    # each call that the server found accounts for one of the same name and the same arguments
    left = Counter(map(_meaning, known))
    for call in found.calls:
        meaning = _meaning(call)
        if left[meaning] > 0:
            left[meaning] -= 1
        else:
            calls.append(call)

    if not (known or calls):
        why = IN_THINKING
        found = recover_tool_calls(thought, tools)
        if found.calls:
            content, thought = completion.content or "", found.text
        else:
            found = recover_tool_calls(completion.content or "", tools)
            content = found.text
        calls = list(found.calls)

    if not calls:
        return completion
    identified_calls, mended = identified([*known, *calls], messages)

    told = (why,) if known or why == IN_THINKING else ()
    return replace(
        completion,
        content=content or None,
        thought=completion.thought and thought,
        tool_calls=identified_calls,
        repairs=tuple(dict.fromkeys((*completion.repairs, *found.repairs, *told, *mended))),
    )


def _meaning(call: ToolCall) -> tuple[str, bool, bytes]:
    return call.name, call.parse_error is None, arguments_meaning(call)


def _outside_thinking(content: str, tools: ToolSchemas) -> FoundCalls:
    """What stands in the content outside of <think>; the thinking itself stays where it is."""
    found: list[FoundCalls] = []
    kept: list[str] = []
    position = 0

    for start, end in [*_thinking(content), (len(content), len(content))]:
        found.append(recover_tool_calls(content[position:start], tools))
        kept += (found[-1].text, content[start:end])
        position = end
    return _together(found, "".join(kept))


def _thinking(content: str) -> list[tuple[int, int]]:
    """Where thinking stands, from <think> to </think>: one that is not opened begins with the text,
    one that is not closed ends with it. A tag in the arguments of a call is none.
    """
    spans: list[tuple[int, int]] = []
    opened: int | None = 0
    position, begun = 0, False

    while (mark := _THINK.search(content, position)) is not None:
        position = mark.end()
        if mark[0] == "<think>":
            opened = opened if begun and opened is not None else mark.start()
            begun = True
        elif mark[0] == "</think>":
            if opened is not None:
                spans.append((opened, position))
            opened, begun = None, True
        else:
            begin = after_space(content, position) if mark[0] == OPEN else mark.start()
            xml = read_xml_call(content, begin, ())
            end = xml.end if xml is not None else _object_end(content, begin)
            position = max(position, end or begin)
    return [*spans, (opened, len(content))] if begun and opened is not None else spans


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


def _read_json(text: str, begin: int) -> FoundCalls | None:
    """The calls in the tag whose inside begins there, and what else stood in it; None for no
    call.
    """
    end = _object_end(text, begin)
    if end is None:
        return _read_broken(text, begin)
    try:
        written = [_WRITTEN.decode(text[begin:end])]
    except msgspec.ValidationError:  # an object, but one that names no tool
        return None
    except _NO_JSON:
        return _read_broken(text, begin)

    close, repairs, rest = close_before_next(text, end), list[str](), ""
    if close is None:
        repairs.append(UNCLOSED)
    else:
        end = after_space(text, end)
        repairs += [EXTRA_DATA] if end < close else []
        while end < close:
            following = min(_object_end(text, end) or close, close)
            try:
                written.append(_WRITTEN.decode(text[end:following]))
            except _NO_JSON:
                rest = text[end:close].strip()
                break
            end = after_space(text, following)
        end = close + len(CLOSE)

    arguments = [bytes(one.arguments).decode() for one in written]
    repairs = repairs if all(arguments) else [NO_ARGUMENTS, *repairs]

    calls = (
        ToolCall.received("", one.name, given or "{}")
        for one, given in zip(written, arguments, strict=True)
    )
    return FoundCalls(tuple(calls), rest, tuple(repairs), end)


def _read_broken(text: str, begin: int) -> FoundCalls | None:
    """A closed tag whose JSON is broken but names its tool: the arguments as written, and a parse
    error in any case.
    """
    close = close_before_next(text, begin)
    if close is None:
        return None

    inside = text[begin:close].strip()
    written = _NAME_FIRST.match(inside) or _NAME_LAST.match(inside)
    if written is None:
        return None

    try:
        name = _STRING.decode(written["name"])
    except _NO_JSON:
        return None

    arguments = written["arguments"] or ""
    if written.re is _NAME_FIRST and argument_error(arguments + "}") is None:
        arguments += "}"  # it was the call's own brace that is missing
    why = argument_error(arguments) or "the call around the arguments is not JSON"
    return FoundCalls((ToolCall("", name, arguments, why),), "", (BROKEN,), close + len(CLOSE))
