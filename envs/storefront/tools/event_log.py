"""An episode as the log of events that the check reads: what was called, told and agreed to, said
and heard, in order.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from synth.envs.storefront.tools.schemas import FACTS, TALKS
from synth.envs.storefront.tools.transcript import (
    Exchange,
    answered,
    decoded,
    utterances,
    words_of,
)
from synth.schemas.canonical import canonical_json
from synth.schemas.check import Scalar

_RESULT = msgspec.json.Decoder(dict[str, Any])
Kind = Literal["call", "told", "customer_agreed", "customer_refused", "said", "heard"]
_AGREEMENT: tuple[Kind, ...] = ("customer_agreed", "customer_refused")


@dataclass(frozen=True, slots=True)
class Event:
    """`call`: a call that succeeded, with its result; `told`: one fact, in `tool`, with its value
    in `told`, about what `text` names; `customer_agreed` and `customer_refused`: the answer to a
    call of `confirm_with_customer`, `text` is `act` of the write; `said` and `heard`: words to the
    customer, and the customer's.
    """

    turn: int
    kind: Kind
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    result: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    told: Scalar = None


def event_log(exchanges: Sequence[Exchange]) -> list[Event]:
    """All events of a conversation. A turn's calls come before what the customer answers, for the
    agent saw the answer after them.
    """
    return [event for turn, exchange in enumerate(exchanges) for event in _events(turn, exchange)]


def _events(turn: int, exchange: Exchange) -> Iterator[Event]:
    content = exchange.turn.content
    if content and content.strip():
        yield Event(turn, "said", text=content)
    for call, observation in answered(exchange):
        made, result = decoded(call.arguments) or {}, shown(observation.content)
        yield Event(turn, "call", call.name, made, result)
        if call.name in TALKS:
            yield Event(turn, "said", call.name, made, text=words_of(call))
        if call.name == "tell_customer":
            for fact in filter(made.__contains__, FACTS):
                yield Event(
                    turn, "told", fact, text=str(made.get("about")), told=_value(fact, made[fact])
                )
        if call.name == "confirm_with_customer" and result.get("event") in _AGREEMENT:
            text = act(str(made.get("write")), made.get("arguments"))
            yield Event(turn, result["event"], call.name, made, result, text)
    yield from (Event(turn, "heard", text=text) for text in utterances(exchange))


def shown(content: str) -> dict[str, Any]:
    """A tool's answer as an object; empty where it is none, as in transcripts of other makers."""
    try:
        return _RESULT.decode(content)
    except msgspec.DecodeError:
        return {}


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
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return sorted(map(str, value))
    return float(value) if isinstance(value, int) else value
