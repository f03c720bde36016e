"""What an agent can know: everything that was observed in the transcript, and nothing else."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from synth.envs.storefront.customer.customer import PUSH_BACK
from synth.envs.storefront.tools.event_log import act
from synth.envs.storefront.tools.schemas import FACTS, WRITES
from synth.envs.storefront.tools.transcript import Exchange, answered, decoded, messages, utterances
from synth.schemas.trajectory import Source, ToolCall

Shown = dict[str, Any]
_RESULT = msgspec.json.Decoder(Shown)
REFUSED = re.compile(r"denied: (R\d+):")
"""How a tool's refusal by a rule begins."""


def call_signature(name: str, arguments: Mapping[str, Any]) -> str:
    """One text per call, whatever the order of its arguments."""
    return f"{name} {sorted(arguments.items(), key=lambda item: item[0])}"


class Belief:
    """The observed part of the world; `absorb` takes one exchange after the other."""

    def __init__(self, opening: str, slots: Mapping[str, str | None]) -> None:
        self.exchanges = 0
        self.slots = dict(slots)
        self.accounts: list[str] = []
        self.more_accounts: Shown | None = None
        self.verified: dict[str, set[str]] = {}
        self.files: dict[str, Shown] = {}
        self.tickets: list[str] = []
        self.pages: dict[str, dict[int, Shown]] = {}
        self.orders: dict[str, Shown] = {}
        self.outdated: set[str] = set()
        self.items: dict[str, list[tuple[str, str]]] = {}
        self.skus_listed: dict[str, list[str]] = {}
        self.products: dict[str, Shown] = {}
        self.variants: dict[str, Shown] = {}
        self.quotes: dict[tuple[str, tuple[int, ...]], float] = {}
        self.parcels: dict[str, Shown] = {}
        self.asked: set[tuple[str, int | None]] = set()
        self.agreed: set[str] = set()
        self.answers: dict[tuple[int, str], str] = {}
        self.declined: set[int] = set()
        self.denied: dict[int, str] = {}
        self.writes: list[tuple[str, Shown]] = []
        self.failed: dict[str, str] = {}
        self.doubtful: set[str] = set()
        self.told: set[tuple[str, str, Any]] = set()
        self.said: list[str] = []
        self.heard = [opening]
        self.notes: list[str] = []
        self.pushed_back = False

    def absorb(self, exchange: Exchange) -> None:
        """Takes in a turn and what was answered to it."""
        self.exchanges += 1
        self.said += messages(exchange)
        succeeded = answered(exchange)
        for call, observation in succeeded:
            self._observed(call, _RESULT.decode(observation.content))
        heard = utterances(exchange)
        self.heard += heard
        self.pushed_back = self.pushed_back or not set(PUSH_BACK).isdisjoint(heard)
        tools = [
            observation
            for observation in exchange.observations
            if observation.source is Source.TOOL
        ]
        for call, observation in zip(exchange.turn.tool_calls, tools, strict=False):
            if observation.error and not observation.content.startswith("transient"):
                arguments = decoded(call.arguments) or {}
                self.failed[call_signature(call.name, arguments)] = observation.content
                if call.name in WRITES and str(arguments.get("order_id")) in self.orders:
                    self.doubtful.add(str(arguments["order_id"]))

    def has_written(self, name: str, order_id: str, **arguments: Any) -> bool:
        """Whether such a write succeeded before."""
        return any(
            name == written
            and made.get("order_id") == order_id
            and all(made.get(key) == value for key, value in arguments.items())
            for written, made in self.writes
        )

    def refused_by(self, call: tuple[str, Mapping[str, Any]]) -> str | None:
        """The rule by which a tool refused this very call, or None."""
        rule = REFUSED.match(self.failed.get(call_signature(*call), ""))
        return rule[1] if rule is not None else None

    def has_told(self, about: str, facts: Mapping[str, Any]) -> bool:
        """Whether the customer was told all of this."""
        return all((about, fact, value) in self.told for fact, value in facts.items())

    def has_said(self, text: str) -> bool:
        """Whether the customer was told this, word for word."""
        return any(text in message for message in self.said)

    def _observed(self, call: ToolCall, result: Shown) -> None:
        arguments: Shown = decoded(call.arguments) or {}
        if call.name in WRITES:
            self.writes.append((call.name, arguments))
            if "order_id" in arguments:
                self.outdated.add(arguments["order_id"])
        elif call.name == "find_customer":
            found = [account["customer_id"] for account in result["customers"]]
            self.accounts += [
                customer_id for customer_id in found if customer_id not in self.accounts
            ]
            self.more_accounts = (
                {**arguments, "page": result["page"] + 1}
                if result["page"] < result["pages"]
                else None
            )
        elif call.name == "verify_identity":
            self.verified[result["customer_id"]] = set(result["verified"])
        elif call.name == "get_customer":
            self.files[result["customer_id"]] = result
            self.notes += result["notes"]
            self.tickets += [ticket["ticket_id"] for ticket in result["tickets"]]
        elif call.name == "list_orders" and "status" not in arguments:
            self.pages.setdefault(arguments["customer_id"], {})[result["page"]] = result
            for order in result["orders"]:
                before = self.skus_listed.get(order["order_id"], order["skus"])
                self.skus_listed[order["order_id"]] = (
                    before if before == order["skus"] else [*before, *order["skus"]]
                )
        elif call.name == "get_order":
            order_id = result["order_id"]
            self.orders[order_id] = result
            self.outdated.discard(order_id)
            self.doubtful.discard(order_id)
            items = self.items.setdefault(order_id, [])
            items += [
                item
                for line in result["lines"]
                if (item := (line["colour"], noun(line["product"]))) not in items
            ]
        elif call.name == "search_products":
            for product in result["products"]:
                self.products[noun(product["name"])] = product
                self.notes.append(product["text"])
        elif call.name == "get_variant":
            self.variants[result["sku"]] = result
        elif call.name == "quote_refund":
            self.quotes[(result["order_id"], tuple(result["lines"]))] = result["refund"]
        elif call.name == "track_shipment":
            self.parcels[result["order_id"]] = result
        elif call.name == "deny":
            self.denied[result["request"]] = result["rule_id"]
        elif call.name == "tell_customer":
            about = arguments["about"]
            self.told |= {(about, fact, arguments[fact]) for fact in FACTS if fact in arguments}
        elif call.name == "confirm_with_customer":
            if result["event"] == "customer_agreed":
                self.agreed.add(act(arguments["write"], arguments["arguments"]))
            else:
                self.declined.add(arguments["request"])
        elif call.name == "ask_customer":
            self._answered(arguments["field"], arguments.get("request"), result.get("answer"))

    def _answered(self, field: str, number: int | None, answer: str | None) -> None:
        self.asked.add((field, number))
        if field in ("name", "email", "phone", "zip", "coupon") and number is None:
            self.slots[field] = answer
        elif number is not None and answer is not None:
            self.answers[(number, field)] = answer


def noun(product: str) -> str:
    """The noun of a product's name, which stands last."""
    return product.rsplit(" ", 1)[-1]
