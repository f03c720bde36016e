"""Edits of a recorded episode's turns: calls dropped, changed or added, messages said otherwise."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from synth.envs.storefront.tools.schemas import TALKS
from synth.envs.storefront.tools.transcript import Exchange, answered, decoded
from synth.schemas.canonical import canonical_json
from synth.schemas.environment import AgentTurn
from synth.schemas.trajectory import ToolCall


@dataclass(frozen=True, slots=True)
class Place:
    """Where a call stands: turn and place in it; with its name and arguments."""

    turn: int
    place: int
    tool: str
    arguments: Mapping[str, Any]


def succeeded(exchanges: Sequence[Exchange]) -> Iterator[Place]:
    """The calls that were answered without an error, in order."""
    for turn, exchange in enumerate(exchanges):
        kept = {id(call) for call, _ in answered(exchange)}
        for place, call in enumerate(exchange.turn.tool_calls):
            if id(call) in kept:
                yield Place(turn, place, call.name, decoded(call.arguments) or {})


def dropped(exchanges: Sequence[Exchange], places: Sequence[Place]) -> tuple[AgentTurn, ...]:
    """The turns without these calls; a turn that has none left is left out."""
    gone = {(place.turn, place.place) for place in places}
    turns = []
    for at, exchange in enumerate(exchanges):
        calls = tuple(
            call for place, call in enumerate(exchange.turn.tool_calls) if (at, place) not in gone
        )
        if calls or not exchange.turn.tool_calls:
            turns.append(msgspec.structs.replace(exchange.turn, tool_calls=calls))
    return tuple(turns)


def changed(exchanges: Sequence[Exchange], where: Place, **arguments: Any) -> tuple[AgentTurn, ...]:
    """The turns with other arguments of one call."""
    turns = [exchange.turn for exchange in exchanges]
    calls = list(turns[where.turn].tool_calls)
    calls[where.place] = _with(calls[where.place], {**where.arguments, **arguments})
    turns[where.turn] = msgspec.structs.replace(turns[where.turn], tool_calls=tuple(calls))
    return tuple(turns)


def added(
    exchanges: Sequence[Exchange], tool: str, *, tries: int = 1, **arguments: Any
) -> tuple[AgentTurn, ...]:
    """The turns with one call more, in a turn of its own before the last; tried twice where a
    transient error could undo it.
    """
    call = ToolCall("call_added", tool, canonical_json(arguments).decode())
    turns = [exchange.turn for exchange in exchanges]
    return (*turns[:-1], *[AgentTurn(tool_calls=(call,))] * tries, *turns[-1:])


def instead(exchanges: Sequence[Exchange], where: Place, text: str) -> tuple[AgentTurn, ...]:
    """The turns with free text in place of one call; a turn of several calls loses it alone."""
    turns = [exchange.turn for exchange in exchanges]
    calls = turns[where.turn].tool_calls
    left = (*calls[: where.place], *calls[where.place + 1 :])
    turns[where.turn] = AgentTurn(text, left)
    return tuple(turns)


def worded(exchanges: Sequence[Exchange], message: str) -> tuple[AgentTurn, ...]:
    """The turns with this message in every call that may have one, and as every free text."""
    turns = []
    for exchange in exchanges:
        calls = tuple(
            _with(call, {**(decoded(call.arguments) or {}), "message": message})
            if call.name in TALKS
            else call
            for call in exchange.turn.tool_calls
        )
        turns.append(AgentTurn(message if exchange.turn.content else None, calls))
    return tuple(turns)


def _with(call: ToolCall, arguments: Mapping[str, Any]) -> ToolCall:
    return msgspec.structs.replace(call, arguments=canonical_json(arguments).decode())
