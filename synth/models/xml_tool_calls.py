"""Tool calls as Qwen3-Coder writes them: `<function=NAME><parameter=KEY>VALUE</parameter> ...
</function>`.

Values are bare text, with a newline before and after; the tool's schema says what they are. Nothing
in them can be escaped: what looks like a closing tag is one.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from synth.models.argument_types import properties_of, typed
from synth.schemas.canonical import valid_text
from synth.schemas.trajectory import ToolCall, ToolSchema

OPEN, CLOSE = "<tool_call>", "</tool_call>"
UNCLOSED = "tool_call_unclosed"
EXTRA_DATA = "tool_call_extra_data"

FUNCTION = "<function="
XML = "tool_call_xml"
UNTAGGED = "tool_call_xml_untagged"
BROKEN = "tool_call_broken_xml"
_NOT_CLOSED = (
    "arguments are not a JSON object: the call's parameters or its function are not closed "
    "where they should be"
)

_SPACE = re.compile(r"\s*")
_NAME = re.compile(r"<function=([^<>\n]+)>")
_PARAMETER = re.compile(r"\s*<parameter=([^<>\n]+)>")
_VALUE_END = re.compile(r"</parameter>|(?=<parameter=)|(?=</function>)")
_END = re.compile(r"\s*</function>|(?=\s*</tool_call>)")
_BEYOND = re.compile(r"</?tool_call>|<function=")
_TAG = re.compile(r"</?(?:function|parameter)\b")


def after_space(text: str, position: int) -> int:
    """Where the text goes on after white space."""
    space = _SPACE.match(text, position)
    return position if space is None else space.end()


def close_before_next(text: str, position: int) -> int | None:
    """Where the tag is closed; None where another one opens before, or nothing closes it."""
    following = text.find(OPEN, position)
    close = text.find(CLOSE, position, following if following >= 0 else len(text))
    return close if close >= 0 else None


class XMLCall(msgspec.Struct, frozen=True):
    """A call without an id, where it begins and ends, and whether its parameters and its function
    were closed.
    """

    call: ToolCall
    begin: int
    end: int
    closed: bool


def name_at(text: str, begin: int) -> str | None:
    """The name of the function that opens there."""
    opened = _NAME.match(text, begin)
    return opened[1].strip() or None if opened else None


def read_xml_call(text: str, begin: int, tools: Sequence[ToolSchema]) -> XMLCall | None:
    """The call whose `<function=` stands at `begin`; None where it is cut off, or where something
    else stands in its place.

    A parameter that is not closed ends where the next one begins or the function ends, but not
    beyond its tag or the opening of another call. Of two with one name the later counts.
    `</tool_call>` closes a function too.
    """
    name, opened = name_at(text, begin), _NAME.match(text, begin)
    if name is None or opened is None:
        return None
    properties, arguments = properties_of(tools, name) or {}, dict[str, Any]()
    position, closed = opened.end(), True
    while (parameter := _PARAMETER.match(text, position)) is not None:
        end = _VALUE_END.search(text, parameter.end())
        if end is None:
            return None
        value = text[parameter.end() : end.start()]
        if not end[0]:
            if _BEYOND.search(value):
                return None
            closed = False
        key = parameter[1].strip()
        arguments[key] = typed(value.removeprefix("\n").removesuffix("\n"), properties.get(key))
        position = end.end()
    ended = _END.match(text, position)
    if ended is None:
        return None
    call = ToolCall.received("", name, valid_text(json.dumps(arguments, ensure_ascii=False)))
    return XMLCall(call, begin, ended.end(), closed and bool(ended[0].strip()))


def read_tagged(
    text: str, begin: int, repairs: list[str], tools: Sequence[ToolSchema]
) -> tuple[tuple[ToolCall, ...], str, int] | None:
    """The calls of a `<tool_call>` whose first `<function=` stands at `begin`, what else stood in
    it, and where the text goes on.

    None for no call. One that is not closed rightly, in a tag that is, becomes a call with a
    `parse_error`, its arguments as written.
    """
    reads: list[XMLCall] = []
    position = begin
    while (
        text.startswith(FUNCTION, position)
        and (read := read_xml_call(text, position, tools)) is not None
    ):
        reads.append(read)
        position = after_space(text, read.end)
    close = close_before_next(text, position)
    if close is None:
        repairs.extend((*_mended(reads), UNCLOSED) if reads else ())
        return (_calls(reads), "", reads[-1].end) if reads else None
    rest, after, name = text[position:close].strip(), close + len(CLOSE), name_at(text, position)
    if (
        name is None and reads and _TAG.search(rest)
    ):  # what looked like the end of the last call was in one of its values
        misread = reads.pop()
        name, position = misread.call.name, misread.begin
    if name is not None:
        repairs.extend((*_mended(reads), BROKEN))
        return (
            (*_calls(reads), ToolCall("", name, text[position:close].strip(), _NOT_CLOSED)),
            "",
            after,
        )
    if not reads:
        return None
    repairs.extend((*_mended(reads), EXTRA_DATA) if rest else _mended(reads))
    return _calls(reads), rest, after


def _calls(reads: Sequence[XMLCall]) -> tuple[ToolCall, ...]:
    return tuple(read.call for read in reads)


def _mended(reads: Sequence[XMLCall]) -> tuple[str, ...]:
    return (XML,) if all(read.closed for read in reads) else (XML, UNCLOSED)


def read_untagged(
    text: str, begin: int, repairs: list[str], tools: Sequence[ToolSchema]
) -> tuple[tuple[ToolCall, ...], str, int] | None:
    """The call that begins with `<function=`, as the model writes them when it forgets the tag: one
    of the tools, and closed throughout.
    """
    name = name_at(text, begin)
    if name is None or properties_of(tools, name) is None:
        return None
    read = read_xml_call(text, begin, tools)
    if read is None or not read.closed:
        return None
    repairs.extend((XML, UNTAGGED))
    after = after_space(text, read.end)
    return (read.call,), "", after + len(CLOSE) if text.startswith(CLOSE, after) else read.end
