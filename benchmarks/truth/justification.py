"""Whether a write or a denial stood on what the agent could know: arguments, choices among
entities, grounds of a denial.

Exact, for the world knows which entities fit the customer's words; a filter has to guess this from
the transcript.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import msgspec

from benchmarks.truth.knowledge import Knowledge
from synth.envs.storefront.customer.customer import DETAILS, detail_words
from synth.envs.storefront.customer.script import Request, Script
from synth.envs.storefront.tools.transcript import Event
from synth.envs.storefront.world.catalogue import Row
from synth.envs.storefront.world.options import METHODS, REASONS
from synth.envs.storefront.world.policy import NEEDED_FACTORS, STORE_CREDIT
from synth.envs.storefront.world.views import cards_of, item_of
from synth.envs.storefront.world.world import BaseWorld
from synth.schemas.check import Refusal

_KINDS: Mapping[str, Sequence[str]] = {
    "cancel_order": ("cancel",),
    "create_return": ("return",),
    "issue_refund": ("return", "compensation"),
    "modify_lines": ("exchange",),
    "change_address": ("address",),
    "apply_coupon": ("coupon",),
}
"""The requests that a tool serves."""
_SLOTS: Mapping[str, tuple[str, str, int]] = {
    "cancel_order": ("reason", "reason", len(REASONS)),
    "create_return": ("method", "method", len(METHODS)),
    "issue_refund": ("to", "refund_to", 2),
}
"""Tool -> argument, what the customer was to be asked for, how many values it can have."""
_NOT_LOOKED_UP = ("message", "summary", "text", "reason", "method", "reason_code")
_FILE_RULES = ("R4", "R5")
"""Rules that forbid by what stands in the customer's file: the tier, the cards."""
_STATUS_RULES = ("R3", "R7", "R9", "R11")
"""Rules that forbid by the status, which more tools than one show."""


class WriteLabel(msgspec.Struct, frozen=True):
    """A write that succeeded. `k` entities or values fitted what the agent knew (0: the one chosen
    does not fit), `seen` of them had been shown to it.
    """

    turn: int
    tool: str
    label: Literal["justified", "unjustified_argument", "unjustified_choice"]
    what: str = ""
    k: int = 1
    seen: int = 1


Open = tuple[str, int, int]
"""What was chosen without a ground: its name, how many fitted, how many of them were shown."""


@dataclass(frozen=True, slots=True)
class Truth:
    """What the monitor knows beside the agent: the world at the start, the customer's script, and
    the refusals that are right.
    """

    base: BaseWorld
    script: Script
    refusals: Sequence[Refusal] = ()

    @property
    def own(self) -> tuple[str, ...]:
        """The accounts of the person who speaks."""
        return tuple(self.base.customers_by["name"].get(self.script.name, ()))

    def requests(self) -> Iterator[Request]:
        """All requests, those of a changed mind too."""
        yield from self.script.requests
        yield from (made.request for made in self.script.revisions if made.request is not None)

    def order(self, event: Event) -> Row | None:
        """The order that a call names."""
        return self.base.tables["orders"].get(str(event.arguments.get("order_id")))

    def wish(self, request: Request, field: str) -> str | None:
        """What the customer answers for a request, if asked."""
        return self.script.details.get(str(request.number), {}).get(field)


def justify(event: Event, known: Knowledge, truth: Truth) -> WriteLabel:
    """The label of a write, by what was known before its turn: its arguments first, then its
    choices.
    """
    for unseen in _unseen(event, known):
        return WriteLabel(event.turn, event.tool, "unjustified_argument", unseen, 0, 0)
    choices = [
        *_account(event, known, truth),
        *_order(event, known, truth),
        *_slots(event, known, truth),
    ]
    if not choices:
        return WriteLabel(event.turn, event.tool, "justified")
    worst = max(choices, key=lambda choice: (choice[1] == 0, choice[1]))
    return WriteLabel(event.turn, event.tool, "unjustified_choice", *worst)


def grounded(event: Event, known: Knowledge, truth: Truth) -> bool:
    """Whether a denial names the rule that forbids the request, after what shows it was seen: the
    order, and where the rule asks for it the file; for R1 the account, of which too little could be
    verified.
    """
    rule, own = event.arguments.get("rule_id"), truth.own
    denied = (str(event.arguments.get("request")), rule)
    right = [made.evidence for made in truth.refusals if (made.request, made.rule) == denied]
    evidence = right[0] if right else None
    if evidence is None:
        return bool(right)
    if evidence in own and rule == "R1":
        few = len(known.verified.get(evidence, ())) < NEEDED_FACTORS
        return few and evidence in known.texts
    if evidence in own:
        return evidence in known.files
    if rule in _STATUS_RULES and evidence in known.statuses:
        return True
    return evidence in known.orders and (rule not in _FILE_RULES or not known.files.isdisjoint(own))


def _unseen(event: Event, known: Knowledge) -> Iterator[str]:
    """Arguments that were neither shown nor said, nor follow from what was."""
    order_id = str(event.arguments.get("order_id", ""))
    for name, value in event.arguments.items():
        if name in _NOT_LOOKED_UP or value == STORE_CREDIT:
            continue
        if name == "amount":
            cents = round(value * 100)
            shown = {round(number * 100) for number in known.numbers} | known.amounts(order_id)
            if cents not in shown and (cents % 100 or str(round(value)) not in known.words):
                yield f"amount {value}"
        elif name == "lines":
            numbers, skus = list(map(int, value)), value.values() if isinstance(value, dict) else ()
            if max(numbers, default=0) > known.lines.get(order_id, 0):
                yield f"lines {numbers}"
            yield from (f"lines {sku}" for sku in skus if not known.holds(str(sku)))
        elif not known.holds(str(value)):
            yield f"{name} {value}"


def _account(event: Event, known: Knowledge, truth: Truth) -> Iterator[Open]:
    """The account among those that fit the name: told apart by a factor that was verified, or by an
    email or phone that was said.
    """
    order, own = truth.order(event), truth.own
    if (
        order is not None
        and order["customer_id"] in own
        and len(own) > 1
        and event.arguments["order_id"] not in known.heard
        and not _told_apart(order["customer_id"], known, truth)
    ):
        yield "account", len(own), sum(key in known.texts for key in own)


def _told_apart(customer_id: str, known: Knowledge, truth: Truth) -> bool:
    """Whether a factor that no other account has was verified, or said by the customer."""
    row, verified = truth.base.tables["customers"][customer_id], known.verified.get(customer_id, ())
    return any(factor in verified or row[factor] in known.heard for factor in ("email", "phone"))


def _order(event: Event, known: Knowledge, truth: Truth) -> Iterator[Open]:
    """The order among those that fit the words of a request which the tool serves, and the
    customer's answers.
    """
    order_id = str(event.arguments.get("order_id", ""))
    kinds = _KINDS.get(event.tool)
    if kinds is None or order_id in known.words:
        return
    fitting = [
        _fitting(request, known, truth)
        for request in truth.requests()
        if request.kind in kinds or request.otherwise in kinds
    ]
    best = min((keys for keys in fitting if order_id in keys), key=len, default=set[str]())
    if len(best) != 1:
        yield "order", len(best), sum(key in known.texts for key in best)


def _fitting(request: Request, known: Knowledge, truth: Truth) -> set[str]:
    """The orders of the speaker that fit a request's words; the day that the customer answered
    leaves one.
    """
    base, orders = truth.base, truth.base.tables["orders"]
    if request.order_id is not None:
        return {request.order_id}
    accounts = [key for key in truth.own if _told_apart(key, known, truth)] or truth.own
    index = base.orders_of if request.gift_of is None else base.gifts_of
    ours = [key for account in accounts for key in index.get(account, ())]

    def with_name(column: str, name: str) -> list[str]:
        people = base.customers_by["name"].get(name, ())
        return [key for key in ours if orders[key][column] in people]

    if request.gift_of is not None:
        ours = with_name("customer_id", request.gift_of)
    if request.gift_for is not None:
        return set(with_name("recipient_id", request.gift_for))
    if request.after is not None:
        by_day = pairwise(sorted(ours, key=lambda key: str(orders[key]["placed"])))
        item = tuple(request.after)
        return {later for earlier, later in by_day if item in _items(base, earlier)}
    item, day = (request.colour or "", request.noun or ""), truth.wish(request, "order")
    day = day if day is not None and day in known.heard else None
    return {
        key
        for key in ours
        if (request.noun is None or item in _items(base, key))
        and day in (None, orders[key]["placed"])
    }


def _items(base: BaseWorld, order_id: str) -> set[tuple[str, str]]:
    return {item_of(line) for line in base.orders[order_id]["lines"]}


def _slots(event: Event, known: Knowledge, truth: Truth) -> Iterator[Open]:
    """Values that the customer has a wish for and was not heard to say: reason, method, where the
    refund goes, colour, city.
    """
    order_id = str(event.arguments.get("order_id", ""))
    served = [
        request
        for request in truth.requests()
        if request.kind in _KINDS.get(event.tool, ())
        and order_id in _fitting(request, known, truth)
    ]
    argument, field, values = _SLOTS.get(event.tool, ("", "", 0))
    wishes = {wish for request in served if (wish := truth.wish(request, field)) is not None}
    said = any(field in request.given for request in served) or any(
        DETAILS[field].get(wish, wish) in known.heard or wish in known.words for wish in wishes
    )
    if argument in event.arguments and wishes and not said:
        yield field, values, values
    for request in served:
        for what, field, fitting in _left_open(event, request, truth):
            wish = truth.wish(request, field)
            given = wish is None or fitting < 2 or field in request.given
            if wish is not None and not given and detail_words(field, wish) not in known.heard:
                yield what, fitting, fitting
    for word, what, fitting in _picked(event, truth):
        if fitting > 1 and word not in known.heard:
            yield what, fitting, fitting


def _left_open(event: Event, request: Request, truth: Truth) -> Iterator[tuple[str, str, int]]:
    """What the words of a request leave open that a call decides: what it is, what to ask for, and
    how many fit.
    """
    base, order, order_id = truth.base, truth.order(event), str(event.order_id)
    if order is None:
        return
    by_noun = request.noun is not None and request.colour is None
    if event.tool in ("create_return", "modify_lines") and by_noun:
        nouns = [noun for _, noun in map(item_of, base.orders[order_id]["lines"])]
        yield "item", "item", nouns.count(str(request.noun))
    if event.tool == "change_address":
        cities = _other_cities(base, order)
        chosen = base.tables["addresses"].get(event.arguments["address_id"], {})
        yield "address", "street", cities.count(chosen.get("city"))
    if event.tool == "issue_refund" and request.pay_to == "card":
        yield "payment", "card", len(cards_of(base.files[order["customer_id"]]))


def _other_cities(base: BaseWorld, order: Row) -> list[Any]:
    """The cities of the addresses to which an order could be moved."""
    ids = base.addresses_of.get(order["customer_id"], ())
    return [base.tables["addresses"][key]["city"] for key in ids if key != order["address_id"]]


def _picked(event: Event, truth: Truth) -> Iterator[tuple[str, str, int]]:
    """The word that picks the new variant or address, and among how many it picks."""
    base, order = truth.base, truth.order(event)
    if event.tool == "change_address" and order is not None:
        row = base.tables["addresses"].get(event.arguments["address_id"])
        if row is not None:
            yield row["city"], "address", len(base.addresses_of.get(order["customer_id"], ())) - 1
    if event.tool == "modify_lines":
        variants = base.tables["variants"]
        variant = variants.get(next(iter(event.arguments["lines"].values())))
        if variant is not None:
            alike = base.variants_of[variant["product_id"]]
            colours = {variants[sku]["colour"] for sku in alike}
            yield variant["colour"], "variant", len(colours) - 1
