"""An episode as the log of events that rules are followed through: what was called, said and heard,
in order.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from synth.envs.storefront.tools.schemas import TALKS
from synth.envs.storefront.tools.transcript import Exchange, answered, decoded, utterances

_RESULT = msgspec.json.Decoder(dict[str, Any])
_HEARD_AFTER = frozenset({"ask_customer", "reply", "deny"})
"""Talk tools that the customer answers, one utterance each."""


@dataclass(frozen=True, slots=True)
class Event:
    """`call`: a call that succeeded, with its result; `said`: a message to the customer; `heard`:
    the customer's words, `text`, in
    answer to the message `to`, which is empty where nobody asked; `for_a_yes`: that message was a
    question by tool for a yes.
    """

    turn: int
    kind: Literal["call", "said", "heard"]
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    result: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    to: str = ""
    for_a_yes: bool = False


def event_log(exchanges: Sequence[Exchange]) -> list[Event]:
    """All events of a conversation. A turn's calls come before what the customer answers, for the
    agent saw the answer after them.
    """
    return [event for turn, exchange in enumerate(exchanges) for event in _events(turn, exchange)]


def _events(turn: int, exchange: Exchange) -> Iterator[Event]:
    content = exchange.turn.content
    asked: list[tuple[str, bool]] = []
    if content and content.strip():
        yield Event(turn, "said", text=content)
        asked += [] if exchange.turn.tool_calls else [(content, False)]
    for call, observation in answered(exchange):
        arguments = decoded(call.arguments) or {}
        yield Event(turn, "call", call.name, arguments, _result(observation.content))
        if call.name in TALKS:
            message = str(arguments.get("message", ""))
            yield Event(turn, "said", call.name, arguments, text=message)
            asked += (
                [(message, arguments.get("field") == "confirmation")]
                if call.name in _HEARD_AFTER
                else []
            )
    words = utterances(exchange)
    for place, text in enumerate(words):
        to = asked if len(words) < len(asked) else asked[place : place + 1]
        yield Event(
            turn,
            "heard",
            text=text,
            to="\n".join(message for message, _ in to),
            for_a_yes=any(by_tool for _, by_tool in to),
        )


def _result(content: str) -> dict[str, Any]:
    """A tool's answer as an object; empty where it is none, as in transcripts of other makers."""
    try:
        return _RESULT.decode(content)
    except msgspec.DecodeError:
        return {}
