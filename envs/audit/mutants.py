"""Solutions made wrong: a call dropped, repeated, given another value seen in the episode or
another choice, or the end cut off.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import msgspec

from synth.envs.audit.solutions import Solution
from synth.envs.transcript import edited
from synth.schemas.environment import AgentTurn, Opening, Response
from synth.schemas.trajectory import ToolCall, ToolSchema

SWAPS_PER_ARGUMENT = 3
KINDS = ("drop", "repeat", "swap", "choice", "cut")
_WORD = re.compile(r"[\w.@-]*\w")
_LETTERS, _DIGITS = re.compile(r"[a-z]+"), re.compile(r"\d+")


@dataclass(frozen=True)
class Mutant:
    """A solution with one thing wrong."""

    kind: str
    what: str
    actions: tuple[AgentTurn, ...]


def mutants(solution: Solution) -> Iterator[Mutant]:
    """All mutants of a solution, from the first turn with an effect to the last."""
    actions, seen = solution.transcript.actions, SeenValues(solution)
    for turn, action in enumerate(actions):
        if not solution.effectful[turn]:
            continue
        for place, call in enumerate(action.tool_calls):
            at, where = f"turn {turn}, {call.name}", (turn, place)
            yield Mutant("drop", f"{at} left out", edited(actions, {where: None}))
            again = msgspec.structs.replace(call, call_id=f"{call.call_id}_again")
            twice = (*actions[: turn + 1], AgentTurn(tool_calls=(again,)), *actions[turn + 1 :])
            yield Mutant("repeat", f"{at} done twice", twice)
            others = _swaps(call, seen, turn), _choices(call, solution.transcript.opening.tools)
            for kind, name, value in chain(*others):
                made = msgspec.json.encode(_arguments(call) | {name: value}).decode()
                other = ToolCall.received(call.call_id, call.name, made)
                what = f"{at} with {name} {value!r}"[:200]
                yield Mutant(kind, what, edited(actions, {where: other}))
        yield Mutant("cut", f"cut off before turn {turn}", actions[:turn])


class SeenValues:
    """The values that occur in an episode: by the name that they stand under in JSON, and as words
    of a text.
    """

    def __init__(self, solution: Solution) -> None:
        transcript = solution.transcript
        told: list[Opening | Response] = [transcript.opening, *transcript.responses]
        self._texts = ["\n".join(seen.content for seen in each.observations) for each in told]
        self._words = list(
            dict.fromkeys(word for text in self._texts for word in _WORD.findall(text))
        )
        self._named: dict[str, list[Any]] = {}
        for seen in (seen for each in told for seen in each.observations):
            self._note("", _json(seen.content))
        for call in (call for action in transcript.actions for call in action.tool_calls):
            self._note("", _json(call.arguments))

    def before(self, value: Any, turn: int) -> bool:
        """Whether the agent could have read a value before a turn: then it is an entity, and not
        the agent's own words.
        """
        return any(str(value) in text for text in self._texts[: turn + 1])

    def others(self, name: str, value: Any) -> list[Any]:
        """Other values of the same name and type; of the same shape (`O-123`, `O-77`) where there
        are too few.
        """
        alike = [
            other
            for other in self._named.get(name, [])
            if type(other) is type(value) and other != value
        ]
        if isinstance(value, str) and any(map(str.isdigit, value)):
            alike += [
                word for word in self._words if word != value and _shape(word) == _shape(value)
            ]
        return list(dict.fromkeys(alike))[:SWAPS_PER_ARGUMENT]

    def _note(self, name: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                self._note(str(key), inner)
        elif isinstance(value, list):
            for inner in value:
                self._note(name, inner)
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            self._named.setdefault(name, []).append(value)


Changed = tuple[str, str, Any]
"""Kind of the mutant, argument, other value."""


def _arguments(call: ToolCall) -> dict[str, Any]:
    found = _json(call.arguments)
    return found if isinstance(found, dict) else {}


def _swaps(call: ToolCall, seen: SeenValues, turn: int) -> Iterator[Changed]:
    """An entity of the arguments swapped for another one of the episode."""
    for name, value in _arguments(call).items():
        is_value = isinstance(value, str | int | float) and not isinstance(value, bool)
        if is_value and value != "" and seen.before(value, turn):
            yield from (("swap", name, other) for other in seen.others(name, value))


def _choices(call: ToolCall, tools: Sequence[ToolSchema]) -> Iterator[Changed]:
    """Another choice of an enumeration in the tool's schema."""
    functions = {f.get("name"): f for f in (tool.get("function", {}) for tool in tools[::-1])}
    properties = functions.get(call.name, {}).get("parameters", {}).get("properties", {})
    for name, value in _arguments(call).items():
        choices = [choice for choice in properties.get(name, {}).get("enum", ()) if choice != value]
        yield from (("choice", name, other) for other in choices[:SWAPS_PER_ARGUMENT])


def _json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def _shape(word: str) -> str:
    """`O-1234` -> `O-9`, `ab12` -> `a9`."""
    return _DIGITS.sub("9", _LETTERS.sub("a", word))
