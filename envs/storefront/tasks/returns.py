"""Requests that bring an item back, compiled: one's own, a gift, and with a card named for the
money.
"""

from dataclasses import replace

from msgspec import structs

from synth.envs.storefront.tasks.intents import WORDS, Draw, Intent, where
from synth.envs.storefront.tasks.referents import Referent, described
from synth.envs.storefront.tools.schemas import STORE_CREDIT
from synth.envs.storefront.world.rules import (
    above_limit,
    discounted_cents,
    is_final_sale,
    within_window,
)
from synth.envs.storefront.world.world import BaseWorld
from synth.schemas.check import Refusal, RowPredicate


def category(base: BaseWorld, line_key: str) -> str:
    """The category of a line's product."""
    variant = base.tables["variants"][base.tables["lines"][line_key]["sku"]]
    return str(base.tables["products"][variant["product_id"]]["category"])


def returnable(base: BaseWorld, order_id: str, customer_id: str) -> list[str]:
    """Delivered lines within the window of a customer that are no final sale."""
    order = base.tables["orders"][order_id]
    tier = base.tables["customers"][customer_id]["tier"]
    if order["status"] != "delivered" or not within_window(
        base.rules, tier, order["delivered"], base.today
    ):
        return []
    return [
        key for key in base.lines_of[order_id] if not is_final_sale(base.rules, category(base, key))
    ]


def paid_cents(base: BaseWorld, order_id: str, line_keys: list[str]) -> int:
    """What was paid for the lines after the order's discount."""
    lines = [base.tables["lines"][key] for key in line_keys]
    gross_cents = sum(line["unit_price_cents"] * line["quantity"] for line in lines)
    return discounted_cents(gross_cents, base.tables["orders"][order_id]["discount_percent"])


def refunded(
    draw: Draw, order_id: str, line_keys: list[str], method: str | None, refund_to: str
) -> tuple[list[RowPredicate], list[str]]:
    """What holds after a return of the lines, and what may change with it."""
    base, order = draw.base, draw.base.tables["orders"][order_id]
    amount_cents = paid_cents(base, order_id, line_keys)
    required = [
        RowPredicate("lines", {"id": key, "status": "return_requested", "return_method": method})
        for key in line_keys
    ]
    if above_limit(base.rules, amount_cents):
        required.append(
            RowPredicate("escalations", {"order_id": order_id, "reason_code": "refund_limit"})
        )
        required.append(RowPredicate("refunds", {"order_id": order_id}, count=0))
        return required, []
    to = (
        STORE_CREDIT
        if refund_to == STORE_CREDIT or order["recipient_id"] is not None
        else order["payment_id"]
    )
    required.append(
        RowPredicate("refunds", {"order_id": order_id, "amount_cents": amount_cents, "to": to})
    )
    required.append(RowPredicate("orders", {"id": order_id, "refunded_cents": amount_cents}))
    owner = order["recipient_id"] or order["customer_id"]
    return required, [f"customers/{owner}/credit_cents"] if to == STORE_CREDIT else []


def return_(draw: Draw, order_id: str, refund_to: str | None = None) -> Intent:
    """An item, or the whole order where every line of it can be returned; the money goes where the
    customer wants it.
    """
    line_keys = returnable(draw.base, order_id, draw.customer_id)
    referent = draw.refer(order_id, line_keys)
    many = len(line_keys) == len(draw.base.lines_of[order_id]) > 1
    whole = referent.stands_alone and not referent.by_noun and many and draw.rng.random() < 0.5
    if whole:
        request = draw.request(
            "return", draw.words("return_all", order=referent.phrase), referent, item=False
        )
    else:
        text = draw.words("return", item=referent.item, where=where(referent, "from"))
        request, line_keys = draw.request("return", text, referent, item=True), [referent.line_key]
    method, refund_to = draw.detail("method"), refund_to or draw.detail("refund_to")
    required, free = refunded(draw, order_id, line_keys, method, refund_to)
    details = {**referent.details, "method": method, "refund_to": refund_to}
    return Intent(request, details, tuple(required), tuple(free), referent=referent)


def cards(base: BaseWorld, customer_id: str) -> list[str]:
    """The customer's cards, as the file lists them."""
    return [
        key
        for key in base.payments_of.get(customer_id, ())
        if base.tables["payments"][key]["kind"] == "card"
    ]


def return_to_card(draw: Draw, order_id: str) -> Intent:
    """A return for which the money must go to the card that the order was paid with, which the
    customer names.
    """
    done = return_(replace(draw, slot=None), order_id, "original")
    last4 = draw.base.tables["payments"][draw.base.tables["orders"][order_id]["payment_id"]][
        "last4"
    ]
    return _to_card(done, last4, WORDS["that_card"].format(last4=last4), {"card": last4})


def return_to_a_card(draw: Draw, order_id: str, meant: str) -> Intent:
    """A return for which the money must go to "my card", one of several; R5 forbids it where the
    order was paid with another.
    """
    done = return_(replace(draw, slot=None), order_id, "original")
    among = len(cards(draw.base, draw.customer_id))
    wish = _to_card(
        done, "card", WORDS["my_card"], {"card": draw.base.tables["payments"][meant]["last4"]}
    )
    referent = None if done.referent is None else replace(done.referent, candidates=among)
    if meant == draw.base.tables["orders"][order_id]["payment_id"]:
        return replace(wish, referent=referent)
    refusal = Refusal(str(draw.number), "R5", order_id)
    return replace(
        wish,
        referent=referent,
        required=(),
        free=(),
        refusals=(refusal,),
        twists=(*wish.twists, "ineligible_R5"),
    )


def _to_card(done: Intent, pay_to: str, text: str, card: dict[str, str]) -> Intent:
    request = structs.replace(done.request, text=done.request.text + text, pay_to=pay_to)
    details = {name: value for name, value in done.details.items() if name != "refund_to"}
    return replace(done, request=request, details={**details, **card})


def gift_return(draw: Draw, order_id: str, *, by_id: bool = True) -> Intent:
    """A gift is returned by its recipient, who gets store credit, whatever they would like; named
    by its id, or by who gave it.
    """
    base, order = draw.base, draw.base.tables["orders"][order_id]
    line_key = draw.rng.choice(returnable(base, order_id, draw.customer_id))
    item = " ".join(described(base, line_key))
    giver = base.tables["customers"][order["customer_id"]]["name"]
    referent = Referent(
        order_id, line_key, by_id, 1, f"order {order_id}", item, gift_of=None if by_id else giver
    )
    text = draw.words(
        "gift_return" if by_id else "gift_return_of", item=item, order_id=order_id, giver=giver
    )
    request = draw.request("return", text, referent, item=True)
    method, refund_to = draw.detail("method"), draw.detail("refund_to")
    required, free = refunded(draw, order_id, [line_key], method, refund_to)
    details = {"method": method, "refund_to": refund_to}
    return Intent(
        request,
        details,
        tuple(required),
        tuple(free),
        referent=referent,
        twists=("by_other_person",),
    )
