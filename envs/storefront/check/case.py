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


@dataclass(frozen=True, slots=True)
class Breach:
    """A rule that was broken, in which turn, and by what."""

    rule: str
    turn: int
    text: str

    def __str__(self) -> str:
        return f"{self.rule} in turn {self.turn}: {self.text}"


@dataclass(frozen=True, slots=True)
class Case:
    """The events, the world at the start, the accounts of the person who speaks, their first words,
    and their script.
    """

    events: Sequence[Event]
    base: BaseWorld
    own: frozenset[str] = frozenset()
    opening: str = ""
    script: Script = NO_SCRIPT

    def calls(self, *tools: str) -> Iterator[Event]:
        """The calls of these tools that succeeded."""
        return (event for event in self.events if event.kind == "call" and event.tool in tools)

    def order(self, event: Event) -> Row | None:
        """The order that a call names, as it was at the start."""
        return self.base.tables["orders"].get(str(event.arguments.get("order_id")))

    def written(self, *tools: str) -> Iterator[tuple[Event, Row]]:
        """The writes of these tools, each with its order as it was just before: after earlier
        writes, and after what the shop did, which
        is never slower than a write that it races.
        """
        done: dict[str, dict[str, Any]] = {}
        for event in self.events:
            order = self.order(event) if event.kind == "call" else None
            if order is None:
                continue
            order_id = str(event.arguments["order_id"])
            if event.tool in tools:
                yield (
                    event,
                    {**order, **self._by_the_shop(order_id, event.turn), **done.get(order_id, {})},
                )
            done.setdefault(order_id, {}).update(_effect(event.tool, event.arguments))

    def _by_the_shop(self, order_id: str, turn: int) -> dict[str, Any]:
        happened: dict[str, Any] = {}
        for event in self.script.events:
            if (event.table, event.key) == ("orders", order_id) and (
                event.races or event.tick <= turn + 1
            ):
                happened.update(event.values)
        return happened

    def is_gift(self, order: Row) -> bool:
        """Whether an order of somebody else was a gift to the person who speaks."""
        return order.get("recipient_id") in self.own and order["customer_id"] not in self.own

    def concerned(self, event: Event) -> list[str]:
        """The customers whom a call is about: who placed the order, and for whom it was a gift;
        whose list, or whose ticket, it is.
        """
        order = self.order(event)
        if order is not None:
            return [
                str(key)
                for key in (order["customer_id"], order.get("recipient_id"))
                if key is not None
            ]
        if event.tool == "list_orders":
            return [str(event.arguments.get("customer_id"))]
        ticket = self.base.tables["tickets"].get(str(event.arguments.get("ticket_id")))
        if ticket is not None:
            return [str(ticket["customer_id"])]
        return sorted(self.own) if event.tool == "escalate" else []


def _effect(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What a write changes of its order, as far as a rule asks for it later."""
    if tool == "cancel_order":
        return {"status": "cancelled"}
    if tool == "modify_lines":
        return {"modified": True}
    return {"coupon": arguments.get("code")} if tool == "apply_coupon" else {}
