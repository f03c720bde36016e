"""An episode as everything reads it: turns with what was answered, without what the world could not
read; and the log of its events: what was called, told and agreed to, said and heard, in order.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from synth.envs.storefront.customer.customer import GOODBYE, OUT_OF_PATIENCE
from synth.envs.storefront.tools.schemas import FACTS, MAX_TEXT, TALKS
from synth.schemas import (
    AgentTurn,
    Observation,
    Scalar,
    Source,
    ToolCall,
    Turn,
    canonical_json,
    valid_text,
)

MAX_CALLS = 32
LONGEST_NAME = 64
REFUSED = re.compile(r"denied: (R\d+):")
"""How a tool's refusal by a rule begins."""
_OBJECT = msgspec.json.Decoder(dict[str, Any])
Kind = Literal["call", "failed", "told", "customer_agreed", "customer_refused", "said", "heard"]
_AGREEMENT: tuple[Kind, ...] = ("customer_agreed", "customer_refused")


class Exchange(msgspec.Struct, frozen=True, omit_defaults=True):
    """One turn of the agent and the world's answers to it."""

    turn: AgentTurn
    observations: tuple[Observation, ...]

    def of(self, source: Source) -> list[Observation]:
        """The observations from one source: tools, or the customer."""
        return [seen for seen in self.observations if seen.source is source]

    def answered(self) -> Iterable[tuple[ToolCall, Observation]]:
        """The calls, each with its observation, in order."""
        return zip(self.turn.tool_calls, self.of(Source.TOOL), strict=False)

    @property
    def is_last(self) -> bool:
        """Whether the conversation is over after this exchange."""
        finished = any(call.name == "finish" and not seen.error for call, seen in self.answered())
        said = {seen.content for seen in self.of(Source.USER)}

        return finished or not said.isdisjoint({GOODBYE, OUT_OF_PATIENCE})


@dataclass(frozen=True, slots=True)
class Event:
    """`call`: a call that succeeded, with its result; `failed`: one that did not, with the error in
    `text`; `told`: one fact, in `tool`, with its value in `told`, about what `text` names;
    `customer_agreed` and `customer_refused`: the answer to a call of `confirm_with_customer`,
    `text` is `act` of the write; `said` and `heard`: words to the customer, and the customer's.

    `place` is where a call stands in its turn.
    """

    turn: int
    kind: Kind
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    result: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    told: Scalar = None
    place: int = -1

    @property
    def order_id(self) -> str | None:
        """The order that a call names."""
        return self.arguments.get("order_id")

    @property
    def refused_by(self) -> str | None:
        """The rule by which a tool refused a call that failed."""
        rule = REFUSED.match(self.text) if self.kind == "failed" else None

        return None if rule is None else rule[1]


def cents_of(events: Iterable[Event]) -> list[int]:
    """The amounts that events paid or quoted, in cents."""
    amounts = (event.arguments.get("amount", event.result.get("refund")) for event in events)

    return [round(amount * 100) for amount in amounts if isinstance(amount, int | float)]


def legible(turn: AgentTurn) -> AgentTurn:
    """The turn as the world takes it: no thought, no text beyond 20,000 characters, no lone
    surrogates.
    """

    def text(given: str) -> str:
        """A text as the world can hold it; nothing of one that is too long."""
        return valid_text(given) if len(given) <= MAX_TEXT else ""

    calls = tuple(
        ToolCall(
            valid_text(call.call_id),
            valid_text(call.name[:LONGEST_NAME]),
            text(call.arguments),
            call.parse_error,
        )
        for call in turn.tool_calls[:MAX_CALLS]
    )

    return AgentTurn(text(turn.content or "") or None, calls)


def decoded(text: str) -> dict[str, Any] | None:
    """Arguments or a tool's answer as an object, or None where they are no JSON object."""
    try:
        return _OBJECT.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def leaves(value: Any) -> list[Any]:
    """All texts, numbers and other scalars inside of a tool's arguments or answer, in order."""
    found: list[Any] = []
    _collect(value, found.append)
    return found


def _collect(value: Any, add: Callable[[Any], None]) -> None:
    """Adds the scalars; a check looks at each value of an episode, so the common types come
    first.
    """
    if value is None or isinstance(value, str | int | float):
        add(value)
    elif isinstance(value, dict | Mapping):
        for inner in value.values():
            _collect(inner, add)
    elif isinstance(value, list | tuple):
        for inner in value:
            _collect(inner, add)
    else:
        add(value)


def exchanged(turns: Iterable[Turn]) -> list[Exchange]:
    """Stored turns as exchanges in the customer's scripted words, up to the end of the
    conversation.
    """
    return until_end(
        (AgentTurn(turn.content, turn.tool_calls), [seen.as_given() for seen in turn.observations])
        for turn in turns
    )


def until_end(turns: Iterable[tuple[AgentTurn, Iterable[Observation]]]) -> list[Exchange]:
    """Turns, each with what was answered to it, up to and with the one that ends the
    conversation.
    """
    kept: list[Exchange] = []

    for turn, observations in turns:
        kept.append(Exchange(legible(turn), tuple(observations)))

        if kept[-1].is_last:
            break

    return kept


def event_log(exchanges: Sequence[Exchange]) -> list[Event]:
    """All events of a conversation. A turn's calls come before what the customer answers, for the
    agent saw the answer after them.
    """
    return [event for turn, exchange in enumerate(exchanges) for event in _events(turn, exchange)]


def _events(turn: int, exchange: Exchange) -> Iterator[Event]:
    """The events of one turn."""
    content = exchange.turn.content

    if content and content.strip():
        yield Event(turn, "said", text=content)

    # a turn's calls stand in the order in which they were made
    for place, (call, seen) in enumerate(exchange.answered()):
        yield from _of_call(turn, place, call, seen)

    yield from (Event(turn, "heard", text=seen.content) for seen in exchange.of(Source.USER))


def _of_call(turn: int, place: int, call: ToolCall, seen: Observation) -> Iterator[Event]:
    """The events of one call: that it was made or failed, what it said, told and agreed to."""
    name = call.name
    made = decoded(call.arguments) or {}

    if seen.error:
        yield Event(turn, "failed", name, made, text=seen.content, place=place)
        return

    result = decoded(seen.content) or {}
    yield Event(turn, "call", name, made, result, place=place)
    facts = [fact for fact in FACTS if name == "tell_customer" and fact in made]

    if name in TALKS:
        words = [str(made[part]) for part in ("about", *facts, "message") if part in made]
        yield Event(turn, "said", name, made, text=" ".join(words))

    for fact in facts:
        told = _value(fact, made[fact])
        yield Event(turn, "told", fact, text=str(made.get("about")), told=told)

    if name == "confirm_with_customer" and result.get("event") in _AGREEMENT:
        write = act(str(made.get("write")), made.get("arguments"))
        yield Event(turn, result["event"], name, made, result, write)


def _value(fact: str, value: Any) -> Scalar:
    """A told value as a check holds it: amounts in cents."""
    if FACTS[fact][0] != "money":
        return str(value)

    return round(value * 100) if isinstance(value, int | float) else None


def act(tool: str, arguments: object) -> str:
    """One text for a write, whatever the order of its arguments and lines, and whether an amount is
    written 12 or 12.0.
    """
    return f"{tool} {canonical_json(_plain(arguments)).decode()}"


def _plain(value: Any) -> Any:
    """Arguments in a form in which equal writes are equal texts."""
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return sorted(map(str, value))

    return float(value) if isinstance(value, int) else value
