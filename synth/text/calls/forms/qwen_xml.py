"""Tool calls as Qwen3-Coder writes them: `<function=NAME><parameter=KEY>VALUE</parameter> ...
</function>`, and Llama 3.1, with one JSON object in the place of the parameters.

Values are bare text, with a newline before and after; the tool's schema says what they are. Nothing
in them can be escaped: what looks like a closing tag is one.
"""

import re
from typing import Any

import msgspec

from synth.schemas import ToolCall, ToolSchemas
from synth.text.calls.argument_types import properties_of, typed
from synth.text.calls.found import EXTRA_DATA, UNCLOSED, FoundCalls, after_space, as_json, json_end

OPEN, CLOSE = "<tool_call>", "</tool_call>"
FUNCTION = "<function="
XML = "tool_call_xml"
UNTAGGED = "tool_call_xml_untagged"
BROKEN = "tool_call_broken_xml"
_NOT_CLOSED = (
    "arguments are not a JSON object: the call's parameters or its function are not closed "
    "where they should be"
)

_NAME = re.compile(r"<function=(?=[^<>\n]*[^<>\s])([^<>\n]+)>")
_PARAMETER = re.compile(r"\s*<parameter=([^<>\n]+)>")
_VALUE_END = re.compile(r"</parameter>|(?=<parameter=)|(?=</function>)")
_END = re.compile(r"\s*</function>|(?=\s*</tool_call>)")
_BEYOND = re.compile(r"</?tool_call>|<function=")
_TAG = re.compile(r"</?(?:function|parameter)\b")


class XMLCall(msgspec.Struct, frozen=True):
    """A call without an id, where it begins and ends, and whether its parameters and its function
    were closed.
    """

    call: ToolCall
    begin: int
    end: int
    closed: bool


def close_before_next(text: str, position: int) -> int | None:
    """Where the tag is closed; None where another one opens before, or nothing closes it."""
    following = text.find(OPEN, position)
    close = text.find(CLOSE, position, following if following >= 0 else len(text))
    return close if close >= 0 else None


def read_xml_call(text: str, begin: int, tools: ToolSchemas) -> XMLCall | None:
    """The call whose `<function=` stands at `begin`; None where it is cut off, or where something
    else stands in its place.

    A parameter that is not closed ends where the next one begins or the function ends, but not
    beyond its tag or the opening of another call. Of two with one name the later counts.
    `</tool_call>` closes a function too.
    """
    opened = _NAME.match(text, begin)
    if opened is None:
        return None
    if text.startswith("{", after_space(text, opened.end())):
        return _with_json(text, opened)

    name, position, closed = opened[1].strip(), opened.end(), True
    properties, arguments = properties_of(tools, name) or {}, dict[str, Any]()

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

    call = ToolCall.received("", name, as_json(arguments))
    return XMLCall(call, begin, ended.end(), closed and bool(ended[0].strip()))


def _with_json(text: str, opened: "re.Match[str]") -> XMLCall | None:
    """The call whose arguments are one JSON object, as Llama 3.1 writes it."""
    begin = after_space(text, opened.end())
    end = json_end(text, begin)
    ended = None if end is None else _END.match(text, end)
    if ended is None:
        return None

    call = ToolCall.received("", opened[1].strip(), text[begin:end])
    return XMLCall(call, opened.start(), ended.end(), bool(ended[0].strip()))


def read_tagged(text: str, begin: int, tools: ToolSchemas) -> FoundCalls | None:
    """The calls of a `<tool_call>` whose first `<function=` stands at `begin`, and what else stood
    in it; None for no call.

    One that is not closed rightly, in a tag that is, becomes a call with a `parse_error`, its
    arguments as written.
    """
    reads: list[XMLCall] = []
    position = begin
    while (read := read_xml_call(text, position, tools)) is not None:
        reads.append(read)
        position = after_space(text, read.end)

    close, broken = close_before_next(text, position), _NAME.match(text, position)
    rest = text[position : close or position].strip()
    if close is not None and broken is None and reads and _TAG.search(rest):
        # what looked like the end of the last call was in one of its values
        position = reads.pop().begin
        broken, rest = _NAME.match(text, position), text[position:close].strip()

    calls = tuple(read.call for read in reads)
    repairs = (XML, UNCLOSED) if any(not read.closed for read in reads) else (XML,)

    if close is None:
        return FoundCalls(calls, "", (*repairs, UNCLOSED), reads[-1].end) if reads else None

    after = close + len(CLOSE)
    if broken is not None:
        as_written = ToolCall("", broken[1].strip(), rest, _NOT_CLOSED)
        return FoundCalls((*calls, as_written), "", (*repairs, BROKEN), after)
    if not calls:
        return None
    return FoundCalls(calls, rest, (*repairs, EXTRA_DATA) if rest else repairs, after)


def read_untagged(text: str, begin: int, tools: ToolSchemas) -> FoundCalls | None:
    """The call that begins with `<function=`, as the model writes them when it forgets the tag: one
    of the tools, and closed throughout.
    """
    read = read_xml_call(text, begin, tools)
    if read is None or not read.closed or properties_of(tools, read.call.name) is None:
        return None
    after = after_space(text, read.end)
    end = after + len(CLOSE) if text.startswith(CLOSE, after) else read.end
    return FoundCalls((read.call,), "", (XML, UNTAGGED), end)


def read_function(text: str, opened: "re.Match[str]", tools: ToolSchemas) -> FoundCalls | None:
    """The same, for a form that is read where it opens."""
    return read_untagged(text, opened.start(), tools)
