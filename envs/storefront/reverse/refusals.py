"""The request that has to be denied where a tool refused a write by a rule: one side of a minimal
pair whose one fact is the world's own.

In the pair's other world the fact is otherwise and the request can be done; where a second rule
forbids it there, there is no goal.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import date, timedelta
from random import Random

from synth.envs.storefront.customer.script import Kind
from synth.envs.storefront.reverse.matters import Matter, Write
from synth.envs.storefront.reverse.wishes import MOST_DRAWS, named
from synth.envs.storefront.reverse.writes import SENT
from synth.envs.storefront.tasks.intents import (
    Draw,
    Intent,
    Maker,
    address,
    cancel,
    compensation,
    coupon,
    destinations,
    exchange,
)
from synth.envs.storefront.tasks.pairs import Pair, pair_intent
from synth.envs.storefront.tasks.questions import makers
from synth.envs.storefront.tasks.returns import cards, category, return_, return_to_card
from synth.envs.storefront.tools.schemas import STORE_CREDIT
from synth.envs.storefront.world.config import StorefrontConfig
from synth.envs.storefront.world.rules import CANCELLABLE, above_limit
from synth.envs.storefront.world.world import BaseWorld, patched
from synth.schemas.check import Scalar
from synth.schemas.reverse import NoGoal

Denied = Iterator[tuple[Kind, Pair]]
"""Pairs that a refused write may be one side of, with the kind of request that could be done on the
other.
"""
Find = Callable[[Write, BaseWorld, str], Denied]
"""(write, world, order id) -> pairs."""
OPEN_BUT = frozenset({"processing"}) | SENT
"""Statuses of orders whose lines and price stand, and which are neither cancelled nor back."""


def denied_wish(
    matter: Matter,
    name: str,
    number: int,
    config: StorefrontConfig,
    base: BaseWorld,
    customer_id: str,
) -> Intent | NoGoal:
    """The request of this number, with its refusal; `name` seeds the words."""
    (write,) = matter.writes
    order = base.tables["orders"].get(matter.order_id or "")
    find = _RULES.get((str(write.rule), write.tool))
    if order is None or order["customer_id"] != customer_id or find is None:
        return NoGoal(f"denied_otherwise:{write.rule}")
    for kind, pair in find(write, base, str(matter.order_id)):
        allowing = patched(base, tuple(pair.facts(base, refused=False).items()))
        if pair.facts(base, refused=True) or kind not in makers(
            allowing, pair.order_id, customer_id
        ):
            continue
        for attempt in range(MOST_DRAWS):
            draw = Draw(
                Random(f"{name}/{attempt}"), _honest(config, pair), allowing, number, customer_id
            )
            draws = [
                named(replace(draw, rng=Random(f"{name}/{attempt}")), matter) for _ in range(2)
            ]
            if _asks_for(write, pair.make(draws[0], pair.order_id), base):
                return pair_intent(draws[1], pair, refused=True)
    return NoGoal(f"two_rules_or_no_words:{write.rule}")


def _honest(config: StorefrontConfig, pair: Pair) -> StorefrontConfig:
    """Without claims where those of the rule are about another fact than the pair's."""
    claims = {"R7": "modified", "R9": "status"}.get(pair.rule)
    return (
        config
        if claims in (None, pair.path.rsplit("/", 1)[-1])
        else config.model_copy(update={"false_claims": 0.0})
    )


def _status(rule: str, kind: Kind, make: Maker, statuses: frozenset[str]) -> Find:
    """The order is too far on its way."""

    def find(write: Write, base: BaseWorld, order_id: str) -> Denied:
        status = base.tables["orders"][order_id]["status"]
        if status in statuses:
            yield kind, Pair(rule, order_id, make, f"orders/{order_id}/status", status, "pending")

    return find


def _address(write: Write, base: BaseWorld, order_id: str) -> Denied:
    """R11: sent already, or to a city in which the customer has no address: as if one that they
    have were there.
    """
    yield from _status("R11", "address", address, SENT)(write, base, order_id)
    order, addresses = base.tables["orders"][order_id], base.tables["addresses"]
    wanted = addresses.get(str(write.arguments["address_id"]))
    own = base.addresses_of[order["customer_id"]]
    if (
        wanted is None
        or order["status"] not in CANCELLABLE
        or wanted["city"] in {addresses[key]["city"] for key in own}
    ):
        return
    for city, keys in sorted(destinations(base, order_id).items()):
        if len(keys) == 1:
            path = f"addresses/{keys[0]}/city"
            yield (
                "address",
                Pair(
                    "R11",
                    order_id,
                    address,
                    path,
                    city,
                    wanted["city"],
                    claim="R11 file",
                    evidence=order["customer_id"],
                ),
            )


def _exchange(write: Write, base: BaseWorld, order_id: str) -> Denied:
    """R7: not pending any more, or modified before."""
    order = base.tables["orders"][order_id]
    if order["modified"] and order["status"] == "pending":
        yield "exchange", Pair("R7", order_id, exchange, f"orders/{order_id}/modified", True, False)
    elif not order["modified"]:
        yield from _status("R7", "exchange", exchange, OPEN_BUT)(write, base, order_id)


def _coupon(write: Write, base: BaseWorld, order_id: str) -> Denied:
    """R9: not pending any more, or with another coupon."""
    order = base.tables["orders"][order_id]
    if order["coupon"] is None:
        yield from _status("R9", "coupon", coupon, OPEN_BUT)(write, base, order_id)
    elif order["coupon"] != write.arguments["code"] and order["status"] == "pending":
        yield (
            "coupon",
            Pair("R9", order_id, coupon, f"orders/{order_id}/coupon", order["coupon"], None),
        )


def _returned(path: str, allowing: Callable[[BaseWorld], Scalar], rule: str) -> Find:
    """A return of a delivered order that one of its columns forbids."""

    def find(write: Write, base: BaseWorld, order_id: str) -> Denied:
        order = base.tables["orders"][order_id]
        if order["status"] == "delivered":
            yield (
                "return",
                Pair(
                    rule,
                    order_id,
                    return_,
                    f"orders/{order_id}/{path}",
                    order[path],
                    allowing(base),
                ),
            )

    return find


def _final_sale(write: Write, base: BaseWorld, order_id: str) -> Denied:
    """R8, for one line."""
    for number in write.arguments["lines"][:1] if len(write.arguments["lines"]) == 1 else ():
        line_key = f"{order_id}.{number}"
        sold, others = (
            category(base, line_key),
            sorted({row["category"] for row in base.tables["products"].values()}),
        )
        product_id = base.tables["variants"][base.tables["lines"][line_key]["sku"]]["product_id"]
        allowing = next(other for other in others if other not in base.rules.final_sale)
        yield (
            "return",
            Pair("R8", order_id, return_, f"products/{product_id}/category", sold, allowing),
        )


def _refund(write: Write, base: BaseWorld, order_id: str) -> Denied:
    """R12: it came in time, for what the policy calls so."""
    order = base.tables["orders"][order_id]
    if order["status"] == "delivered" and write.arguments["to"] == STORE_CREDIT:
        late = date.fromisoformat(order["delivered"]) - timedelta(days=base.rules.late_days + 1)
        yield (
            "compensation",
            Pair(
                "R12",
                order_id,
                compensation,
                f"orders/{order_id}/promised",
                order["promised"],
                late.isoformat(),
            ),
        )


def _other_card(write: Write, base: BaseWorld, order_id: str) -> Denied:
    """R5: to a card of the customer that the order was not paid with."""
    order, to = base.tables["orders"][order_id], write.arguments["to"]
    if (
        order["status"] == "delivered"
        and to in cards(base, order["customer_id"])
        and not above_limit(base.rules, order["total_cents"])
    ):
        yield (
            "return",
            Pair(
                "R5",
                order_id,
                return_to_card,
                f"orders/{order_id}/payment_id",
                order["payment_id"],
                to,
            ),
        )


_RULES: Mapping[tuple[str, str], Find] = {
    ("R3", "cancel_order"): _status("R3", "cancel", cancel, SENT),
    ("R4", "create_return"): _returned("delivered", lambda base: base.today, "R4"),
    ("R5", "issue_refund"): _other_card,
    ("R7", "modify_lines"): _exchange,
    ("R8", "create_return"): _final_sale,
    ("R9", "apply_coupon"): _coupon,
    ("R11", "change_address"): _address,
    ("R12", "issue_refund"): _refund,
    ("R15", "create_return"): _returned("recipient_id", lambda base: None, "R15"),
}


def _asks_for(write: Write, intent: Intent, base: BaseWorld) -> bool:
    """Whether a request, could it be done, would be done by this write."""
    made, rows = write.arguments, intent.required
    if write.tool == "change_address":
        wanted = base.tables["addresses"][made["address_id"]]
        on_file = wanted["customer_id"] == base.tables["orders"][made["order_id"]]["customer_id"]
        city = intent.request.wanted or intent.details["city"]
        return bool(
            rows[0].where["address_id"] == made["address_id"] if on_file else city == wanted["city"]
        )
    if write.tool == "modify_lines":
        skus = {f"{made['order_id']}.{number}": sku for number, sku in made["lines"].items()}
        return skus == {row.where["id"]: row.where["sku"] for row in rows if row.table == "lines"}
    if write.tool == "apply_coupon":
        return any(row.where.get("coupon") == made["code"] for row in rows)
    if write.tool == "create_return":
        lines = {f"{made['order_id']}.{number}" for number in made["lines"]}
        return lines == {row.where["id"] for row in rows if row.table == "lines"}
    if write.tool == "issue_refund" and made["to"] != STORE_CREDIT:
        return bool(intent.request.pay_to == base.tables["payments"][made["to"]]["last4"])
    return True
