"""Minimal pairs: a request that one rule forbids, and the same words where one hidden fact differs and nothing forbids them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from random import Random

from msgspec import structs

from envs.storefront.intents import (
    Draw,
    Intent,
    Maker,
    address,
    cancel,
    compensation,
    coupon,
    deserves_compensation,
    exchange,
    gift_return,
    other_colours,
    refunded,
    return_,
    returnable,
)
from envs.storefront.referents import Referent
from envs.storefront.rules import within_window
from envs.storefront.wordings import CLAIMS
from envs.storefront.world import BaseWorld, patched
from schemas.check import Refusal, RowPredicate, Scalar

DELIVERED_AROUND = 4
"""Days by which a pair's deliveries lie apart from the window's end, at most."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A request about an order; `path` has `forbidding` in the denied task, `allowing` in the other; `partly`: some lines can go back."""

    rule: str
    order_id: str
    make: Maker
    path: str
    forbidding: Scalar
    allowing: Scalar
    partly: tuple[str, ...] = ()

    def facts(self, base: BaseWorld, *, refused: bool) -> dict[str, Scalar]:
        """The start fact of one of the two tasks, where it differs from the world's own."""
        value = self.forbidding if refused else self.allowing
        table, key, column = self.path.split("/")
        return {} if base.tables[table][key][column] == value else {self.path: value}


def _where(base: BaseWorld, customer_id: str, *statuses: str) -> list[str]:
    orders = base.tables["orders"]
    mine = [key for key in base.orders_of.get(customer_id, ()) if orders[key]["recipient_id"] is None]
    return [key for key in mine if orders[key]["status"] in statuses]


def _shipped(base: BaseWorld, customer_id: str, rng: Random) -> Iterator[Pair]:
    for rule, make in (("R3", cancel), ("R11", address)):
        for key in _where(base, customer_id, "shipped"):
            yield Pair(rule, key, make, f"orders/{key}/status", "shipped", "pending")


def _late(base: BaseWorld, customer_id: str, rng: Random) -> Iterator[Pair]:
    today, window = date.fromisoformat(base.today), base.rules.window_days[base.tables["customers"][customer_id]["tier"]]
    over, within = rng.randrange(1, DELIVERED_AROUND), rng.randrange(0, DELIVERED_AROUND)
    late, still = ((today - timedelta(days=days)).isoformat() for days in (window + over, window - within))
    for key in _where(base, customer_id, "delivered"):
        path = f"orders/{key}/delivered"
        if base.tables["orders"][key]["placed"] < late and returnable(patched(base, ((path, still),)), key, customer_id):
            yield Pair("R4", key, return_, path, late, still)


def _sold_finally(base: BaseWorld, customer_id: str, rng: Random) -> Iterator[Pair]:
    """Where it is one line of several, the customer wants to return all: the others can go back."""
    tables, sale = base.tables, base.rules.final_sale[0]
    for key in _where(base, customer_id, "delivered"):
        lines = list(base.lines_of[key])
        if returnable(base, key, customer_id) != lines:
            continue
        product_ids = [tables["variants"][tables["lines"][line]["sku"]]["product_id"] for line in lines]
        path, allowing = f"products/{product_ids[0]}/category", tables["products"][product_ids[0]]["category"]
        if len(lines) == 1:
            yield Pair("R8", key, return_, path, sale, allowing)
        elif product_ids[0] not in product_ids[1:]:
            yield Pair("R8", key, _return_all, path, sale, allowing, tuple(lines[1:]))


def _return_all(draw: Draw, order_id: str) -> Intent:
    line_keys = list(draw.base.lines_of[order_id])
    referent = Referent(order_id, line_keys[0], True, 1, f"order {order_id}", "")
    request = draw.request("return", draw.words("return_all", order=referent.phrase), referent, item=False)
    method, refund_to = draw.detail("method"), draw.detail("refund_to")
    required, free = refunded(draw, order_id, line_keys, method, refund_to)
    return Intent(request, {"method": method, "refund_to": refund_to}, tuple(required), tuple(free), referent=referent)


def _pending(base: BaseWorld, customer_id: str, rng: Random) -> Iterator[Pair]:
    for key in _where(base, customer_id, "pending"):
        if any(other_colours(base, line) for line in base.lines_of[key]):
            yield Pair("R7", key, exchange, f"orders/{key}/modified", True, False)
        if base.tables["orders"][key]["coupon"] is None:
            yield Pair("R9", key, coupon, f"orders/{key}/status", "processing", "pending")


def _promised(base: BaseWorld, customer_id: str, rng: Random) -> Iterator[Pair]:
    for key in _where(base, customer_id, "delivered"):
        order, path = base.tables["orders"][key], f"orders/{key}/promised"
        delivered = date.fromisoformat(order["delivered"])
        late, punctual = ((delivered - timedelta(days=base.rules.late_days + more)).isoformat() for more in (1, 0))
        if late > order["placed"] and deserves_compensation(patched(base, ((path, late),)), key):
            yield Pair("R12", key, compensation, path, punctual, late)


def _gifts(base: BaseWorld, customer_id: str, rng: Random) -> Iterator[Pair]:
    tier = base.tables["customers"][customer_id]["tier"]
    for key, order in sorted(base.tables["orders"].items()):
        foreign = order["customer_id"] != customer_id and order["status"] == "delivered" and order["recipient_id"] in (None, customer_id)
        if foreign and _name(base, order["customer_id"]) != _name(base, customer_id) and "R15" in base.rules.in_force:
            in_window = within_window(base.rules, tier, order["delivered"], base.today)
            if in_window and len(returnable(base, key, customer_id)) == len(base.lines_of[key]):
                yield Pair("R10", key, gift_return, f"orders/{key}/recipient_id", None, customer_id)


def _name(base: BaseWorld, customer_id: str) -> str:
    return str(base.tables["customers"][customer_id]["name"])


_TEMPLATES: tuple[Callable[[BaseWorld, str, Random], Iterator[Pair]], ...] = (
    _shipped,
    _late,
    _late,
    _sold_finally,
    _pending,
    _promised,
    _gifts,
)
"""As often as each is tried first."""


def draw_pair(rng: Random, base: BaseWorld, customer_id: str) -> Pair | None:
    """One of the customer's possible pairs whose rule is in force."""
    for template in rng.sample(_TEMPLATES, len(_TEMPLATES)):
        found = [pair for pair in template(base, customer_id, rng) if pair.rule in base.rules.in_force]
        if found:
            return rng.choice(found)
    return None


def pair_intent(draw: Draw, pair: Pair, *, refused: bool) -> Intent:
    """One side of a pair; `draw.base` is the allowing world, so that both sides have the same words."""
    intent = pair.make(draw, pair.order_id)
    if draw.rng.random() < draw.config.false_claims:
        request = structs.replace(intent.request, text=intent.request.text + CLAIMS[pair.rule])
        intent = replace(intent, request=request, twists=(*intent.twists, "false_claim") if refused else intent.twists)
    if not refused:
        return intent
    required: tuple[RowPredicate, ...] = ()
    free: tuple[str, ...] = ()
    if pair.partly:
        kept, paths = refunded(draw, pair.order_id, list(pair.partly), intent.details["method"], intent.details["refund_to"])
        required, free = tuple(kept), tuple(paths)
    refusal = Refusal(str(draw.number), pair.rule, pair.order_id)
    twists = (*intent.twists, f"ineligible_{pair.rule}", *(("partial_refusal",) if pair.partly else ()))
    return replace(intent, required=required, free=free, told=(), refusals=(refusal,), twists=twists)
