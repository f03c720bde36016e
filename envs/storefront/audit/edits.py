"""Edits of a recorded episode's turns: calls dropped, changed or added, messages said otherwise."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from synth.envs.storefront.tools.schemas import TALKS
from synth.envs.storefront.tools.transcript import Exchange, answered, decoded
from synth.envs.transcript import edited
from synth.schemas.canonical import canonical_json
from synth.schemas.environment import AgentTurn
from synth.schemas.trajectory import ToolCall

Turns = tuple[AgentTurn, ...]


@dataclass(frozen=True, slots=True)
class CallPlace:
    """Where a call stands: turn and place in it; with its name and arguments."""

    turn: int
    place: int
    tool: str
    arguments: Mapping[str, Any]


def succeeded(exchanges: Sequence[Exchange]) -> Iterator[CallPlace]:
    """The calls that were answered without an error, in order."""
    for turn, exchange in enumerate(exchanges):
        kept = {id(call) for call, _ in answered(exchange)}
        for place, call in enumerate(exchange.turn.tool_calls):
            if id(call) in kept:
                yield CallPlace(turn, place, call.name, decoded(call.arguments) or {})


def dropped(exchanges: Sequence[Exchange], places: Sequence[CallPlace]) -> Turns:
    """The turns without these calls; a turn that has none left is left out."""
    return edited(_turns(exchanges), {(place.turn, place.place): None for place in places})


def changed(exchanges: Sequence[Exchange], where: CallPlace, **arguments: Any) -> Turns:
    """The turns with other arguments of one call."""
    call = exchanges[where.turn].turn.tool_calls[where.place]
    return edited(_turns(exchanges), {(where.turn, where.place): _with(call, arguments)})


def added(exchanges: Sequence[Exchange], tool: str, *, tries: int = 1, **arguments: Any) -> Turns:
    """The turns with one call more, in a turn of its own before the last; tried twice where a
    transient error could undo it.
    """
    call = ToolCall("call_added", tool, canonical_json(arguments).decode())
    turns = _turns(exchanges)
    return (*turns[:-1], *[AgentTurn(tool_calls=(call,))] * tries, *turns[-1:])


def instead(exchanges: Sequence[Exchange], where: CallPlace, text: str) -> Turns:
    """The turns with free text in place of one call; a turn of several calls loses it alone."""
    turns = _turns(exchanges)
    calls = turns[where.turn].tool_calls
    left = (*calls[: where.place], *calls[where.place + 1 :])
    turns[where.turn] = AgentTurn(text, left)
    return tuple(turns)


def worded(exchanges: Sequence[Exchange], message: str) -> Turns:
    """The turns with this message in every call that may have one, and as every free text."""
    return tuple(
        AgentTurn(
            message if turn.content else None,
            tuple(
                _with(call, {"message": message}) if call.name in TALKS else call
                for call in turn.tool_calls
            ),
        )
        for turn in _turns(exchanges)
    )


def _turns(exchanges: Sequence[Exchange]) -> list[AgentTurn]:
    return [exchange.turn for exchange in exchanges]


def _with(call: ToolCall, arguments: Mapping[str, Any]) -> ToolCall:
    made = {**(decoded(call.arguments) or {}), **arguments}
    return msgspec.structs.replace(call, arguments=canonical_json(made).decode())
