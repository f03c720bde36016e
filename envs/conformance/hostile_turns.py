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
    name, (properties, required) = function["name"], _parameters(function)
    right = _plausible(function)

    def hostile(argument: str, how: str, value: Any, *, is_error: bool) -> Hostile:
        text = msgspec.json.encode(right | {argument: value}).decode()
        return Hostile(f"{name} with {how}", _calling(name, text), is_error)

    for argument in required:
        left = msgspec.json.encode({key: right[key] for key in right if key != argument}).decode()
        yield Hostile(f"{name} with {argument} missing", _calling(name, left), is_error=True)
    for argument, schema in properties.items():
        for case, wrong in _of_other_types(schema):
            yield hostile(argument, f"{argument} {case}", wrong, is_error=True)
        is_error = schema.get("type") in {"string", "boolean", "array", "object"}
        for case, number in _NUMBERS.items():
            how = f"{argument} a number {case}"
            yield hostile(argument, how, msgspec.Raw(number.encode()), is_error=is_error)
    unknown = "no_such_argument"
    yield hostile(unknown, "an unknown argument", ENORMOUS[:2000], is_error=False)
    texts = NASTY_TEXTS | {"an escaped lone surrogate": msgspec.Raw(b'"\\ud800 and \\u0000"')}
    for argument, schema in properties.items():
        for case, text in texts.items() if schema.get("type") == "string" else ():
            yield hostile(argument, f"{argument} of {case}", text, is_error=False)
    nested = msgspec.Raw(b"[" * 400 + b"]" * 400)
    yield hostile(unknown, "an argument nested 400 deep", nested, is_error=False)


def _of_other_types(schema: dict[str, Any]) -> list[tuple[str, Any]]:
    """Values that no reading makes one of the schema's type, or of its choices."""
    others: list[tuple[str, Any]] = [
        ("an object", {"a": [1]}),
        ("a list", [["a"]]),
        ("null", None),
        ("a text", "abc"),
    ]
    fits = {"object": {"an object"}, "array": {"a list"}, "string": {"a text"}, "null": {"null"}}
    types = schema.get("type", ["object", "array", "string", "null"])
    admissible = set().union(
        *(fits.get(kind, set()) for kind in ([types] if isinstance(types, str) else types))
    )
    wrong = [(case, value) for case, value in others if case not in admissible]
    return [*wrong, ("no such choice", "no_such_choice")] if schema.get("enum") else wrong


def _parameters(function: ToolSchema) -> tuple[dict[str, Any], list[str]]:
    """The properties of a function's arguments, and which are required."""
    parameters = function.get("parameters") or {}
    return dict(parameters.get("properties") or {}), list(parameters.get("required") or [])


def _plausible(function: ToolSchema) -> dict[str, Any]:
    """Required arguments of the right type."""
    properties, required = _parameters(function)
    of_type: dict[str, Any] = {
        "integer": 1,
        "number": 1,
        "boolean": True,
        "array": [],
        "object": {},
    }
    return {
        name: (properties[name].get("enum") or [of_type.get(properties[name].get("type"), "a")])[0]
        for name in required
    }


def _calling(name: str, arguments: str) -> AgentTurn:
    return AgentTurn(tool_calls=(ToolCall.received("call_hostile", name, arguments),))
