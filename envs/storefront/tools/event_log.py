"""An episode as the log of events that everything reads: what was called, told and agreed to, said
and heard, in order.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from synth.envs.storefront.tools.schemas import FACTS, TALKS
from synth.envs.storefront.tools.transcript import Exchange, decoded
from synth.schemas.canonical import canonical_json
from synth.schemas.check import Scalar
from synth.schemas.trajectory import Source

Kind = Literal[
    "call",
    "failed",
    "told",
    "customer_agreed",
    "customer_refused",
    "said",
    "heard",
]
REFUSED = re.compile(r"denied: (R\d+):")
"""How a tool's refusal by a rule begins."""
_AGREEMENT: tuple[Kind, ...] = ("customer_agreed", "customer_refused")


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
        name = call.name
        made = decoded(call.arguments) or {}

        if seen.error:
            yield Event(
                turn,
                "failed",
                name,
                made,
                text=seen.content,
                place=place,
            )
            continue

        result = decoded(seen.content) or {}
        yield Event(turn, "call", name, made, result, place=place)
        facts = [fact for fact in FACTS if name == "tell_customer" and fact in made]

        if name in TALKS:
            words = [str(made[part]) for part in ("about", *facts, "message") if part in made]
            yield Event(turn, "said", name, made, text=" ".join(words))

        for fact in facts:
            told = _value(fact, made[fact])
            yield Event(
                turn,
                "told",
                fact,
                text=str(made.get("about")),
                told=told,
            )

        if name == "confirm_with_customer" and result.get("event") in _AGREEMENT:
            write = act(str(made.get("write")), made.get("arguments"))
            yield Event(turn, result["event"], name, made, result, write)

    yield from (Event(turn, "heard", text=seen.content) for seen in exchange.of(Source.USER))


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
