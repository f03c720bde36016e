"""Edits of a recorded episode's turns: calls dropped, changed or added, messages said otherwise."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from synth.envs.storefront.tools.schemas import TALKS
from synth.envs.storefront.tools.transcript import Exchange, answered, decoded
from synth.schemas.canonical import canonical_json
from synth.schemas.environment import AgentTurn
from synth.schemas.trajectory import ToolCall

NOTHING_SAID = "All right."


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


def said_otherwise(
    exchanges: Sequence[Exchange], edit: Callable[[str], str]
) -> tuple[AgentTurn, ...]:
    """The turns with every message to the customer edited; one that loses all words is replaced by
    a nothing.
    """
    turns = []
    for exchange in exchanges:
        content = exchange.turn.content
        calls = tuple(_said(call, edit) for call in exchange.turn.tool_calls)
        turns.append(
            AgentTurn((edit(content).strip() or NOTHING_SAID) if content else content, calls)
        )
    return tuple(turns)


def _said(call: ToolCall, edit: Callable[[str], str]) -> ToolCall:
    arguments = decoded(call.arguments) or {}
    if call.name not in TALKS or "message" not in arguments:
        return call
    return _with(
        call, {**arguments, "message": edit(str(arguments["message"])).strip() or NOTHING_SAID}
    )


def _with(call: ToolCall, arguments: Mapping[str, Any]) -> ToolCall:
    return msgspec.structs.replace(call, arguments=canonical_json(arguments).decode())
