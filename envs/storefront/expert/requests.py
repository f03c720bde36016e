"""How the expert carries out each kind of request: the next calls, none where it is settled."""

from collections.abc import Callable
from typing import Any

from synth.envs.storefront.customer.script import Request
from synth.envs.storefront.expert.answers import (
    item_meant,
    lines_meant,
    refund_amount,
    variant_meant,
)
from synth.envs.storefront.expert.asking import (
    asking,
    asking_what,
    confirming,
    denial,
    detail,
    forbids,
    known,
    questions,
    wanted,
)
from synth.envs.storefront.expert.locating import located
from synth.envs.storefront.expert.plan import Call, Plan
from synth.envs.storefront.expert.returning import gives_in, return_calls
from synth.envs.storefront.tools.schemas import MONEY_WRITES, STORE_CREDIT
from synth.envs.storefront.world.rules import CANCELLABLE, is_late


def calls_for(plan: Plan, customer_id: str, request: Request) -> list[Call]:
    """The next calls for a request; several stand together where none needs the answer of
    another.
    """
    if request.kind == "price_query":
        return _price(plan, request)
    if request.kind == "out_of_scope":
        return _out_of_scope(plan, request)
    if request.kind == "note":
        return _note(plan, request)
    order_id, calls = located(plan, customer_id, request)
    if calls or order_id is None:
        return calls
    if order_id not in plan.belief.orders or order_id in plan.belief.doubtful:
        return [("get_order", {"order_id": order_id})]
    order = plan.belief.orders[order_id]
    if customer_id not in (order["customer_id"], order["recipient_id"]) and forbids(plan, "R10"):
        return denial(plan, request, "R10")
    if (
        request.number in plan.belief.denied
        and plan.belief.denied[request.number] != "R8"
        and not gives_in(plan, request)
    ):
        return []
    request, calls = item_meant(plan, request, order)
    if calls or (request.noun is not None and request.colour is None):
        return calls
    return _KINDS[request.kind](plan, customer_id, request, order)


def _search(plan: Plan, request: Request) -> list[Call]:
    return (
        []
        if request.noun in plan.belief.products
        else [("search_products", {"query": request.noun})]
    )


def _price(plan: Plan, request: Request) -> list[Call]:
    calls = _search(plan, request)
    variant = (
        variant_meant(plan, request.noun, request.colour, request.size or "one")
        if request.former and not calls
        else None
    )
    if variant is None or variant["sku"] in plan.belief.variants:
        return calls
    return [("get_variant", {"sku": variant["sku"]})]


def _out_of_scope(plan: Plan, request: Request) -> list[Call]:
    """R13; `over_refuses` denies it."""
    if "over_refuses" in plan.wrong:
        return denial(plan, request, "R13")
    if any(
        name == "escalate" and made["reason_code"] == "out_of_scope"
        for name, made in plan.belief.writes
    ):
        return []
    return [
        (
            "escalate",
            {"reason_code": "out_of_scope", "summary": f"The customer asks: {request.text}"},
        )
    ]


def _note(plan: Plan, request: Request) -> list[Call]:
    made = {"ticket_id": request.ticket_id, "text": request.note}
    return [] if ("add_note", made) in plan.belief.writes else [("add_note", made)]


def _file(plan: Plan, customer_id: str) -> list[Call]:
    return (
        [] if customer_id in plan.belief.files else [("get_customer", {"customer_id": customer_id})]
    )


def _attempt(plan: Plan, request: Request, call: Call) -> list[Call]:
    """A write, after the customer's agreement where money moves; where a tool refused it by a rule,
    the denial that follows.
    """
    rule = plan.belief.refused_by(call)
    if rule is None:
        return (confirming(plan, request, call) if call[0] in MONEY_WRITES else []) or [call]
    return (
        denial(plan, request, rule)
        if "tries_anyway" not in plan.wrong and forbids(plan, rule)
        else []
    )


def _reread(plan: Plan, request: Request, order_id: str) -> list[Call]:
    """A total that is to be told is read again after a write; `stale_reads` does not."""
    if (
        not request.tell_total
        or "stale_reads" in plan.wrong
        or order_id not in plan.belief.outdated
    ):
        return []
    return [("get_order", {"order_id": order_id})]


def _cancel(plan: Plan, customer_id: str, request: Request, order: dict[str, Any]) -> list[Call]:
    order_id = order["order_id"]
    if plan.belief.has_written("cancel_order", order_id) or order["status"] == "cancelled":
        return []
    if order["status"] not in CANCELLABLE and request.condition == "not_shipped":
        return _track(plan, customer_id, request, order)
    if (
        order["status"] not in CANCELLABLE
        and "tries_anyway" not in plan.wrong
        and forbids(plan, "R3")
    ):
        return denial(plan, request, "R3")
    return asking(plan, request, "reason") or _attempt(
        plan,
        request,
        ("cancel_order", {"order_id": order_id, "reason": detail(plan, request, "reason")}),
    )


def _exchange(plan: Plan, customer_id: str, request: Request, order: dict[str, Any]) -> list[Call]:
    order_id, lines = order["order_id"], lines_meant(order, request)
    if plan.belief.has_written("modify_lines", order_id):
        return _reread(plan, request, order_id)
    if not lines or order["status"] == "cancelled":
        return []
    if (order["modified"] or order["status"] != "pending") and forbids(plan, "R7"):
        return denial(plan, request, "R7")
    colour = wanted(plan, request)
    calls = asking_what(plan, request) or _search(plan, request)
    variant = (
        None
        if calls or colour is None
        else variant_meant(plan, request.noun, colour, lines[0]["size"])
    )
    if variant is None:
        return calls
    sku = variant["sku"]
    call: Call = ("modify_lines", {"order_id": order_id, "lines": {str(lines[0]["line"]): sku}})
    trusts_search = "stale_reads" in plan.wrong
    if (
        (plan.strategy.checks_stock or request.condition is not None)
        and sku not in plan.belief.variants
        and not trusts_search
    ):
        return [("get_variant", {"sku": sku})]
    if request.condition == "in_stock" and _is_out(plan, call, variant, lines[0]["quantity"]):
        return (
            []
            if trusts_search and not plan.can(call)
            else _cancel(plan, customer_id, request, order)
        )
    return _attempt(plan, request, call)


def _is_out(plan: Plan, exchange: Call, listed: dict[str, Any], quantity: int) -> bool:
    """Whether there are too few, as the tool said, the live stock, or at least the search index."""
    live = plan.belief.variants.get(listed["sku"])
    return not plan.can(exchange) or (
        live["stock"] < quantity if live is not None else not listed["in_stock"]
    )


def _address(plan: Plan, customer_id: str, request: Request, order: dict[str, Any]) -> list[Call]:
    order_id = order["order_id"]
    if plan.belief.has_written("change_address", order_id):
        return []
    if order["status"] not in CANCELLABLE and forbids(plan, "R11"):
        return denial(plan, request, "R11")
    calls = _file(plan, customer_id) or asking_what(plan, request)
    if calls:
        return calls
    here = [
        row
        for row in plan.belief.files[customer_id]["addresses"]
        if row["city"] == wanted(plan, request)
    ]
    others = [
        row
        for row in plan.belief.files[customer_id]["addresses"]
        if row["address_id"] != order["address_id"]
    ]
    fitting = [row for row in here if row in others]
    if not here and "first_address" not in plan.wrong and forbids(plan, "R11"):
        return denial(plan, request, "R11", about="file")
    if "first_address" in plan.wrong or not here:
        fitting = others
    elif len(fitting) > 1 and "first_match" not in plan.wrong:
        street = known(plan, request, "street")
        if street is None:
            return questions(plan, request, "street")
        fitting = [row for row in fitting if row["street"] == street]
    address_ids = [row["address_id"] for row in fitting]
    return (
        _attempt(
            plan, request, ("change_address", {"order_id": order_id, "address_id": address_ids[0]})
        )
        if address_ids
        else []
    )


def _coupon(plan: Plan, customer_id: str, request: Request, order: dict[str, Any]) -> list[Call]:
    order_id = order["order_id"]
    if plan.belief.has_written("apply_coupon", order_id):
        return _reread(plan, request, order_id)
    code = wanted(plan, request)
    if code is not None and order["coupon"] == code:
        return []
    if (order["coupon"] is not None or order["status"] != "pending") and forbids(plan, "R9"):
        return denial(plan, request, "R9")
    if code is None:
        return asking_what(plan, request)
    call: Call = ("apply_coupon", {"order_id": order_id, "code": code})
    return _attempt(plan, request, call)


def _compensation(
    plan: Plan, customer_id: str, request: Request, order: dict[str, Any]
) -> list[Call]:
    """R12."""
    order_id = order["order_id"]
    if plan.belief.has_written("issue_refund", order_id):
        return []
    late = order["delivered"] is not None and is_late(
        plan.rules, order["promised"], order["delivered"]
    )
    if not late and forbids(plan, "R12"):
        return denial(plan, request, "R12")
    amount = plan.rules.compensation_cents // 100
    call: Call = ("issue_refund", {"order_id": order_id, "amount": amount, "to": STORE_CREDIT})
    return _attempt(plan, request, call)


def _refund_query(
    plan: Plan, customer_id: str, request: Request, order: dict[str, Any]
) -> list[Call]:
    lines = lines_meant(order, request)
    if not lines or refund_amount(plan, order, lines) is not None:
        return []
    return [
        ("quote_refund", {"order_id": order["order_id"], "lines": [line["line"] for line in lines]})
    ]


def _track(plan: Plan, customer_id: str, request: Request, order: dict[str, Any]) -> list[Call]:
    order_id = order["order_id"]
    return [] if order_id in plan.belief.parcels else [("track_shipment", {"order_id": order_id})]


_KINDS: dict[str, Callable[[Plan, str, Request, dict[str, Any]], list[Call]]] = {
    "cancel": _cancel,
    "return": return_calls,
    "exchange": _exchange,
    "address": _address,
    "coupon": _coupon,
    "compensation": _compensation,
    "refund_query": _refund_query,
    "track": _track,
}
