"""Solutions made wrong: a call dropped, repeated, given another value seen in the episode or
another choice, or the end cut off.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import msgspec

from synth.envs.audit.solutions import Solution, Variant
from synth.envs.transcript import Transcript, edited
from synth.schemas import AgentTurn, Opening, Response, ToolCall

SWAPS_PER_ARGUMENT = 3
KINDS = ("drop", "repeat", "swap", "choice", "cut")
_WORD = re.compile(r"[\w.@-]*\w")
_LETTERS, _DIGITS = re.compile(r"[a-z]+"), re.compile(r"\d+")


def mutants(solution: Solution) -> Iterator[Variant]:
    """All mutants of a solution, from the first turn with an effect to the last."""

    actions, seen = solution.transcript.actions, SeenValues(solution.transcript)
    for turn, action in enumerate(actions):
        if solution.effectful[turn]:
            for place in range(len(action.tool_calls)):
                yield from _of_call(actions, turn, place, seen)
            yield Variant("cut", f"cut off before turn {turn}", actions[:turn])


def _of_call(
    actions: tuple[AgentTurn, ...], turn: int, place: int, seen: "SeenValues"
) -> Iterator[Variant]:
    """One call dropped, repeated, or made with another value."""

    call, where = actions[turn].tool_calls[place], (turn, place)
    at = f"turn {turn}, {call.name}"
    yield Variant("drop", f"{at} left out", edited(actions, {where: None}))
    again = msgspec.structs.replace(call, call_id=f"{call.call_id}_again")
    twice = (*actions[: turn + 1], AgentTurn(tool_calls=(again,)), *actions[turn + 1 :])
    yield Variant("repeat", f"{at} done twice", twice)

    arguments = _arguments(call)
    for kind, name, value in chain(seen.swaps(arguments, turn), seen.choices(call)):
        text = msgspec.json.encode(arguments | {name: value}).decode()
        other = ToolCall.received(call.call_id, call.name, text)
        what = f"{at} with {name} {value!r}"[:200]
        yield Variant(kind, what, edited(actions, {where: other}))


Changed = tuple[str, str, Any]
"""Kind of the mutant, argument, other value."""


class SeenValues:
    """The values that occur in an episode: by the name that they stand under in JSON, and as words
    of a text.
    """

    def __init__(self, transcript: Transcript) -> None:
        told: list[Opening | Response] = [transcript.opening, *transcript.responses]
        self._texts = ["\n".join(seen.content for seen in each.observations) for each in told]
        self._words = list(dict.fromkeys(chain.from_iterable(map(_WORD.findall, self._texts))))
        self._named: dict[str, list[Any]] = {}
        for seen in (seen for each in told for seen in each.observations):
            self._note("", _json(seen.content))

        for call in (call for action in transcript.actions for call in action.tool_calls):
            self._note("", _json(call.arguments))

        # of two tools of a name the first counts
        functions = [tool.get("function", {}) for tool in transcript.opening.tools[::-1]]
        self._functions = {function.get("name"): function for function in functions}

    def swaps(self, arguments: Mapping[str, Any], turn: int) -> Iterator[Changed]:
        """An entity of the arguments swapped for another one of the episode.

        What the agent cannot have read before the turn is no entity, but the agent's own words.
        """
        for name, value in arguments.items():
            read = any(str(value) in text for text in self._texts[: turn + 1])
            if _is_value(value) and value != "" and read:
                yield from (("swap", name, other) for other in self._others(name, value))

    def choices(self, call: ToolCall) -> Iterator[Changed]:
        """Another choice of an enumeration in the tool's schema."""

        function = self._functions.get(call.name, {})
        properties = function.get("parameters", {}).get("properties", {})
        for name, value in _arguments(call).items():
            choices = [one for one in properties.get(name, {}).get("enum", ()) if one != value]
            yield from (("choice", name, other) for other in choices[:SWAPS_PER_ARGUMENT])

    def _others(self, name: str, value: Any) -> list[Any]:
        """Other values of the same name and type; of the same shape (`O-123`, `O-77`) where there
        are too few.
        """

        named = [other for other in self._named.get(name, []) if type(other) is type(value)]
        if isinstance(value, str) and any(map(str.isdigit, value)):
            named += [word for word in self._words if _shape(word) == _shape(value)]
        alike = [other for other in named if other != value]

        return list(dict.fromkeys(alike))[:SWAPS_PER_ARGUMENT]

    def _note(self, name: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                self._note(str(key), inner)
        elif isinstance(value, list):
            for inner in value:
                self._note(name, inner)
        elif _is_value(value):
            self._named.setdefault(name, []).append(value)


def _is_value(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _arguments(call: ToolCall) -> dict[str, Any]:
    found = _json(call.arguments)
    return found if isinstance(found, dict) else {}


def _json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def _shape(word: str) -> str:
    """`O-1234` -> `O-9`, `ab12` -> `a9`."""
    return _DIGITS.sub("9", _LETTERS.sub("a", word))
