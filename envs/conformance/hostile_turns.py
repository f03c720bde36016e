"""Turns as broken or malicious models write them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from synth.schemas.environment import AgentTurn
from synth.schemas.trajectory import ToolCall, ToolSchema

ENORMOUS = "A" * 1_000_000
NASTY_TEXTS = {
    "control characters": "".join(map(chr, range(1, 32))) + "\x7f\x9b31m",
    "NUL": "a\x00b",
    "enormous text": ENORMOUS,
    "quotes and SQL": "'; DROP TABLE orders; -- \"` %s {0} {x} \\",
    "odd unicode": "\u202e\u200d\ufeff\U000e0041 e\u0301 \ud7ff\ue000\uffff",
    "a regex's nightmare": "a" * 5000 + "!" + " " * 5000,
    "an empty text": "",
}

_NUMBERS = {
    "of 400 digits": "1" + "0" * 400,
    "of 9000 digits": "9" * 9000,
    "1e308": "1e308",
    "-0": "-0",
}


@dataclass(frozen=True)
class Hostile:
    """One turn; `is_error` where no reading of it is admissible, so that every call must be
    answered by an error.
    """

    name: str
    turn: AgentTurn
    is_error: bool


def hostile_turns(tools: Sequence[ToolSchema]) -> list[Hostile]:
    """Every hostile turn for a set of tools."""
    names = [tool["function"]["name"] for tool in tools]
    turns = [
        *_without_tools(),
        *_unknown_tools(),
        *(case for name in names for case in _not_json(name)),
    ]
    for tool in tools:
        turns += _wrong_arguments(tool["function"])
    if names:
        many = tuple(ToolCall.received("same", f"{names[0]}_not", "{}") for _ in range(300))
        turns.append(Hostile("300 calls with one id", AgentTurn(tool_calls=many), is_error=True))
    return turns


def _without_tools() -> list[Hostile]:
    """Turns of text, or of nothing."""
    empty = {
        "an empty turn": AgentTurn(),
        "an empty text": AgentTurn(""),
        "a blank text": AgentTurn(" \n\t "),
    }
    odd = {f"text of {name}": AgentTurn(text) for name, text in NASTY_TEXTS.items() if text}
    odd["text with a lone surrogate"] = AgentTurn("a \ud800 b")
    return [Hostile(name, turn, name in empty) for name, turn in (empty | odd).items()]


def _unknown_tools() -> list[Hostile]:
    """Calls of tools that no world has."""
    names = {
        "an unknown tool": "no_such_tool",
        "an empty tool name": "",
        "a tool name with NUL": "a\x00b",
        "an enormous tool name": ENORMOUS,
        "a tool name with a lone surrogate": "t\udfff",
        "a tool name of a method": "__class__",
        "a tool name with a path": "../../etc/passwd",
    }
    return [Hostile(case, _calling(name, "{}"), is_error=True) for case, name in names.items()]


def _not_json(tool: str) -> list[Hostile]:
    """Arguments that are no JSON object."""
    texts = {
        "nothing": "",
        "an open brace": "{",
        "prose": "please call it",
        "a list": "[1, 2]",
        "null": "null",
        "a string": '"{}"',
        "NaN": '{"a": NaN}',
        "python's dict": "{'a': 1}",
        "trailing text": "{} and more",
        "a raw NUL": '{"a": "\x00"}',
        "a lone surrogate": '{"a": "\ud800"}',
        "deep nesting": '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}",
        "an enormous text cut off": '{"a": "' + ENORMOUS,
    }
    return [
        Hostile(f"{tool} with {case} for arguments", _calling(tool, text), is_error=True)
        for case, text in texts.items()
    ]


def _wrong_arguments(function: ToolSchema) -> Iterator[Hostile]:
    """Calls that are right but for one argument: missing, of the wrong type, a number out of all
    range; then texts that are texts, and objects that are objects, yet not what anyone wants.
    """
    name, parameters = function["name"], function.get("parameters") or {}
    properties: dict[str, Any] = parameters.get("properties") or {}
    right = {key: _plausible(properties[key]) for key in parameters.get("required") or ()}

    def hostile(how: str, arguments: dict[str, Any], *, is_error: bool = True) -> Hostile:
        text = msgspec.json.encode(arguments).decode()
        return Hostile(f"{name} with {how}", _calling(name, text), is_error)

    for missing in right:
        yield hostile(f"{missing} missing", {key: right[key] for key in right if key != missing})
    for argument, schema in properties.items():
        for case, wrong in _of_other_types(schema):
            yield hostile(f"{argument} {case}", right | {argument: wrong})
        is_error = schema.get("type") in ("string", "boolean", "array", "object")
        for case, number in _NUMBERS.items():
            made = right | {argument: msgspec.Raw(number.encode())}
            yield hostile(f"{argument} a number {case}", made, is_error=is_error)
    unknown = {"no_such_argument": ENORMOUS[:2000]}
    yield hostile("an unknown argument", right | unknown, is_error=False)
    texts = NASTY_TEXTS | {"an escaped lone surrogate": msgspec.Raw(b'"\\ud800 and \\u0000"')}
    for argument in (key for key in properties if properties[key].get("type") == "string"):
        for case, text in texts.items():
            yield hostile(f"{argument} of {case}", right | {argument: text}, is_error=False)
    nested = {"no_such_argument": msgspec.Raw(b"[" * 400 + b"]" * 400)}
    yield hostile("an argument nested 400 deep", right | nested, is_error=False)


_OTHERS: dict[str, tuple[str, Any]] = {
    "object": ("an object", {"a": [1]}),
    "array": ("a list", [["a"]]),
    "null": ("null", None),
    "string": ("a text", "abc"),
}
_OF_TYPE: dict[str, Any] = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}


def _of_other_types(schema: dict[str, Any]) -> list[tuple[str, Any]]:
    """Values that no reading makes one of the schema's type (or types), or of its choices."""
    types = schema.get("type", _OTHERS)
    wrong = [other for kind, other in _OTHERS.items() if kind not in types]
    return [*wrong, ("no such choice", "no_such_choice")] if schema.get("enum") else wrong


def _plausible(schema: dict[str, Any]) -> Any:
    """A value of the right type."""
    of_type = _OF_TYPE.get(schema["type"], "a") if isinstance(schema.get("type"), str) else "a"
    return (schema.get("enum") or [of_type])[0]


def _calling(name: str, arguments: str) -> AgentTurn:
    return AgentTurn(tool_calls=(ToolCall.received("call_hostile", name, arguments),))
