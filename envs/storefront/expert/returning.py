"""How the expert carries out a return: what can go back, the slip, and the money."""

from typing import Any

from synth.envs.storefront.customer.script import Request
from synth.envs.storefront.expert.answers import lines_meant, refund_amount
from synth.envs.storefront.expert.asking import (
    asking,
    confirming,
    denial,
    detail,
    forbids,
    known,
    questions,
)
from synth.envs.storefront.expert.plan import Call, Plan
from synth.envs.storefront.tools.schemas import STORE_CREDIT
from synth.envs.storefront.world.rules import above_limit, days_since, is_final_sale, within_window


def gives_in(plan: Plan, request: Request) -> bool:
    """Whether a planner that cannot stand firm does what it denied before."""
    return (
        "gives_in" in plan.wrong
        and plan.belief.pushed_back
        and request.number in plan.belief.denied
    )


def _too_late(plan: Plan, customer_id: str, order: dict[str, Any]) -> bool:
    tier = plan.belief.files[customer_id]["tier"]
    if (
        "over_refuses" in plan.wrong
        and days_since(order["delivered"], plan.today) > plan.rules.window_days[tier] // 2
    ):
        return True
    return not within_window(plan.rules, tier, order["delivered"], plan.today)


def return_calls(
    plan: Plan, customer_id: str, request: Request, order: dict[str, Any]
) -> list[Call]:
    """R4 and R8 as the file and the order show them, then slip and refund of the lines that are
    left.
    """
    lines = lines_meant(order, request)
    if not lines or order["status"] != "delivered":
        return []
    if (
        order["recipient_id"] is not None
        and customer_id == order["customer_id"]
        and forbids(plan, "R15")
    ):
        return denial(plan, request, "R15")
    if customer_id not in plan.belief.files:
        return [("get_customer", {"customer_id": customer_id})]
    paid_to, calls = _destination(plan, customer_id, request, order)
    if calls or paid_to is None:
        return calls
    if (
        "ignores_window" not in plan.wrong
        and "never_denies" not in plan.wrong
        and not gives_in(plan, request)
    ):
        if _too_late(plan, customer_id, order):
            return denial(plan, request, "R4")
        allowed = [line for line in lines if not is_final_sale(plan.rules, line["category"])]
        if len(allowed) < len(lines):
            calls = denial(plan, request, "R8")
            if calls or not allowed or "all_or_nothing" in plan.wrong:
                return calls
            lines = allowed
    return _carried_out(plan, request, order, paid_to, lines)


def _destination(
    plan: Plan, customer_id: str, request: Request, order: dict[str, Any]
) -> tuple[str | None, list[Call]]:
    """Where money goes that does not become credit: what the order was paid with, or the card that
    the customer names, if R5 allows it;
    else the calls that settle it.
    """
    if request.pay_to is None:
        return order["payment_id"], []
    cards = {
        row["last4"]: row["payment_id"]
        for row in plan.belief.files[customer_id]["payment_methods"]
        if row["kind"] == "card"
    }
    last4 = request.pay_to
    if last4 == "card":
        sure = len(cards) == 1 or "first_match" in plan.wrong
        last4 = next(iter(cards), "") if sure else known(plan, request, "card") or ""
        if not last4:
            return None, questions(plan, request, "card")
    named = cards.get(last4)
    if named != order["payment_id"] and forbids(plan, "R5") and not gives_in(plan, request):
        return None, denial(plan, request, "R5")
    return named, []


def _carried_out(
    plan: Plan, request: Request, order: dict[str, Any], paid_to: str, lines: list[dict[str, Any]]
) -> list[Call]:
    order_id = order["order_id"]
    numbers = [line["line"] for line in lines]
    returned = plan.belief.has_written("create_return", order_id) or any(
        line["status"] == "return_requested" for line in lines
    )
    amount = refund_amount(plan, order, lines)
    quote: list[Call] = (
        [("quote_refund", {"order_id": order_id, "lines": numbers})] if amount is None else []
    )
    if request.least is not None and (quote or (amount or 0) < request.least):
        return quote
    settled = order["recipient_id"] is not None or request.pay_to is not None
    calls = (
        asking(plan, request, "method") if settled else asking(plan, request, "method", "refund_to")
    )
    calls = calls or quote
    if not calls and not returned:
        method = detail(plan, request, "method")
        call: Call = (
            "create_return",
            {"order_id": order_id, "lines": numbers, "method": method},
        )
        calls = confirming(plan, request, call) or [call]
    return calls if calls or amount is None else _refund(plan, request, order, paid_to, amount)


def _refund(
    plan: Plan, request: Request, order: dict[str, Any], paid_to: str, amount: float
) -> list[Call]:
    """The second half of a return: money back, or an escalation above the limit of R6; to credit
    for a gift (R15).
    """
    order_id = order["order_id"]
    if plan.belief.has_written("issue_refund", order_id) or plan.belief.has_written(
        "escalate", order_id, reason_code="refund_limit"
    ):
        return []
    if above_limit(plan.rules, round(amount * 100)) and "ignores_limit" not in plan.wrong:
        summary = f"Refund of ${amount:.2f} for order {order_id} is above the limit."
        return [
            ("escalate", {"reason_code": "refund_limit", "summary": summary, "order_id": order_id})
        ]
    to_credit = order["recipient_id"] or detail(plan, request, "refund_to") == STORE_CREDIT
    call: Call = (
        "issue_refund",
        {"order_id": order_id, "amount": amount, "to": STORE_CREDIT if to_credit else paid_to},
    )
    return confirming(plan, request, call) or [call]
