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


def answer_to(plan: Plan, customer_id: str, request: Request) -> Call | None:
    """The facts that were asked for, as the customer is to be told them; None where nothing was
    asked or it is not known.
    """
    about, facts = _facts(plan, customer_id, request)
    if not facts or plan.belief.has_told(about, facts):
        return None
    return "tell_customer", {"about": about, **facts}


def _facts(plan: Plan, customer_id: str, request: Request) -> tuple[str, dict[str, Any]]:
    if request.kind == "price_query":
        return _price(plan, request)
    if request.kind in ("out_of_scope", "note"):
        return "", {}
    order_id, _ = located(plan, customer_id, request)
    order = plan.belief.orders.get(order_id or "")
    if order_id is None or order is None:
        return "", {}
    if (
        request.kind in ("cancel", "return")
        and order["status"] == f"{request.kind}{_DONE[request.kind]}"
    ):
        done = plan.belief.has_written("cancel_order", order_id)
        return order_id, {} if done else {"order_status": order["status"]}
    if request.kind == "track" or request.otherwise == "track":
        parcel = plan.belief.parcels.get(order_id)
        seen = parcel and {"parcel_status": parcel["status"], "arrival": parcel["arrives"]}
        return order_id, seen or {}
    if request.kind == "refund_query" or request.least is not None:
        lines = lines_meant(order, item_meant(plan, request, order)[0])
        amount = refund_amount(plan, order, lines) if lines else None
        return order_id, {} if amount is None else {"refund": amount}
    written = any(plan.belief.has_written(w, order_id) for w in ("apply_coupon", "modify_lines"))
    had_it = request.kind == "coupon" and order["coupon"] == (wanted(plan, request) or "")
    tells = (request.tell_total and written) or (had_it and not written)
    return order_id, {"total": order["total"]} if tells else {}


def _price(plan: Plan, request: Request) -> tuple[str, dict[str, Any]]:
    variant = variant_meant(plan, request.noun, request.colour, request.size or "one")
    if variant is None:
        return "", {}
    if not request.former or "stale_reads" in plan.wrong:
        return variant["sku"], {"price": variant["price"]}
    live = plan.belief.variants.get(variant["sku"])
    return variant["sku"], {} if live is None else {
        "former_price": live["price_history"][0]["price"]
    }
