"""What an agent can know: everything that was observed in the transcript, and nothing else."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from synth.envs.storefront.customer.customer import PUSH_BACK
from synth.envs.storefront.tools.event_log import event_log
from synth.envs.storefront.tools.schemas import FACTS, WRITES
from synth.envs.storefront.tools.transcript import Exchange, decoded
from synth.schemas.trajectory import Source

Shown = dict[str, Any]
REFUSED = re.compile(r"denied: (R\d+):")
"""How a tool's refusal by a rule begins."""
_KEPT = {
    "get_customer": ("files", "customer_id"),
    "get_order": ("orders", "order_id"),
    "get_variant": ("variants", "sku"),
    "track_shipment": ("parcels", "order_id"),
}
"""Where the last answer of a tool is kept, and under what of it."""
_OF_THE_PERSON = ("name", "email", "phone", "zip", "coupon")
"""What the customer is asked for themselves, whatever they want."""


def call_signature(name: str, arguments: Mapping[str, Any]) -> str:
    """One text per call, whatever the order of its arguments."""
    return f"{name} {sorted(arguments.items(), key=lambda item: item[0])}"


class Belief(msgspec.Struct, eq=False):
    """The observed part of the world; `absorb` takes one exchange after the other."""

    heard: list[str]
    slots: dict[str, str | None]
    exchanges: int = 0
    accounts: list[str] = []
    more_accounts: Shown | None = None
    verified: dict[str, set[str]] = {}
    files: dict[str, Shown] = {}
    tickets: list[str] = []
    pages: dict[str, dict[int, Shown]] = {}
    orders: dict[str, Shown] = {}
    outdated: set[str] = set()
    items: dict[str, list[tuple[str, str]]] = {}
    skus_listed: dict[str, list[str]] = {}
    products: dict[str, Shown] = {}
    variants: dict[str, Shown] = {}
    quotes: dict[tuple[str, tuple[int, ...]], float] = {}
    parcels: dict[str, Shown] = {}
    asked: set[tuple[str, int | None]] = set()
    agreed: set[str] = set()
    answers: dict[tuple[int, str], str] = {}
    declined: set[int] = set()
    denied: dict[int, str] = {}
    writes: list[tuple[str, Shown]] = []
    failed: dict[str, str] = {}
    doubtful: set[str] = set()
    told: set[tuple[str, str, Any]] = set()
    said: list[str] = []
    notes: list[str] = []

    @property
    def pushed_back(self) -> bool:
        """Whether the customer insisted on what was denied."""
        return not set(PUSH_BACK).isdisjoint(self.heard)

    def absorb(self, exchange: Exchange) -> None:
        """Takes in a turn and what was answered to it."""
        self.exchanges += 1
        for event in event_log([exchange]):
            if event.kind == "call":
                self._observed(event.tool, dict(event.arguments), event.result)
            elif event.kind == "customer_agreed":
                self.agreed.add(event.text)
            elif event.kind == "customer_refused":
                self.declined.add(event.arguments["request"])
            elif event.kind in ("said", "heard"):
                (self.said if event.kind == "said" else self.heard).append(event.text)
        tools = [seen for seen in exchange.observations if seen.source is Source.TOOL]
        for call, seen in zip(exchange.turn.tool_calls, tools, strict=False):
            if seen.error and not seen.content.startswith("transient"):
                made = decoded(call.arguments) or {}
                self.failed[call_signature(call.name, made)] = seen.content
                if call.name in WRITES and str(made.get("order_id")) in self.orders:
                    self.doubtful.add(str(made["order_id"]))

    def has_written(self, name: str, order_id: str, **arguments: Any) -> bool:
        """Whether such a write succeeded before."""
        wanted = {"order_id": order_id, **arguments}.items()
        return any(name == tool and wanted <= made.items() for tool, made in self.writes)

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

    def _observed(self, tool: str, made: Shown, result: Mapping[str, Any]) -> None:
        if tool in _KEPT:
            place, key = _KEPT[tool]
            getattr(self, place)[result[key]] = result
        if tool in WRITES:
            self.writes.append((tool, made))
            self.outdated.update({made["order_id"]} if "order_id" in made else ())
        elif tool == "find_customer":
            found = [account["customer_id"] for account in result["customers"]]
            self.accounts = list(dict.fromkeys((*self.accounts, *found)))
            is_last = result["page"] >= result["pages"]
            self.more_accounts = None if is_last else {**made, "page": result["page"] + 1}
        elif tool == "verify_identity":
            self.verified[result["customer_id"]] = set(result["verified"])
        elif tool == "get_customer":
            self.notes += result["notes"]
            self.tickets += [ticket["ticket_id"] for ticket in result["tickets"]]
        elif tool == "list_orders" and "status" not in made:
            self.pages.setdefault(made["customer_id"], {})[result["page"]] = dict(result)
            for order in result["orders"]:
                before = self.skus_listed.get(order["order_id"], [])
                new = order["skus"] if before != order["skus"] else []
                self.skus_listed[order["order_id"]] = [*before, *new]
        elif tool == "get_order":
            self.outdated.discard(result["order_id"])
            self.doubtful.discard(result["order_id"])
            items = [(line["colour"], noun(line["product"])) for line in result["lines"]]
            known = self.items.get(result["order_id"], [])
            self.items[result["order_id"]] = list(dict.fromkeys((*known, *items)))
        elif tool == "search_products":
            self.products |= {noun(product["name"]): product for product in result["products"]}
            self.notes += [product["text"] for product in result["products"]]
        elif tool == "quote_refund":
            self.quotes[(result["order_id"], tuple(result["lines"]))] = result["refund"]
        elif tool == "deny":
            self.denied[result["request"]] = result["rule_id"]
        elif tool == "tell_customer":
            self.told |= {(made["about"], fact, made[fact]) for fact in FACTS if fact in made}
        elif tool == "ask_customer":
            self._answered(made["field"], made.get("request"), result.get("answer"))

    def _answered(self, field: str, number: int | None, answer: str | None) -> None:
        self.asked.add((field, number))
        if field in _OF_THE_PERSON and number is None:
            self.slots[field] = answer
        elif number is not None and answer is not None:
            self.answers[(number, field)] = answer


def noun(product: str) -> str:
    """The noun of a product's name, which stands last."""
    return product.rsplit(" ", 1)[-1]
