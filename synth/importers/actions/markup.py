"""Calls between tags: Hermes' JSON, XML of functions and parameters, Mistral's list.

A tag says by itself that a call stands in it. Where any part of it cannot be read, the text stays
text. What an answer shows in a fence it does not do.
"""

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from synth.importers.records import Object, first_of
from synth.text.calls.found import MARKUP, NO_ARGUMENTS, UNREAD
from synth.text.calls.reading import read_calls

Call = tuple[str, Any]
"""The name of a tool and its arguments: an object, or text that is none."""


class Written(msgspec.Struct, frozen=True):
    """A text taken apart: its calls, and what stands around them."""

    calls: tuple[Call, ...]
    around: str
    kind: str


_JSON_TAG = re.compile(
    r"<(tool_call|function_call|tool_calls|functioncall)>\s*(?P<json>[\[{].*?[\]}])"
    r"\s*(?:</\1>|<\|endoftext\|>|\Z)",
    re.DOTALL,
)
_FUNCTION = re.compile(
    r"(?:<tool_call>\s*)?<function(?:=|\s+name=)[\"']?(?P<name>[\w.:/-]+)[\"']?>(?P<body>.*?)"
    r"(?:</function>|\Z)(?:\s*</tool_call>)?",
    re.DOTALL,
)
_PARAMETER = re.compile(
    r"<parameter(?:=|\s+name=)[\"']?(?P<name>[\w.:/-]+)[\"']?>(?P<value>.*?)</parameter>", re.DOTALL
)
_INVOKE = re.compile(
    r"<invoke\s+name=[\"'](?P<name>[^\"']+)[\"']>(?P<body>.*?)</invoke>", re.DOTALL
)
_NAMED = re.compile(
    r"<(?P<tag>tool_call|function_call|tool_use|tool)>\s*<(?P<key>name|tool_name)>"
    r"(?P<name>[^<]+)</(?P=key)>\s*<(?P<held>arguments|parameters|args|input)>(?P<body>.*?)"
    r"</(?P=held)>\s*</(?P=tag)>",
    re.DOTALL,
)
_ENDS = {_PARAMETER: "</parameter>", _INVOKE: "</invoke>"}
_TAGS = re.compile(r"<(?P<ends>/?)(?P<name>tool_call|function_call|tool_calls|tool_use|tool)>")
_UNCLOSED = 64
"""Tags without an end among which nothing is looked for."""
QUOTED = "quoted"
"""How calls are written that are shown, or may be."""
_WRAPPER = re.compile(r"</?(?:antml:)?function_calls>")
_THINKS = re.compile(r"\b(?:Thoughts?|Think)[ \t]*\d*[ \t]*:", re.IGNORECASE)
_MISTRAL = re.compile(r"\[TOOL_CALLS\]\s*(?P<json>\[.*\])\s*\Z", re.DOTALL)


def in_tags(text: str) -> Written | None:
    """The calls between tags, in their order; None where the text holds none that can be read."""
    if "<" not in text and "[TOOL_CALLS]" not in text:
        return None

    for kind, pattern, read in (
        ("hermes", _JSON_TAG, _json),
        ("xml", _FUNCTION, _function),
        ("xml", _INVOKE, _function),
        ("xml", _NAMED, _named),
        ("mistral", _MISTRAL, _json),
    ):
        found = list(_found(pattern, text))
        try:
            calls = [call for match in found for call in read(match)]
        except (ValueError, RecursionError):
            continue
        if calls:
            around = _WRAPPER.sub("", outside(text, found)).strip()
            kind = QUOTED if _is_quoted(text, found[0].start(), found[-1].end()) else kind
            return Written(tuple(calls), around, kind)

    return _marked(text)


def _found(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """The matches of a pattern, in time linear in the text: none is looked for behind the last end
    that there is, and none at all among many beginnings without an end.
    """
    if pattern in _ENDS:
        end = _ENDS[pattern]
        return pattern.finditer(text, 0, text.rfind(end) + len(end) if end in text else 0)
    if pattern is _MISTRAL and not text.rstrip().endswith("]"):
        return iter(())
    if pattern in (_JSON_TAG, _NAMED):
        left = Counter[str]()
        for tag in _TAGS.finditer(text):
            left[tag["name"]] += -1 if tag["ends"] else 1
        if any(count > _UNCLOSED for count in left.values()):
            return iter(())
    return pattern.finditer(text)


def outside(text: str, found: Sequence[re.Match[str]]) -> str:
    """What stands around matches, which come in their order."""
    ends = [0, *(one.end() for one in found)]
    begins = [*(one.start() for one in found), len(text)]
    return "".join(text[end:begin] for end, begin in zip(ends, begins, strict=True))


def _is_quoted(text: str, start: int, end: int) -> bool:
    """Whether calls stand in a fence or in a line of code with words around it: people are shown
    such too.
    """
    before, behind = text[:start], text[end:]
    in_fence = before.count("```") % 2 == 1 and "```" in behind
    fenced = before.rpartition("```")[0] + behind.partition("```")[2] if in_fence else ""
    return bool(fenced.strip()) or (before.endswith("`") and behind.startswith("`"))


def is_of_document(before: str) -> bool:
    """Whether the line behind such a text stands in a fence that shows something: a policy, say."""
    shown, fence, inside = before.rpartition("```")
    is_open = before.count("```") % 2 == 1
    return bool(fence) and is_open and bool(shown.strip()) and not _THINKS.search(inside)


def _marked(text: str) -> Written | None:
    """Calls that a family of models marks with its own tokens, where all that is marked is read."""
    read = read_calls(text, marked_only=True)
    if not read.calls or {UNREAD, MARKUP, NO_ARGUMENTS} & {*read.repairs}:
        return None
    calls = tuple((call.name, call.arguments) for call in read.calls)
    return Written(calls, read.text, "marked")


def named_call(value: Any) -> Call:
    """The call in a JSON value. Raises `ValueError` where it names no tool, or holds what may be
    arguments under keys that nobody knows.
    """
    if isinstance(value, dict):
        if isinstance(value.get("function"), dict):
            return named_call(value["function"])
        named = next((key for key in _NAMES if isinstance(value.get(key), str)), None)
        if named is not None and value[named]:
            return value[named], _given(value, named)
        held = first_of(value, _HOLDERS, dict)
        if held is not None:
            return named_call(held)

    raise ValueError("no call: it names no tool")


_NAMES = (
    *("name", "tool_name", "tool", "function", "action", "api_name", "function_name"),
    "action_type",
)
_FLAT = ("tool", "action", "action_type")
"""Names beside which the arguments may stand one by one."""
_HOLDERS = ("tool_call", "function_call", "tool", "action", "command")
"""Keys under which an object may hold the whole call."""
_GIVEN = ("arguments", "args", "action_input", "parameters", "input", "params", "kwargs")
_ONE = ("action_input", "input")
"""Keys of arguments that may be one value: the tools of such agents take one."""
BESIDE = ("thought", "thoughts", "reasoning", "analysis")
"""Keys of what the agent says beside its call."""
_ABOUT = frozenset((*BESIDE, "id", "type", "call_id", "tool_call_id", "description", "index"))
"""Keys that are no arguments of a call that has a name."""


def _given(value: Object, named: str) -> Any:
    """The arguments; one value alone is called `input`, as that of `name[argument]` is."""
    key = next((key for key in _GIVEN if key in value), None)
    rest = {name: one for name, one in value.items() if name not in (named, *BESIDE)}
    if key is None and named in _FLAT:
        return rest
    if key is None:
        if rest.keys() - _ABOUT:
            raise ValueError(f"no arguments, but {sorted(rest.keys() - _ABOUT)[0]!r}")
        return {}

    given = value[key]
    if key not in _ONE or isinstance(given, dict):
        return given
    if named in _FLAT and len(rest) > 1:
        return rest
    try:
        read = json.loads(given) if isinstance(given, str) else None
    except (ValueError, RecursionError):
        read = None
    return given if isinstance(read, dict) else {"input": given}


def _json(match: re.Match[str]) -> Iterator[Call]:
    value = json_or_python(match["json"])
    for one in value if isinstance(value, list) else [value]:
        yield named_call(one)


def json_or_python(text: str) -> Any:
    """A value in JSON, or as Python prints it: so some published sets write their calls. Raises
    `ValueError`.
    """
    try:
        return json.loads(text)
    except ValueError:
        try:
            # sets, bytes, infinity and the like are no arguments of a call
            return json.loads(json.dumps(ast.literal_eval(text), allow_nan=False))
        except (SyntaxError, TypeError, MemoryError, RecursionError) as error:
            raise ValueError("neither JSON nor a value of Python") from error


def _named(match: re.Match[str]) -> Iterator[Call]:
    """A call with its name and its arguments, as JSON, in elements of their own."""
    value = json.loads(match["body"].strip() or "{}")
    if not isinstance(value, dict):
        raise ValueError("arguments are no object")
    yield match["name"].strip(), value


def _function(match: re.Match[str]) -> Iterator[Call]:
    """A function with its parameters, or with JSON in their place."""
    body = match["body"]
    found = [(one["name"], lines_of(one["value"])) for one in _found(_PARAMETER, body)]
    rest = "" if found else body.strip()
    if rest:
        value = json.loads(rest)
        if not isinstance(value, dict):
            raise ValueError("arguments are no object")
        yield match["name"], value
    else:
        yield match["name"], dict(found)


def lines_of(text: str) -> str:
    """A parameter as it was written, without the line breaks that the tags stand on."""
    return text.removeprefix("\n").removesuffix("\n")
