"""How the expert carries out each kind of request: the next calls, none where it is settled."""

from collections.abc import Callable
from typing import Any

from envs.storefront.answers import lines_meant, refund_amount, variant_meant
from envs.storefront.locating import located
from envs.storefront.plan import Call, Plan
from envs.storefront.rules import CANCELLABLE, days_since
from envs.storefront.script import Request
from envs.storefront.tool_schemas import STORE_CREDIT

ASSUMED = {"reason": "changed_mind", "method": "mail", "refund_to": "original"}
"""What is taken where the customer was not asked, or did not know."""
_QUESTIONS = {
    "reason": "What is the reason?",
    "method": "How do you want to send it back: drop it off, have it picked up, or by mail?",
    "refund_to": "Should the refund go to the original payment method or to store credit?",
}


def calls_for(plan: Plan, customer_id: str, request: Request) -> list[Call]:
    """The next calls for a request; several stand together where none needs the answer of another."""
    if request.kind == "price_query":
        return _search(plan, request)
    order_id, calls = located(plan, customer_id, request)
    if calls or order_id is None:
        return calls
    if order_id not in plan.belief.orders:
        return [("get_order", {"order_id": order_id})]
    return _KINDS[request.kind](plan, customer_id, request, plan.belief.orders[order_id])


def _search(plan: Plan, request: Request) -> list[Call]:
    return [] if request.noun in plan.belief.products else [("search_products", {"query": request.noun})]


def _asking(plan: Plan, request: Request, *fields: str) -> list[Call]:
    if "skips_confirmation" in plan.wrong:
        return []
    number = request.number
    return [
        ("ask_customer", {"field": field, "message": f"Request {number}: {_QUESTIONS[field]}", "request": number})
        for field in fields
        if (field, number) not in plan.belief.asked
    ]


def _confirming(plan: Plan, request: Request, what: str) -> list[Call]:
    if "skips_confirmation" in plan.wrong or ("confirmation", request.number) in plan.belief.asked:
        return []
    message = f"Request {request.number}: I am going to {what}. Shall I go ahead?"
    return [("ask_customer", {"field": "confirmation", "message": message, "request": request.number})]


def _detail(plan: Plan, request: Request, field: str) -> str:
    return plan.belief.answers.get((request.number, field), ASSUMED[field])


def _file(plan: Plan, customer_id: str) -> list[Call]:
    return [] if customer_id in plan.belief.files else [("get_customer", {"customer_id": customer_id})]


def _denial(request: Request, rule: str, why: str) -> list[Call]:
    return [
        ("deny", {"request": request.number, "rule_id": rule, "message": f"Request {request.number}: I cannot do this, because {why}."})
    ]


def _reread(plan: Plan, request: Request, order_id: str) -> list[Call]:
    """A total that is to be told is read again after a write; `stale_reads` does not."""
    if not request.tell_total or "stale_reads" in plan.wrong or order_id not in plan.belief.outdated:
        return []
    return [("get_order", {"order_id": order_id})]


def _cancel(plan: Plan, customer_id: str, request: Request, order: dict[str, Any]) -> list[Call]:
    order_id = order["order_id"]
    if plan.belief.has_written("cancel_order", order_id) or order["status"] == "cancelled":
        return []
    if order["status"] not in CANCELLABLE and "tries_anyway" not in plan.wrong:
        return _denial(request, "R3", f"order {order_id} has left the warehouse")
    return (
        _asking(plan, request, "reason")
        or _confirming(plan, request, f"cancel order {order_id}")
        or [("cancel_order", {"order_id": order_id, "reason": _detail(plan, request, "reason")})]
    )


def _forbidding_rule(plan: Plan, customer_id: str, order: dict[str, Any], lines: list[dict[str, Any]]) -> str | None:
    """R4 or R8, where one forbids the return; `ignores_window` sees none, `over_refuses` halves the window."""
    if "ignores_window" in plan.wrong:
        return None
    window = plan.rules.window_days[plan.belief.files[customer_id]["tier"]]
    if "over_refuses" in plan.wrong:
        window //= 2
    if days_since(order["delivered"], plan.today) > window:
        return "R4"
    return "R8" if any(line["category"] in plan.rules.final_sale for line in lines) else None


def _return(plan: Plan, customer_id: str, request: Request, order: dict[str, Any]) -> list[Call]:
    order_id, lines = order["order_id"], lines_meant(order, request)
    if not lines or order["status"] != "delivered":
        return []
    numbers = [line["line"] for line in lines]
    returned = plan.belief.has_written("create_return", order_id) or any(line["status"] == "return_requested" for line in lines)
    if not returned:
        calls = _file(plan, customer_id)
        if calls:
            return calls
        rule = _forbidding_rule(plan, customer_id, order, lines)
        if rule is not None:
            why = "the return window is over" if rule == "R4" else "it was a final sale"
            return _denial(request, rule, why)
    calls = _asking(plan, request, "method", "refund_to")
    amount = refund_amount(plan, order, lines)
    if not calls and amount is None:
        calls = [("quote_refund", {"order_id": order_id, "lines": numbers})]
    if not calls and not returned:
        calls = _confirming(plan, request, f"open a return for order {order_id}, worth ${amount:.2f}")
        calls = calls or [("create_return", {"order_id": order_id, "lines": numbers, "method": _detail(plan, request, "method")})]
    return calls if calls or amount is None else _refund(plan, request, order, amount)


def _refund(plan: Plan, request: Request, order: dict[str, Any], amount: float) -> list[Call]:
    """The second half of a return: money back, or an escalation above the limit of R6."""
    order_id = order["order_id"]
    if plan.belief.has_written("issue_refund", order_id) or plan.belief.has_written("escalate", order_id, reason_code="refund_limit"):
        return []
    if round(amount * 100) > plan.rules.refund_limit_cents and "ignores_limit" not in plan.wrong:
        summary = f"Refund of ${amount:.2f} for order {order_id} is above the limit."
        return [("escalate", {"reason_code": "refund_limit", "summary": summary, "order_id": order_id})]
    to = STORE_CREDIT if _detail(plan, request, "refund_to") == STORE_CREDIT else order["payment_id"]
    return [("issue_refund", {"order_id": order_id, "amount": amount, "to": to})]


def _exchange(plan: Plan, customer_id: str, request: Request, order: dict[str, Any]) -> list[Call]:
    order_id, lines = order["order_id"], lines_meant(order, request)
    if plan.belief.has_written("modify_lines", order_id):
        return _reread(plan, request, order_id)
    if not lines or order["status"] != "pending":
        return []
    variant = variant_meant(plan, request.noun, request.wanted, lines[0]["size"])
    if variant is None:
        return _search(plan, request)
    sku = variant["sku"]
    if plan.strategy.checks_stock and sku not in plan.belief.variants:
        return [("get_variant", {"sku": sku})]
    confirming = _confirming(plan, request, f"exchange the {request.noun} in order {order_id} for the {request.wanted} one")
    return confirming or [("modify_lines", {"order_id": order_id, "lines": {str(lines[0]["line"]): sku}})]


def _address(plan: Plan, customer_id: str, request: Request, order: dict[str, Any]) -> list[Call]:
    order_id = order["order_id"]
    calls = _file(plan, customer_id)
    if calls:
        return calls
    for address in plan.belief.files[customer_id]["addresses"]:
        address_id = address["address_id"]
        if address["city"] != request.wanted and ("first_address" not in plan.wrong or address_id == order["address_id"]):
            continue
        if address_id == order["address_id"] or plan.belief.has_written("change_address", order_id, address_id=address_id):
            return []
        return [("change_address", {"order_id": order_id, "address_id": address_id})]
    return []


def _coupon(plan: Plan, customer_id: str, request: Request, order: dict[str, Any]) -> list[Call]:
    order_id = order["order_id"]
    if plan.belief.has_written("apply_coupon", order_id):
        return _reread(plan, request, order_id)
    if order["coupon"] is not None:
        return []
    confirming = _confirming(plan, request, f"apply {request.wanted} to order {order_id}")
    return confirming or [("apply_coupon", {"order_id": order_id, "code": request.wanted})]


def _refund_query(plan: Plan, customer_id: str, request: Request, order: dict[str, Any]) -> list[Call]:
    lines = lines_meant(order, request)
    if not lines or refund_amount(plan, order, lines) is not None:
        return []
    return [("quote_refund", {"order_id": order["order_id"], "lines": [line["line"] for line in lines]})]


def _track(plan: Plan, customer_id: str, request: Request, order: dict[str, Any]) -> list[Call]:
    order_id = order["order_id"]
    return [] if order_id in plan.belief.parcels else [("track_shipment", {"order_id": order_id})]


_KINDS: dict[str, Callable[[Plan, str, Request, dict[str, Any]], list[Call]]] = {
    "cancel": _cancel,
    "return": _return,
    "exchange": _exchange,
    "address": _address,
    "coupon": _coupon,
    "refund_query": _refund_query,
    "track": _track,
}
