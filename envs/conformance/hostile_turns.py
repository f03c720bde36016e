"""Turns as broken or malicious models write them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from synth.envs.data_file import data_file
from synth.schemas import AgentTurn, ToolCall, ToolSchema

ENORMOUS = "A" * 1_000_000
_TABLES: Mapping[str, Mapping[str, Any]] = data_file("conformance/hostile")
NASTY_TEXTS: Mapping[str, str] = {
    **_TABLES["texts"],
    "enormous text": ENORMOUS,
    "a regex's nightmare": "a" * 5000 + "!" + " " * 5000,
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

    turns = [*_without_tools(), *_unknown_tools()]
    for tool in tools:
        turns += _not_json(tool["function"]["name"])
    for tool in tools:
        turns += _wrong_arguments(tool["function"])
    if tools:
        unknown = f"{tools[0]['function']['name']}_not"
        many = tuple(ToolCall.received("same", unknown, "{}") for _ in range(300))
        turns.append(Hostile("300 calls with one id", AgentTurn(tool_calls=many), is_error=True))

    return turns


def _without_tools() -> Iterator[Hostile]:
    """Turns of text, or of nothing."""

    yield Hostile("an empty turn", AgentTurn(), is_error=True)
    yield Hostile("an empty text", AgentTurn(""), is_error=True)
    yield Hostile("a blank text", AgentTurn(" \n\t "), is_error=True)
    for name, text in NASTY_TEXTS.items():
        if text:
            yield Hostile(f"text of {name}", AgentTurn(text), is_error=False)

    yield Hostile("text with a lone surrogate", AgentTurn("a \ud800 b"), is_error=False)


def _unknown_tools() -> Iterator[Hostile]:
    """Calls of tools that no environment has."""
    enormous = {"an enormous tool name": ENORMOUS, "a tool name with a lone surrogate": "t\udfff"}
    for case, name in {**_TABLES["unknown_tools"], **enormous}.items():
        yield _calling(case, name, "{}")


def _not_json(tool: str) -> Iterator[Hostile]:
    """Arguments that are no JSON object."""

    texts = {
        **_TABLES["not_json"],
        "a lone surrogate": '{"a": "\ud800"}',
        "deep nesting": '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}",
        "an enormous text cut off": '{"a": "' + ENORMOUS,
    }
    for case, text in texts.items():
        yield _calling(f"{tool} with {case} for arguments", tool, text)


Changed = tuple[str, dict[str, Any], bool]
"""What is wrong with a call, its other arguments, and whether no reading of them is admissible."""


def _wrong_arguments(function: ToolSchema) -> Iterator[Hostile]:
    """Calls that are right but for one argument: missing, of the wrong type, a number out of all
    range; then texts that are texts, and objects that are objects, yet not what anyone wants.
    """

    name, parameters = function["name"], function.get("parameters") or {}
    properties: dict[str, Any] = parameters.get("properties") or {}
    right = {key: _plausible(properties[key]) for key in parameters.get("required") or ()}

    for missing in right:
        left = msgspec.json.encode({key: right[key] for key in right if key != missing}).decode()
        yield _calling(f"{name} with {missing} missing", name, left)

    for how, other, is_error in (*_of_wrong_types(properties), *_unwanted(properties)):
        text = msgspec.json.encode(right | other).decode()
        yield _calling(f"{name} with {how}", name, text, is_error=is_error)


def _of_wrong_types(properties: Mapping[str, Any]) -> Iterator[Changed]:
    """An argument of another type than its own, or a number out of all range."""
    for argument, schema in properties.items():
        for case, wrong in _of_other_types(schema):
            yield f"{argument} {case}", {argument: wrong}, True
        # elsewhere a number may be just what the argument takes
        is_error = schema.get("type") in ("string", "boolean", "array", "object")
        for case, number in _NUMBERS.items():
            raw = msgspec.Raw(number.encode())
            yield f"{argument} a number {case}", {argument: raw}, is_error


def _unwanted(properties: Mapping[str, Any]) -> Iterator[Changed]:
    """Arguments that a reading may admit, and that nobody wants."""
    yield "an unknown argument", {"no_such_argument": ENORMOUS[:2000]}, False
    texts = {**NASTY_TEXTS, "an escaped lone surrogate": msgspec.Raw(b'"\\ud800 and \\u0000"')}
    for argument in (key for key in properties if properties[key].get("type") == "string"):
        for case, text in texts.items():
            yield f"{argument} of {case}", {argument: text}, False

    nested = {"no_such_argument": msgspec.Raw(b"[" * 400 + b"]" * 400)}
    yield "an argument nested 400 deep", nested, False


def _of_other_types(schema: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Values that no reading makes one of the schema's type (or types), or of its choices."""
    values = _TABLES["values"]
    types = schema.get("type", values)
    wrong = [(case, value) for kind, (case, value) in values.items() if kind not in types]
    return [*wrong, ("no such choice", "no_such_choice")] if schema.get("enum") else wrong


def _plausible(schema: Mapping[str, Any]) -> Any:
    """A value of the right type."""
    kind = schema.get("type")
    of_type = _TABLES["plausible"].get(kind, "a") if isinstance(kind, str) else "a"
    return (schema.get("enum") or [of_type])[0]


def _calling(
    case: str,
    name: str,
    arguments: str,
    *,
    is_error: bool = True,
) -> Hostile:
    call = ToolCall.received("call_hostile", name, arguments)
    return Hostile(case, AgentTurn(tool_calls=(call,)), is_error)
