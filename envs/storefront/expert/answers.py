"""What the expert tells the customer about a request, from belief."""

from typing import Any

from msgspec import structs

from synth.envs.storefront.customer.script import Request
from synth.envs.storefront.expert.asking import known as answered
from synth.envs.storefront.expert.asking import questions, wanted
from synth.envs.storefront.expert.locating import located
from synth.envs.storefront.expert.plan import Call, Plan


def lines_meant(order: dict[str, Any], request: Request) -> list[dict[str, Any]]:
    """The lines of an order that a request is about: the described item, or all."""
    lines: list[dict[str, Any]] = order["lines"]
    if request.noun is None:
        return lines
    return [
        line
        for line in lines
        if request.colour in (None, line["colour"]) and line["product"].endswith(f" {request.noun}")
    ]


def item_meant(plan: Plan, request: Request, order: dict[str, Any]) -> tuple[Request, list[Call]]:
    """The request with the item that is meant where its noun fits several, or the question which;
    `first_match` takes the first.
    """
    if request.noun is None or request.colour is not None:
        return request, []
    colours = [line["colour"] for line in lines_meant(order, request)]
    meant = (
        colours[0]
        if colours and (len(colours) == 1 or "first_match" in plan.wrong)
        else answered(plan, request, "item")
    )
    return structs.replace(request, colour=meant), [] if meant is not None else questions(
        plan, request, "item"
    )


def refund_amount(plan: Plan, order: dict[str, Any], lines: list[dict[str, Any]]) -> float | None:
    """The quoted refund; `wrong_refund` takes the total of an order with several lines, or the
    price of one piece.
    """
    if "wrong_refund" in plan.wrong and (len(order["lines"]) > 1 or lines[0]["quantity"] > 1):
        return float(order["total"] if len(order["lines"]) > 1 else lines[0]["unit_price"])
    return plan.belief.quotes.get((order["order_id"], tuple(line["line"] for line in lines)))


def variant_meant(
    plan: Plan, noun: str | None, colour: str | None, size: str
) -> dict[str, Any] | None:
    """The variant of a product in view; `ignores_size` takes the first of the colour."""
    product = plan.belief.products.get(noun or "")
    for variant in product["variants"] if product is not None else ():
        if variant["colour"] == colour and (
            variant["size"] == size or "ignores_size" in plan.wrong
        ):
            return dict(variant)
    return None


_DONE = {"cancel": "led", "return": "ed"}
"""Endings of the statuses that settle a request."""


def answer_to(plan: Plan, customer_id: str, request: Request) -> str | None:
    """One sentence with the fact that was asked for, or None where nothing was asked or it is not
    known.
    """
    about = f"Request {request.number}:"
    if request.kind == "price_query":
        variant = variant_meant(plan, request.noun, request.colour, request.size or "one")
        if variant is not None and request.former and "stale_reads" not in plan.wrong:
            live = plan.belief.variants.get(variant["sku"])
            before = None if live is None else live["price_history"][0]["price"]
            return (
                None
                if before is None
                else f"{about} the {request.colour} {request.noun} cost ${before:.2f} before."
            )
        return (
            None
            if variant is None
            else f"{about} the {request.colour} {request.noun} costs ${variant['price']:.2f} now."
        )
    if request.kind in ("out_of_scope", "note"):
        return None
    order_id, _ = located(plan, customer_id, request)
    if order_id is None:
        return None
    order = plan.belief.orders.get(order_id)
    if (
        order is not None
        and request.kind in ("cancel", "return")
        and order["status"] == f"{request.kind}{_DONE[request.kind]}"
    ):
        done = plan.belief.has_written("cancel_order", order_id)
        return None if done else f"{about} order {order_id} is {order['status']} already."
    if request.kind == "track" or request.otherwise == "track":
        parcel = plan.belief.parcels.get(order_id)
        if parcel is None:
            return None
        status = parcel["status"].replace("_", " ")
        return (
            f"{about} the parcel of order {order_id} has the status {status}, and arrives on "
            f"{parcel['arrives']}."
        )
    if (request.kind == "refund_query" or request.least is not None) and order is not None:
        lines = lines_meant(order, item_meant(plan, request, order)[0])
        amount = refund_amount(plan, order, lines) if lines else None
        return None if amount is None else f"{about} you would get ${amount:.2f} back."
    written = plan.belief.has_written("apply_coupon", order_id) or plan.belief.has_written(
        "modify_lines", order_id
    )
    if (
        request.kind == "coupon"
        and order is not None
        and not written
        and order["coupon"] == (wanted(plan, request) or "")
    ):
        return (
            f"{about} the coupon was on order {order_id} already; its total is "
            f"${order['total']:.2f}."
        )
    if request.tell_total and written and order is not None:
        return f"{about} the new total of order {order_id} is ${order['total']:.2f}."
    return None
