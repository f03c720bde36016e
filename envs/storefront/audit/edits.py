"""Edits of a recorded episode's turns: calls dropped, changed or added, messages said otherwise;
and of a solved one, with what its check wants.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from synth.envs.storefront.tools.event_log import Event, event_log
from synth.envs.storefront.tools.schemas import TALKS
from synth.envs.storefront.tools.transcript import Exchange, decoded
from synth.envs.storefront.world.world import BaseWorld
from synth.envs.transcript import edited
from synth.schemas.canonical import canonical_json
from synth.schemas.check import Check
from synth.schemas.environment import AgentTurn
from synth.schemas.task import Task
from synth.schemas.trajectory import ToolCall

Turns = tuple[AgentTurn, ...]


class Recorded:
    """The turns of an episode and what was answered; every edit gives other turns."""

    def __init__(self, exchanges: Sequence[Exchange]) -> None:
        self.turns: Turns = tuple(exchange.turn for exchange in exchanges)
        self.events = event_log(exchanges)

    def calls(self, *tools: str) -> list[Event]:
        """The calls of these tools that were answered without an error, in order."""
        return [event for event in self.events if event.kind == "call" and event.tool in tools]

    def dropped(self, *calls: Event) -> Turns:
        """The turns without these calls; a turn that has none left is left out."""
        return edited(
            self.turns,
            {(call.turn, call.place): None for call in calls},
        )

    def changed(self, call: Event, **arguments: Any) -> Turns:
        """The turns with other arguments of one call."""
        # an event holds decoded arguments; the edit needs the call as it was made
        made = self.turns[call.turn].tool_calls[call.place]

        return edited(
            self.turns,
            {(call.turn, call.place): _with(made, arguments)},
        )

    def added(self, tool: str, *, tries: int = 1, **arguments: Any) -> Turns:
        """The turns with one call more, in a turn of its own before the last; tried twice where a
        transient error could undo it.
        """
        call = ToolCall(
            "call_added",
            tool,
            canonical_json(arguments).decode(),
        )

        return (
            *self.turns[:-1],
            *[AgentTurn(tool_calls=(call,))] * tries,
            *self.turns[-1:],
        )

    def instead(self, call: Event, text: str) -> Turns:
        """The turns with free text in place of one call; a turn of several calls loses it alone."""
        calls = self.turns[call.turn].tool_calls

        left = AgentTurn(
            text,
            (
                *calls[: call.place],
                *calls[call.place + 1 :],
            ),
        )

        return (
            *self.turns[: call.turn],
            left,
            *self.turns[call.turn + 1 :],
        )

    def worded(self, message: str) -> Turns:
        """The turns with this message in every call that may have one, and as every free text."""
        said = {"message": message}

        return tuple(
            AgentTurn(
                message if turn.content else None,
                tuple(
                    _with(call, said) if call.name in TALKS else call for call in turn.tool_calls
                ),
            )
            for turn in self.turns
        )


class RecordedSolution(Recorded):
    """A solved episode: what was done, its task's check, the world at the start, and the orders of
    other customers.
    """

    def __init__(
        self,
        task: Task,
        exchanges: Sequence[Exchange],
        base: BaseWorld,
    ) -> None:
        super().__init__(exchanges)
        self.check = task.check or Check()
        self.base = base
        # two accounts of one name are one person
        own = {*base.customers_by["name"].get(str(task.script.get("name")), ())}

        self.strange = {
            key: row["status"]
            for key, row in base.tables["orders"].items()
            if own.isdisjoint((row["customer_id"], row["recipient_id"]))
        }

    def strangers(self, status: str) -> list[str]:
        """The orders of other customers that are in this status."""
        return [key for key, found in self.strange.items() if found == status]

    def requires(self, order_id: str, column: str) -> bool:
        """Whether the check wants a value of this column for an order."""
        return any(
            column in row.where
            and order_id in (str(value).partition(".")[0] for value in row.where.values())
            for row in self.check.required
        )


def _with(call: ToolCall, arguments: Mapping[str, Any]) -> ToolCall:
    """The call with other values for some of its arguments."""
    made = {**(decoded(call.arguments) or {}), **arguments}

    return msgspec.structs.replace(call, arguments=canonical_json(made).decode())
