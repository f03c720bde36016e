"""Edits of a solved episode's turns: calls dropped, changed or added, messages said otherwise."""

from typing import Any

import msgspec

from synth.envs.storefront.tools.schemas import TALKS
from synth.envs.storefront.tools.transcript import Event, decoded, event_log, until_end
from synth.envs.storefront.world.config import validated
from synth.envs.storefront.world.world import world_of
from synth.envs.transcript import Transcript, edited
from synth.schemas.canonical import canonical_json
from synth.schemas.check import Check
from synth.schemas.environment import AgentTurn
from synth.schemas.task import Task
from synth.schemas.trajectory import ToolCall

Turns = tuple[AgentTurn, ...]


class Solution:
    """A solved episode: its turns and what was done in them, its task's check, and the world at the
    start; every edit gives other turns.
    """

    def __init__(
        self,
        task: Task,
        transcript: Transcript,
    ) -> None:
        seen = [response.observations for response in transcript.responses]
        exchanges = until_end(
            zip(
                transcript.actions,
                seen,
                strict=True,
            )
        )
        self.turns: Turns = tuple(exchange.turn for exchange in exchanges)
        self.events = event_log(exchanges)
        self.check = task.check or Check()
        self.base = world_of(validated(task.env_config))
        # two accounts of one name are one person
        self.own = {*self.base.customers_by["name"].get(str(task.script.get("name")), ())}

    def calls(self, *tools: str) -> list[Event]:
        """The calls of these tools that were answered without an error, in order."""
        return [event for event in self.events if event.kind == "call" and event.tool in tools]

    def strangers(
        self,
        status: str,
    ) -> list[str]:
        """The orders of other customers that are in this status."""
        return [
            key
            for key, row in self.base.tables["orders"].items()
            if row["status"] == status
            and self.own.isdisjoint((row["customer_id"], row["recipient_id"]))
        ]

    def requires(
        self,
        order_id: str,
        column: str,
    ) -> bool:
        """Whether the check wants a value of this column for an order."""
        return any(
            column in row.where
            and order_id in (str(value).partition(".")[0] for value in row.where.values())
            for row in self.check.required
        )

    def dropped(self, *calls: Event) -> Turns:
        """The turns without these calls; a turn that has none left is left out."""
        return edited(self.turns, {(call.turn, call.place): None for call in calls})

    def changed(self, call: Event, **arguments: Any) -> Turns:
        """The turns with other arguments of one call."""
        # an event holds decoded arguments; the edit needs the call as it was made
        made = self.turns[call.turn].tool_calls[call.place]

        return edited(self.turns, {(call.turn, call.place): _with(made, **arguments)})

    def added(self, tool: str, *, tries: int = 1, **arguments: Any) -> Turns:
        """The turns with one call more, in a turn of its own before the last; tried twice where a
        transient error could undo it.
        """
        call = ToolCall(
            "call_added",
            tool,
            canonical_json(arguments).decode(),
        )

        return self.before_last(*[AgentTurn(tool_calls=(call,))] * tries)

    def before_last(self, *turns: AgentTurn) -> Turns:
        """The turns with these before the one that ends the conversation."""
        return (*self.turns[:-1], *turns, *self.turns[-1:])

    def instead(
        self,
        call: Event,
        text: str,
    ) -> Turns:
        """The turns with free text in place of one call; a turn of several calls loses it alone."""
        at = call.turn
        calls = self.turns[at].tool_calls
        left = (*calls[: call.place], *calls[call.place + 1 :])

        return (*self.turns[:at], AgentTurn(text, left), *self.turns[at + 1 :])

    def worded(
        self,
        message: str,
    ) -> Turns:
        """The turns with this message in every call that may have one, and as every free text."""
        return tuple(
            AgentTurn(
                message if turn.content else None,
                tuple(
                    _with(call, message=message) if call.name in TALKS else call
                    for call in turn.tool_calls
                ),
            )
            for turn in self.turns
        )


def _with(call: ToolCall, **arguments: Any) -> ToolCall:
    """The call with other values for some of its arguments."""
    made = canonical_json({**(decoded(call.arguments) or {}), **arguments})

    return msgspec.structs.replace(call, arguments=made.decode())
