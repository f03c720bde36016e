"""How the expert brings lines of an order back: the slip, and the money for it."""

from synth.envs.storefront.expert.errand import Errand, NotYetError
from synth.envs.storefront.world.policy import STORE_CREDIT
from synth.envs.storefront.world.views import Shown, cards_of


def returned(errand: Errand) -> Shown:
    """R15, R4 and R8 as order and file show them, then slip and refund of the lines that are
    left.
    """
    lines = errand.lines
    request = errand.request
    status = errand.order["status"]

    if not lines or status != "delivered":
        return {"order_status": status} if status == "returned" else {}

    errand.forbid("create_return")
    # this reads the file, with the tier that R4 needs: then the rules are asked once more
    paid_to = _destination(errand)
    errand.forbid("create_return")
    final = [line for line in lines if errand.rules.is_final_sale(line["category"])]

    if final and errand.holds("R8"):
        if request.number not in errand.belief.denied:
            errand.deny("R8")

        lines = [line for line in lines if line not in final]

        if not lines or errand.wrong("all_or_nothing"):
            return {}

    told = {} if request.least is None else {"refund": errand.quote(lines)}

    # it brings too little: nothing is returned, and the amount is told
    if request.least is not None and told["refund"] < request.least:
        return told

    # a gift becomes credit, and a card was named: there is no choice to ask for
    settled = errand.order["recipient_id"] is not None or request.pay_to is not None
    errand.confirm("method", *([] if settled else ["refund_to"]))
    amount = errand.quote(lines)
    # a slip that is there already needs no second one
    requested = any(line["status"] == "return_requested" for line in lines)

    if not requested and not errand.written("create_return"):
        numbers = [line["line"] for line in lines]
        errand.write("create_return", lines=numbers, method=errand.detail("method"))

    _refund(errand, paid_to, amount)

    return told


def _destination(errand: Errand) -> str:
    """Where money goes that does not become credit: what the order was paid with, or the card that
    the customer names, if R5 allows it.
    """
    cards = cards_of(errand.file())
    last4 = errand.request.pay_to

    if last4 is None:
        return str(errand.order["payment_id"])

    if last4 == "card":
        # "my card" is clear where there is one
        sure = len(cards) == 1 or errand.wrong("first_match")
        last4 = next(iter(cards)) if sure else errand.told("card")

    if last4 not in cards:
        raise NotYetError

    errand.forbid("issue_refund", to=cards[last4])

    return cards[last4]


def _refund(
    errand: Errand,
    paid_to: str,
    amount: float,
) -> None:
    """The second half of a return: money back, or an escalation above the limit of R6; to credit
    for a gift (R15).
    """
    limit = {"order_id": errand.order_id, "reason_code": "refund_limit"}

    # once escalated the refund is somebody else's
    if errand.written("issue_refund") or errand.written("escalate", reason_code="refund_limit"):
        return

    if errand.rules.above_limit(round(amount * 100)) and not errand.wrong("ignores_limit"):
        summary = f"Refund of ${amount:.2f} for order {errand.order_id} is above the limit."

        raise NotYetError(("escalate", {**limit, "summary": summary}))

    to_credit = errand.order["recipient_id"] or errand.detail("refund_to") == STORE_CREDIT
    errand.write(
        "issue_refund",
        amount=amount,
        to=STORE_CREDIT if to_credit else paid_to,
    )
