"""An episode as the rules' automata walk through it: events, the world at the start, who speaks,
and what they want.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from synth.envs.storefront.customer.script import Script
from synth.envs.storefront.tools.transcript import Event
from synth.envs.storefront.world.policy import amount_of, forbidding
from synth.envs.storefront.world.views import Shown
from synth.envs.storefront.world.world import BaseWorld

NO_SCRIPT = Script()


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

    def forbidden(self, *tools: str) -> Iterator[tuple[Event, str, str]]:
        """The calls of these tools about an order that a rule forbids, each with the rule and why,
        by the order as it was just before.

        What the shop did comes first, for it is never slower than a write that it races.
        """
        written: dict[str, Shown] = {}

        for event in self.calls():
            order_id = str(event.order_id)

            if order_id not in self.base.tables["orders"]:
                continue

            # what the agent wrote stands over the start, and the shop's events over that
            order = written.get(order_id, self.base.orders[order_id])
            now = {**order, **self._by_the_shop(event)}

            if event.tool in tools:
                call = (event.tool, event.arguments)

                for rule, why in forbidding(
                    self.base, self.base.rules, call, self.own or None, now
                ):
                    yield event, rule, why

            written[order_id] = {**order, **_effect(event, now)}

    def _by_the_shop(self, write: Event) -> Shown:
        """What the shop had done to an order before a write, turn numbers being ticks less one."""
        happened: Shown = {}

        for event in self.script.events:
            # a racing event came before any write of its row
            in_time = event.races or event.tick <= write.turn + 1

            if in_time and (event.table, event.key) == ("orders", write.order_id):
                happened |= event.values

        return happened

    def concerned(self, event: Event) -> list[str]:
        """The customers whom a call is about: who placed the order, and for whom it was a gift;
        whose list, or whose ticket, it is.
        """
        tables = self.base.tables
        order = tables["orders"].get(str(event.order_id))
        ticket = tables["tickets"].get(str(event.arguments.get("ticket_id")))

        if order is not None:
            return [key for key in (order["customer_id"], order["recipient_id"]) if key is not None]
        if event.tool == "list_orders":
            return [str(event.arguments.get("customer_id"))]
        if ticket is not None:
            return [str(ticket["customer_id"])]

        return sorted(self.own) if event.tool == "escalate" else []

    def leaked(
        self,
        message: str,
        heard: str,
    ) -> Iterator[tuple[str, str]]:
        """(value, owner) for each email, phone, street or id in a message that belongs to somebody
        else and that the customer never said.

        Somebody may live in a street of the same name: what is theirs too is no leak.
        """
        private, said = self.base.private_values, message.lower()
        # a value stands between what are no words, so its first word is one of the message's
        words = sorted(private.keys() & set(re.findall(r"\w+", said)))

        for value, of in (found for word in words for found in private[word].items()):
            # the cheap tests first: most values are in no message
            if (
                value.lower() in said
                and not self.own & of
                and value.lower() not in heard.lower()
                and re.search(rf"(?<!\w){re.escape(value)}(?!\w)", message, re.IGNORECASE)
            ):
                yield value, min(of)


def _effect(event: Event, order: Shown) -> Shown:
    """What a write changes of its order, as far as a rule asks for it later."""
    match event.tool:
        case "cancel_order":
            return {"status": "cancelled"}
        case "modify_lines":
            return {"modified": True}
        case "apply_coupon":
            return {"coupon": event.arguments.get("code")}
        case "create_return":
            # which lines does not matter: rules ask whether anything came back
            return {"lines": [{**line, "status": "return_requested"} for line in order["lines"]]}
        case "issue_refund":
            return {"refunded": order["refunded"] + amount_of(event.arguments)}

    return {}
