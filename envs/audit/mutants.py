"""Solutions made wrong: a call dropped, repeated, given another value seen in the episode or
another choice, or the end cut off.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from synth.envs.audit.solutions import Solution
from synth.schemas.environment import AgentTurn
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
    actions = solution.transcript.actions
    seen = Seen(solution)
    for turn, effectful in enumerate(solution.effectful):
        if not effectful:
            continue
        action = actions[turn]
        for place, call in enumerate(action.tool_calls):
            at = f"turn {turn}, {call.name}"
            others = (*action.tool_calls[:place], *action.tool_calls[place + 1 :])
            left = (
                (msgspec.structs.replace(action, tool_calls=others),)
                if others or action.content
                else ()
            )
            yield Mutant("drop", f"{at} left out", (*actions[:turn], *left, *actions[turn + 1 :]))
            again = AgentTurn(
                tool_calls=(msgspec.structs.replace(call, call_id=f"{call.call_id}_again"),)
            )
            yield Mutant(
                "repeat", f"{at} done twice", (*actions[: turn + 1], again, *actions[turn + 1 :])
            )
            for kind, argument, value, changed in [
                *_swaps(call, seen, turn),
                *_choices(call, solution.transcript.opening.tools),
            ]:
                calls = (*action.tool_calls[:place], changed, *action.tool_calls[place + 1 :])
                other = msgspec.structs.replace(action, tool_calls=calls)
                yield Mutant(
                    kind,
                    f"{at} with {argument} {value!r}"[:200],
                    (*actions[:turn], other, *actions[turn + 1 :]),
                )
        yield Mutant("cut", f"cut off before turn {turn}", actions[:turn])


class Seen:
    """The values that occur in an episode: by the name that they stand under in JSON, and as words
    of a text.
    """

    def __init__(self, solution: Solution) -> None:
        transcript = solution.transcript
        answers = (
            transcript.opening.observations,
            *(response.observations for response in transcript.responses),
        )
        texts = [
            "\n".join(observation.content for observation in observations)
            for observations in answers
        ]
        self._texts = texts
        self._words = list(dict.fromkeys(word for text in texts for word in _WORD.findall(text)))
        self._named: dict[str, list[Any]] = {}
        for observations in answers:
            for observation in observations:
                self._note("", _json(observation.content))
        for action in transcript.actions:
            for call in action.tool_calls:
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


Changed = tuple[str, str, Any, ToolCall]


def _swaps(call: ToolCall, seen: Seen, turn: int) -> Iterator[Changed]:
    """The call with an entity of its arguments swapped for another one of the episode."""
    arguments = _json(call.arguments)
    for name, value in arguments.items() if isinstance(arguments, dict) else ():
        if (
            isinstance(value, str | int | float)
            and not isinstance(value, bool)
            and value != ""
            and seen.before(value, turn)
        ):
            for other in seen.others(name, value):
                yield "swap", name, other, _with(call, arguments | {name: other})


def _choices(call: ToolCall, tools: Sequence[ToolSchema]) -> Iterator[Changed]:
    """The call with another choice of an enumeration in the tool's schema."""
    arguments = _json(call.arguments)
    functions = [tool.get("function", {}) for tool in tools]
    properties: dict[str, Any] = next(
        (
            f.get("parameters", {}).get("properties", {})
            for f in functions
            if f.get("name") == call.name
        ),
        {},
    )
    for name, value in arguments.items() if isinstance(arguments, dict) else ():
        choices = [choice for choice in properties.get(name, {}).get("enum", ()) if choice != value]
        for other in choices[:SWAPS_PER_ARGUMENT]:
            yield "choice", name, other, _with(call, arguments | {name: other})


def _with(call: ToolCall, arguments: dict[str, Any]) -> ToolCall:
    return ToolCall.received(call.call_id, call.name, msgspec.json.encode(arguments).decode())


def _json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def _shape(word: str) -> str:
    """`O-1234` -> `O-9`, `ab12` -> `a9`."""
    return _DIGITS.sub("9", _LETTERS.sub("a", word))
