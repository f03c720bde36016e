"""Minimal pairs: a request that one rule forbids, and the same words where one hidden fact differs
and nothing forbids them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from string import Template
from typing import Any

from synth.envs.storefront.tasks.intents import WORDS, Draw, Intent, Subject
from synth.envs.storefront.tasks.referent import by_id
from synth.envs.storefront.tasks.wording import to_card, worded
from synth.envs.storefront.texts import texts
from synth.envs.storefront.world.catalogue import CATEGORIES
from synth.envs.storefront.world.options import refunds_of
from synth.envs.storefront.world.policy import STORE_CREDIT, Call
from synth.envs.storefront.world.views import Shown, cards_of, numbered
from synth.envs.storefront.world.world import patched
from synth.schemas import Scalar

Row = Mapping[str, Any]
PAIRS: Sequence[Row] = [row for row in texts("pairs") for _ in range(row.get("weight", 1))]
MOST_TRIED = 8
"""Orders, and values of a fact, that are tried."""
MOST_DAYS = 7
"""Days by which the dates of a pair lie apart, at most."""


def draw_pair(
    draw: Draw,
    *,
    refused: bool,
) -> Subject | None:
    """One of the pairs that the customer's orders allow, whose rule is in force; the side that is
    `refused` comes first, or the other one.
    """
    # rows are in the list as often as they weigh: each is tried until one fits
    for row in draw.rng.sample(PAIRS, len(PAIRS)):
        if row["rule"] in draw.base.rules.in_force:
            for order in _orders(draw, row)[:MOST_TRIED]:
                pair = _pair(
                    draw,
                    row,
                    order,
                    refused=refused,
                )

                if pair is not None:
                    return pair

    return None


def _orders(
    draw: Draw,
    row: Row,
) -> list[Shown]:
    """The orders that a pair may be about, in a drawn order: the customer's, or those of others
    that were for themselves, or for the customer.
    """
    if "of" not in row:
        return draw.mine(*row["in"])

    base = draw.base
    me = draw.customer_id
    own = base.customers_by["name"][draw.file["name"]]

    found = [
        base.orders[key]
        for key, order in base.tables["orders"].items()
        if order["status"] in row["in"] and order["customer_id"] not in own
        if order["recipient_id"] in (None, me)
    ]

    return draw.rng.sample(found, len(found))


def _pair(draw: Draw, row: Row, order: Shown, *, refused: bool) -> Subject | None:
    """A pair of an order, with one of the other values that the fact can have: one of the two
    worlds forbids the request by that rule alone, the other does not.
    """
    base = draw.base

    # what the path of a fact may name
    path = Template(row["path"]).substitute(
        order=order["order_id"],
        me=draw.customer_id,
        product=base.row("variants", order["lines"][0]["sku"])["product_id"],
        address=draw.rng.choice(draw.file["addresses"])["address_id"],
    )

    table, key, column = path.split("/")
    value = base.row(table, key)[column]
    others = [other for other in _values_of(draw, row, column, value) if other != value]

    for other in draw.rng.sample(others, min(len(others), MOST_TRIED)):
        facts: dict[str, Scalar] = {path: other}
        changed = patched(base, tuple(facts.items()))

        # the fact may forbid the request in the world as it is, or with the other value
        for shown, refusing in ((base, changed), (changed, base)):
            against = replace(draw, base=refusing)
            done = _allowed(replace(draw, base=shown), row, order["order_id"], path)

            # factors that the customer knows are those of the world as it is
            if done is None or ("known" in row and shown is changed):
                continue

            if _forbidding(against, row, done) == {row["rule"]}:
                sides = _sides(against, row, done)
                is_own = (shown is base) is not refused

                return Subject(
                    shown,
                    sides if refused else sides[::-1],
                    {} if is_own else facts,
                    row["rule"],
                    tuple(row.get("known", ())),
                    # another wish for an address would be one for the very fact that differs
                    steady=table == "addresses",
                )

    return None


def _values_of(
    draw: Draw,
    row: Row,
    column: str,
    value: Scalar,
) -> Sequence[Scalar]:
    """The values that a fact can have; days are those around its own."""
    base = draw.base
    me = draw.customer_id

    # a rule counts days: a week to either side crosses its limit, if any does
    if column in ("delivered", "promised"):
        day = date.fromisoformat(str(value))

        return [(day + timedelta(days=by)).isoformat() for by in range(-MOST_DAYS, MOST_DAYS + 1)]

    # a second account of the same name would be the same person
    name = draw.file["name"]
    customers = base.tables["customers"]
    strangers = [key for key, other in customers.items() if other["name"] != name]

    known: Mapping[str, Sequence[Scalar]] = {
        "status": ("pending", "processing"),
        "category": CATEGORIES,
        "modified": (True, False),
        "payment_id": base.payments_of[me],
        "recipient_id": (None, me if "of" in row else draw.rng.choice(strangers)),
    }

    # a city, or a zip
    return known.get(column) or sorted({row[column] for row in base.tables["addresses"].values()})


def _allowed(
    draw: Draw,
    row: Row,
    order_id: str,
    path: str,
) -> Intent | None:
    """The request of a pair in the world that allows it; None where that does not."""
    order = draw.base.orders[order_id]
    several = len(order["lines"]) > 1

    calls = [
        (tool, made)
        for tool, made in draw.feasible(order_id).get(row["kind"], [])
        if "lines" not in row or len(made["lines"]) == len(order["lines"])
        # the address that differs is the one that is asked for
        if not path.startswith("addresses") or f"/{made['address_id']}/" in path
    ]

    if not calls or ("lines" in row and several is not (row["lines"] == "all")):
        return None

    call = draw.rng.choice(calls)

    if "of" in row:
        # in the other world nobody gave it to the customer: only its id names it
        line, *_ = numbered(order, call[1].get("lines", (1,)))
        draw = replace(draw, referent=by_id(draw.base, order_id, line))

    done = worded(draw, call)

    if row["rule"] != "R5":
        return done

    # a gift balance has no digits to name it by
    is_card = order["payment_id"] in cards_of(draw.file).values()

    return to_card(draw, done, order["payment_id"]) if is_card else None


def _forbidding(
    draw: Draw,
    row: Row,
    done: Intent,
) -> set[str]:
    """The rules that forbid a request in a world."""
    options = draw.options
    # an escalation is the way out of R6, which forbids nothing that the customer asked for
    calls = [call for call in done.calls if call[0] != "escalate"]
    found = {rule for call in calls for rule in options.forbidding(call)}

    if "known" in row and len(draw.base.customers_by["name"][draw.file["name"]]) == 1:
        # the zip that they know is not the one on file
        found.add("R1")

    if done.request.kind == "address":
        said = done.request.wanted or done.details.get("city")
        # the customer names the city alone: where none fits, no call can be made at all
        cities = {address["city"] for address in draw.file["addresses"]}
        found |= set() if said in cities else {"R11"}

    return found


def _sides(
    refusing: Draw,
    row: Row,
    done: Intent,
) -> tuple[Intent, Intent]:
    """The request as it is denied and as it is done, in the same words; at times with a claim that
    is true in one of the two worlds.
    """
    rule = row["rule"]
    claims = refusing.rng.random() < refusing.config.false_claims

    if claims:
        done = done.complicated(words=WORDS["claims"][row.get("words", rule)])

    left = _left_to_return(refusing, done) if rule == "R8" else []
    about_file = "known" in row or row.get("words") == "R11 file"
    # who reads the file knows that; else who reads the order
    evidence = refusing.customer_id if about_file else done.calls[0][1]["order_id"]
    names = ["false_claim"] * claims + [f"ineligible_{rule}"] + ["partial_refusal"] * bool(left)

    return done.denied(rule, evidence, *left).complicated(*names), done


def _left_to_return(refusing: Draw, done: Intent) -> list[Call]:
    """What is left of a return of which some lines were a final sale."""
    rules = refusing.base.rules
    tool, made = done.calls[0]
    order = refusing.base.orders[made["order_id"]]
    taken = numbered(order, made["lines"])
    numbers = [line["line"] for line in taken if not rules.is_final_sale(line["category"])]
    to = -1 if done.details["refund_to"] == STORE_CREDIT else 0

    if not numbers:
        return []

    return [(tool, {**made, "lines": numbers}), refunds_of(rules, order, numbers)[to]]
