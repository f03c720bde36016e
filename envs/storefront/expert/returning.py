"""How the expert carries out a return: what can go back, the slip, and the money."""

from synth.envs.storefront.expert.belief import Shown
from synth.envs.storefront.expert.errand import Errand
from synth.envs.storefront.expert.plan import Call
from synth.envs.storefront.tools.schemas import STORE_CREDIT
from synth.envs.storefront.world.rules import above_limit, days_since, is_final_sale, within_window


def gives_in(errand: Errand) -> bool:
    """Whether a planner that cannot stand firm does what it denied before."""
    pushed = errand.belief.pushed_back and errand.request.number in errand.belief.denied
    return pushed and errand.wrong("gives_in")


def file(errand: Errand) -> list[Call]:
    """The look at the customer's file, once."""
    made = {"customer_id": errand.customer_id}
    return [] if errand.customer_id in errand.belief.files else [("get_customer", made)]


def quote(errand: Errand, lines: list[Shown] | None = None) -> list[Call]:
    """The question what a return of the lines brings, once."""
    back = errand.lines if lines is None else lines
    if not back or errand.refund_amount(back) is not None:
        return []
    numbers = [line["line"] for line in back]
    return [("quote_refund", {"order_id": errand.order_id, "lines": numbers})]


def return_calls(errand: Errand) -> list[Call]:
    """R4 and R8 as the file and the order show them, then slip and refund of the lines that are
    left.
    """
    order, lines, plan = errand.order, errand.lines, errand.plan
    if not lines or order["status"] != "delivered":
        return []
    gave_it = order["recipient_id"] is not None and errand.customer_id == order["customer_id"]
    if gave_it and plan.forbids("R15"):
        return errand.denial("R15")
    paid_to = _destination(errand)
    if paid_to is None or isinstance(paid_to, list):
        return paid_to or []
    if not errand.wrong("ignores_window", "never_denies") and not gives_in(errand):
        if _too_late(errand):
            return errand.denial("R4")
        allowed = [line for line in lines if not is_final_sale(plan.rules, line["category"])]
        if len(allowed) < len(lines):
            calls = errand.denial("R8")
            if calls or not allowed or errand.wrong("all_or_nothing"):
                return calls
            lines = allowed
    return _carried_out(errand, paid_to, lines)


def _too_late(errand: Errand) -> bool:
    """R4; `over_refuses` holds half the window for all of it."""
    rules, today, delivered = errand.plan.rules, errand.plan.today, errand.order["delivered"]
    tier = errand.belief.files[errand.customer_id]["tier"]
    half = rules.window_days[tier] // 2
    early = errand.wrong("over_refuses") and days_since(delivered, today) > half
    return early or not within_window(rules, tier, delivered, today)


def _destination(errand: Errand) -> str | list[Call] | None:
    """Where money goes that does not become credit: what the order was paid with, or the card that
    the customer names, if R5 allows it; else the calls that settle it.
    """
    calls, last4, paid_with = file(errand), errand.request.pay_to, errand.order["payment_id"]
    if calls or last4 is None:
        return calls or str(paid_with)
    methods = errand.belief.files[errand.customer_id]["payment_methods"]
    cards = {row["last4"]: row["payment_id"] for row in methods if row["kind"] == "card"}
    if last4 == "card":
        sure = len(cards) == 1 or errand.wrong("first_match")
        last4 = next(iter(cards), "") if sure else errand.known("card") or ""
        if not last4:
            return errand.questions("card")
    named: str | None = cards.get(last4)
    if named != paid_with and errand.plan.forbids("R5") and not gives_in(errand):
        return errand.denial("R5")
    return named


def _carried_out(errand: Errand, paid_to: str, lines: list[Shown]) -> list[Call]:
    request, order = errand.request, errand.order
    numbers = [line["line"] for line in lines]
    requested = any(line["status"] == "return_requested" for line in lines)
    amount, asked = errand.refund_amount(lines), quote(errand, lines)
    if request.least is not None and (asked or (amount or 0) < request.least):
        return asked
    settled = order["recipient_id"] is not None or request.pay_to is not None
    calls = errand.asking("method", *([] if settled else ["refund_to"])) or asked
    if not calls and not requested and not errand.written("create_return"):
        calls = errand.agreed("create_return", lines=numbers, method=errand.detail("method"))
    return calls if calls or amount is None else _refund(errand, paid_to, amount)


def _refund(errand: Errand, paid_to: str, amount: float) -> list[Call]:
    """The second half of a return: money back, or an escalation above the limit of R6; to credit
    for a gift (R15).
    """
    limit = {"order_id": errand.order_id, "reason_code": "refund_limit"}
    if errand.written("issue_refund") or errand.written("escalate", reason_code="refund_limit"):
        return []
    if above_limit(errand.plan.rules, round(amount * 100)) and not errand.wrong("ignores_limit"):
        summary = f"Refund of ${amount:.2f} for order {errand.order_id} is above the limit."
        return [("escalate", {**limit, "summary": summary})]
    to_credit = errand.order["recipient_id"] or errand.detail("refund_to") == STORE_CREDIT
    to = STORE_CREDIT if to_credit else paid_to
    return errand.agreed("issue_refund", amount=amount, to=to)
