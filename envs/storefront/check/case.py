"""An episode as the rules' automata walk through it: events, the world at the start, who speaks,
and what they want.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synth.envs.storefront.customer.script import Script
from synth.envs.storefront.tools.event_log import Event
from synth.envs.storefront.world.catalogue import Row
from synth.envs.storefront.world.world import BaseWorld

NO_SCRIPT = Script()
Found = Iterator[tuple[int, str]]
"""Breaches of one rule: the turn, and what was done in it."""


@dataclass(frozen=True, slots=True)
class Breach:
    """A rule that was broken, in which turn, and by what."""

    rule: str
    turn: int
    text: str

    def __str__(self) -> str:
        return f"{self.rule} in turn {self.turn}: {self.text}"


@dataclass(frozen=True, slots=True)
class WriteEvent:
    """A write on an order: the order as it was just before, after earlier writes and after what the
    shop did (which is never slower than a write that it races), and the earlier calls on it;
    `is_gift`: it was placed by somebody else for the person who speaks.
    """

    case: "EpisodeView"
    event: Event
    order: Row
    earlier: Sequence[Event]
    is_gift: bool

    @property
    def order_id(self) -> str:
        """The order's id."""
        return str(self.event.arguments["order_id"])

    def get(self, argument: str) -> Any:
        """An argument; None where a transcript of another maker holds none."""
        return self.event.arguments.get(argument)


@dataclass(frozen=True, slots=True)
class EpisodeView:
    """The events, the world at the start, the accounts of the person who speaks, their first words,
    and their script.
    """

    events: Sequence[Event]
    base: BaseWorld
    own: frozenset[str] = frozenset()
    opening: str = ""
    script: Script = NO_SCRIPT

    def calls(self, *tools: str) -> Iterator[Event]:
        """The calls of these tools that succeeded, of all where none is named."""
        for event in self.events:
            if event.kind == "call" and (not tools or event.tool in tools):
                yield event

    def order(self, event: Event) -> Row | None:
        """The order that a call names, as it was at the start."""
        return self.base.tables["orders"].get(str(event.arguments.get("order_id")))

    def writes(self, *tools: str) -> Iterator[WriteEvent]:
        """The writes of these tools."""
        done: dict[str, list[Event]] = {}
        for event in self.calls():
            start = self.order(event)
            if start is None:
                continue
            earlier = done.setdefault(str(event.arguments["order_id"]), [])
            if event.tool in tools:
                order = {**start, **self._by_the_shop(event)}
                for made in earlier:
                    order |= _effect(made.tool, made.arguments)
                is_gift = order["recipient_id"] in self.own and order["customer_id"] not in self.own
                yield WriteEvent(self, event, order, earlier, is_gift)
            earlier.append(event)

    def _by_the_shop(self, write: Event) -> dict[str, Any]:
        happened: dict[str, Any] = {}
        for event in self.script.events:
            if (event.table, event.key) == ("orders", write.arguments["order_id"]) and (
                event.races or event.tick <= write.turn + 1
            ):
                happened.update(event.values)
        return happened

    def concerned(self, event: Event) -> list[str]:
        """The customers whom a call is about: who placed the order, and for whom it was a gift;
        whose list, or whose ticket, it is.
        """
        order = self.order(event)
        if order is not None:
            return [key for key in (order["customer_id"], order["recipient_id"]) if key is not None]
        if event.tool == "list_orders":
            return [str(event.arguments.get("customer_id"))]
        ticket = self.base.tables["tickets"].get(str(event.arguments.get("ticket_id")))
        if ticket is not None:
            return [str(ticket["customer_id"])]
        return sorted(self.own) if event.tool == "escalate" else []


def _effect(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What a write changes of its order, as far as a rule asks for it later."""
    effects: dict[str, dict[str, Any]] = {
        "cancel_order": {"status": "cancelled"},
        "modify_lines": {"modified": True},
        "apply_coupon": {"coupon": arguments.get("code")},
    }
    return effects.get(tool, {})
