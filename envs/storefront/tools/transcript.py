"""An episode as check and planner read it: turns with what was answered, without what the world
could not read.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from synth.envs.storefront.customer.customer import GOODBYE, OUT_OF_PATIENCE
from synth.envs.storefront.tools.arguments import MAX_TEXT
from synth.schemas.canonical import valid_text
from synth.schemas.environment import AgentTurn
from synth.schemas.trajectory import Observation, Source, ToolCall, Turn

MAX_CALLS = 32
LONGEST_NAME = 64
_OBJECT = msgspec.json.Decoder(dict[str, Any])


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


def exchanged(turns: Iterable[Turn]) -> list[Exchange]:
    """Stored turns as exchanges in the customer's scripted words, up to the end of the
    conversation.
    """
    return until_end(
        Exchange(
            legible(AgentTurn(turn.content, turn.tool_calls)),
            tuple(seen.as_given() for seen in turn.observations),
        )
        for turn in turns
    )


def until_end(exchanges: Iterable[Exchange]) -> list[Exchange]:
    """Exchanges up to and with the one that ends the conversation."""
    kept: list[Exchange] = []

    for exchange in exchanges:
        kept.append(exchange)

        if exchange.is_last:
            break

    return kept
