"""Minimal pairs: a request that one rule forbids, and the same words where one hidden fact differs
and nothing forbids them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from string import Template
from typing import Any

from synth.envs.storefront.tasks.complications import mine
from synth.envs.storefront.tasks.entity_resolution import WORDS, by_id
from synth.envs.storefront.tasks.requests import feasible, options_of, to_card, worded
from synth.envs.storefront.tasks.user_intents import Draw, Intent
from synth.envs.storefront.texts import texts
from synth.envs.storefront.world.catalogue import CATEGORIES
from synth.envs.storefront.world.options import refunds_of
from synth.envs.storefront.world.policy import Call
from synth.envs.storefront.world.views import Shown, cards_of, numbered
from synth.envs.storefront.world.world import BaseWorld, patched
from synth.schemas.check import Scalar

PAIRS: Sequence[Mapping[str, Any]] = [
    row for row in texts("pairs") for _ in range(row.get("weight", 1))
]
MOST_DAYS = 7
"""Days by which the dates of a pair lie apart, at most."""
MOST_VALUES = 8
"""Values of a fact that are tried."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A request as it is denied and as it is done, the worlds in which it is, and the start fact of
    each, where it differs from the world's own. With `known` factors the customer has no others, and
    every request about their orders is denied.
    """

    rule: str
    denied: Intent
    done: Intent
    shown: BaseWorld
    forbidding: Mapping[str, Scalar]
    allowing: Mapping[str, Scalar]
    known: tuple[str, ...] = ()


def draw_pair(draw: Draw) -> Pair | None:
    """One of the pairs that the customer's orders allow, whose rule is in force."""
    for row in draw.rng.sample(PAIRS, len(PAIRS)):
        if row["rule"] in draw.base.rules.in_force:
            orders = _others(draw, row["in"]) if "of" in row else mine(draw, *row["in"])
            for order in draw.rng.sample(orders, min(len(orders), MOST_VALUES)):
                pair = _pair(draw, row, order)
                if pair is not None:
                    return pair
    return None


def _others(draw: Draw, statuses: Sequence[str]) -> list[Shown]:
    """Orders of others that were for themselves, or for the customer."""
    base, me = draw.base, draw.customer_id
    own = base.customers_by["name"][base.files[me]["name"]]
    return [
        base.orders[key]
        for key, row in base.tables["orders"].items()
        if row["status"] in statuses and row["customer_id"] not in own
        if row["recipient_id"] in (None, me)
    ]


def _pair(draw: Draw, row: Mapping[str, Any], order: Shown) -> Pair | None:
    """A pair of an order, with one of the other values that the fact can have: one of the two worlds
    forbids the request by that rule alone, the other does not.
    """
    base, me = draw.base, draw.customer_id
    product_id = base.row("variants", order["lines"][0]["sku"])["product_id"]
    address_id = draw.rng.choice(base.files[me]["addresses"])["address_id"]
    named = {"order": order["order_id"], "me": me, "product": product_id, "address": address_id}
    path = Template(row["path"]).substitute(named)
    table, key, column = path.split("/")
    value = base.row(table, key)[column]

    others = [other for other in _values(draw, row, column, value) if other != value]
    for other in draw.rng.sample(others, min(len(others), MOST_VALUES)):
        worlds = [(base, {}), (patched(base, ((path, other),)), {path: other})]
        # factors that the customer knows are those of the world as it is
        both = [worlds] if "known" in row else [worlds, worlds[::-1]]
        for (shown, allowing), (refusing, forbidding) in both:
            at = replace(draw, base=shown)
            done = _allowed(at, row, order["order_id"], path)
            if done is not None and _forbids(replace(draw, base=refusing), row, done):
                return _sides(at, row, done, refusing, allowing, forbidding)
    return None


def _values(draw: Draw, row: Mapping[str, Any], column: str, value: Scalar) -> Sequence[Scalar]:
    """The values that a fact can have; days are those around its own."""
    base, me = draw.base, draw.customer_id
    if column in ("delivered", "promised"):
        day = date.fromisoformat(str(value))
        days = [day + timedelta(days=by) for by in range(-MOST_DAYS, MOST_DAYS + 1)]
        return [other.isoformat() for other in days]
    customers, name = base.tables["customers"], base.files[me]["name"]
    strangers = [key for key, other in customers.items() if other["name"] != name]
    known: Mapping[str, Sequence[Scalar]] = {
        "status": ("pending", "processing"),
        "category": CATEGORIES,
        "modified": (True, False),
        "payment_id": base.payments_of[me],
        "recipient_id": (None, me if "of" in row else draw.rng.choice(strangers)),
    }
    return known.get(column) or sorted({row[column] for row in base.tables["addresses"].values()})


def _allowed(draw: Draw, row: Mapping[str, Any], order_id: str, path: str) -> Intent | None:
    """The request of a pair in the world that allows it; None where that does not."""
    order = draw.base.orders[order_id]
    calls = feasible(draw, order_id).get(row["kind"], [])
    if "lines" in row:
        several = len(order["lines"]) > 1
        whole = [call for call in calls if len(call[1]["lines"]) == len(order["lines"])]
        calls = whole if several is (row["lines"] == "all") else []
    if path.startswith("addresses"):
        calls = [call for call in calls if f"/{call[1]['address_id']}/" in path]
    cards = cards_of(draw.base.files[draw.customer_id]).values()
    if not calls or (row["rule"] == "R5" and order["payment_id"] not in cards):
        return None
    call = draw.rng.choice(calls)
    if "of" in row:
        # in the other world nobody gave it to the customer: only its id names it
        named = by_id(draw.base, order_id, numbered(order, call[1].get("lines", (1,)))[0])
        draw = replace(draw, referent=named)
    done = worded(draw, call)
    return to_card(draw, done, order["payment_id"]) if row["rule"] == "R5" else done


def _forbids(draw: Draw, row: Mapping[str, Any], done: Intent) -> bool:
    """Whether the rule of a pair, and no other, forbids the request."""
    options, file = options_of(draw), draw.base.files[draw.customer_id]
    calls = [call for call in done.calls if call[0] != "escalate"]
    found = {rule for call in calls for rule in options.forbidding(call)}
    if "known" in row and len(draw.base.customers_by["name"][file["name"]]) == 1:
        # the zip that they know is not the one on file
        found.add("R1")
    if done.request.kind == "address":
        cities = {address["city"] for address in file["addresses"]}
        said = done.request.wanted or done.details.get("city")
        found |= {"R11"} if said not in cities else set()
    return found == {row["rule"]}


def _sides(
    draw: Draw,
    row: Mapping[str, Any],
    done: Intent,
    refusing: BaseWorld,
    allowing: Mapping[str, Scalar],
    forbidding: Mapping[str, Scalar],
) -> Pair:
    """Both sides in the same words, at times with a claim that is true in one of the two."""
    rule, evidence = row["rule"], done.calls[0][1]["order_id"]
    if "known" in row or row.get("words") == "R11 file":
        evidence = draw.customer_id
    claims = draw.rng.random() < draw.config.false_claims
    if claims:
        done = done.complicated(words=WORDS["claims"][row.get("words", rule)])
    left = _left(refusing, done) if rule == "R8" else ()
    kinds = ["false_claim"] * claims + [f"ineligible_{rule}"] + ["partial_refusal"] * bool(left)
    denied = done.denied(rule, evidence, *left).complicated(*kinds)
    known = tuple(row.get("known", ()))
    return Pair(rule, denied, done, draw.base, forbidding, allowing, known)


def _left(refusing: BaseWorld, done: Intent) -> Sequence[Call]:
    """What is still done of a return of which some lines may not go back."""
    (tool, made), *_ = done.calls
    order = refusing.orders[made["order_id"]]
    left = [
        line["line"]
        for line in order["lines"]
        if line["line"] in made["lines"] and not refusing.rules.is_final_sale(line["category"])
    ]
    if not left:
        return ()
    to_credit = done.details["refund_to"] == "store_credit"
    ways = refunds_of(refusing.rules, order, left)
    return (tool, {**made, "lines": left}), ways[-1 if to_credit else 0]
