"""Tools that change something, after the rules that the world's tools enforce have let it pass."""

import re
from collections.abc import Callable, Mapping

from synth.envs.storefront.tools.shop import DeskError, Shop
from synth.envs.storefront.world.policy import STORE_CREDIT
from synth.envs.storefront.world.views import Shown, cents_of

_LINE_NUMBER = re.compile("[1-9][0-9]?")
"""A line number as JSON would write it."""


def cancel_order(shop: Shop, order_id: str, reason: str) -> Shown:
    """R3."""
    order = shop.order(order_id)

    if order["status"] == "cancelled":
        raise DeskError("conflict", f"order {order_id} is cancelled already")

    shop.hold("cancel_order", order)

    # where no tool holds R3, what has arrived still cannot be cancelled
    if order["status"] in ("delivered", "returned"):
        raise DeskError("conflict", f"R3: order {order_id} is {order['status']}")

    shop.state.update("orders", order_id, status="cancelled", cancel_reason=reason)

    return {"ok": True, "order_id": order_id, "status": "cancelled"}


def change_address(shop: Shop, order_id: str, address_id: str) -> Shown:
    """R11."""
    order = shop.order(order_id)
    shop.hold("change_address", order)
    shop.known("addresses", address_id, "address")
    # the order's status first, then whose address it is
    shop.hold("change_address", order, address_id=address_id)
    shop.state.update("orders", order_id, address_id=address_id)

    return {"ok": True, "order_id": order_id, "address_id": address_id}


def modify_lines(shop: Shop, order_id: str, lines: dict[str, str]) -> Shown:
    """R7; each new variant is of the same product and in stock. All lines or none."""
    order = shop.order(order_id)
    row = shop.state.row
    shop.hold("modify_lines", order)

    for line, sku in _swaps(shop, order, lines):
        # what comes back can be sold again
        for moved, change in ((line["sku"], line["quantity"]), (sku, -line["quantity"])):
            shop.write_variant(moved, stock=row("variants", moved)["stock"] + change)

        price_cents = row("variants", sku)["price_cents"]
        key = f"{order_id}.{line['line']}"
        shop.state.update("lines", key, sku=sku, unit_price_cents=price_cents)

    shop.state.update("orders", order_id, modified=True)
    _retotal(shop, order_id)

    return {"ok": True, "order_id": order_id, "modified": True}


def _swaps(shop: Shop, order: Shown, lines: dict[str, str]) -> list[tuple[Shown, str]]:
    """The lines that are named, each with its new variant. Raises `DeskError` where one is none."""
    # keys of JSON objects are texts
    if not all(_LINE_NUMBER.fullmatch(number) for number in lines):
        raise DeskError("validation", "lines must map line numbers to skus")

    changed = list(zip(shop.lines(order, map(int, lines)), lines.values(), strict=True))
    needed: dict[str, int] = {}

    for line, sku in changed:
        variant = shop.known("variants", sku, "variant")

        if sku == line["sku"]:
            raise DeskError("conflict", f"line {line['line']} already is {sku}")
        if variant["product_id"] != shop.state.row("variants", line["sku"])["product_id"]:
            raise DeskError("denied", f"R7: {sku} is another product than line {line['line']}")

        # two lines may ask for the same variant
        needed[sku] = needed.get(sku, 0) + line["quantity"]

        if needed[sku] > variant["stock"]:
            raise DeskError("conflict", f"only {variant['stock']} of {sku} are in stock")

    return changed


def _retotal(shop: Shop, order_id: str) -> None:
    """Brings an order's total up to date with its lines and discount."""
    order = shop.order(order_id)
    shop.state.update("orders", order_id, total_cents=cents_of(order, order["lines"]))


def create_return(
    shop: Shop,
    order_id: str,
    lines: list[int],
    method: str,
) -> Shown:
    """R4, R8, R15; needs delivered lines that are not returned yet."""
    order = shop.order(order_id)

    if order["status"] != "delivered":
        raise DeskError("conflict", f"order {order_id} is {order['status']}, not delivered")

    for line in shop.lines(order, lines):
        if line["status"] != "ordered":
            raise DeskError("conflict", f"line {line['line']} is being returned already")

    shop.hold("create_return", order, lines=lines)

    for number in lines:
        back = {"status": "return_requested", "return_method": method}
        shop.state.update("lines", f"{order_id}.{number}", **back)

    return_id = f"RT-{order_id}.{lines[0]}"
    # a column holds a scalar
    numbers = ",".join(map(str, sorted(lines)))
    slip = {"order_id": order_id, "lines": numbers, "method": method, "created": shop.now()}
    shop.state.put("returns", return_id, slip)

    return {"ok": True, "return_id": return_id, "order_id": order_id}


def issue_refund(shop: Shop, order_id: str, amount: float, to: str) -> Shown:
    """R5, R6, R12, R15; never more than was paid; without a return it is a compensation."""
    order = shop.order(order_id)
    row = shop.state.row("orders", order_id)

    if to != STORE_CREDIT and to not in shop.base.tables["payments"]:
        raise DeskError(
            "denied",
            f"R5: refunds of order {order_id} go to {row['payment_id']} or {STORE_CREDIT}",
        )

    amount_cents = _whole_cents(amount)
    shop.hold("issue_refund", order, amount=amount, to=to)

    came_back = any(line["status"] != "ordered" for line in order["lines"])

    if not came_back and (to != STORE_CREDIT or order["delivered"] is None):
        raise DeskError(
            "conflict",
            f"there is no return of {order_id}; a compensation goes to {STORE_CREDIT}, after "
            "delivery",
        )

    if amount_cents > row["total_cents"] - row["refunded_cents"]:
        raise DeskError("conflict", f"amount is more than what is left of order {order_id}")

    refund_id = shop.state.next_key("refunds", f"RF-{order_id}.")
    paid = {"order_id": order_id, "amount_cents": amount_cents, "to": to}
    refunded_cents = row["refunded_cents"] + amount_cents
    shop.state.put("refunds", refund_id, paid)
    shop.state.update("orders", order_id, refunded_cents=refunded_cents)

    # credit goes to the account of whoever returned the order
    if to == STORE_CREDIT:
        owner = row["recipient_id"] or row["customer_id"]
        credit_cents = shop.state.row("customers", owner)["credit_cents"] + amount_cents
        shop.state.update("customers", owner, credit_cents=credit_cents)

    return {"ok": True, "refund_id": refund_id, "order_id": order_id}


def _whole_cents(amount: float) -> int:
    """An amount of dollars in cents. Raises `DeskError` for parts of one, and for none."""
    cents = round(amount * 100)

    # a float that stands for cents is no further off than this
    if cents < 1 or abs(amount * 100 - cents) > 1e-6:
        raise DeskError("validation", "amount must be whole cents")

    return cents


def apply_coupon(shop: Shop, order_id: str, code: str) -> Shown:
    """R9."""
    order = shop.order(order_id)
    coupon = shop.known("coupons", code, "coupon")

    if not coupon["active"]:
        raise DeskError("denied", f"R9: the coupon {code} has expired")

    shop.hold("apply_coupon", order)
    shop.state.update(
        "orders",
        order_id,
        coupon=code,
        discount_percent=coupon["percent"],
    )
    _retotal(shop, order_id)

    return {"ok": True, "order_id": order_id, "coupon": code}


def add_note(shop: Shop, ticket_id: str, text: str) -> Shown:
    """Writes in the free zone."""
    shop.known("tickets", ticket_id, "ticket")
    note_id = shop.state.next_key("notes", f"N-{ticket_id}.")
    note = {"ticket_id": ticket_id, "text": text, "created": shop.now()}
    shop.state.put("notes", note_id, note)

    return {"ok": True, "note_id": note_id}


def escalate(
    shop: Shop,
    reason_code: str,
    summary: str,
    order_id: str | None = None,
) -> Shown:
    """Hands over to a supervisor, about an order where one is named."""
    if order_id is not None:
        shop.known("orders", order_id, "order")

    escalation_id = shop.state.next_key("escalations", f"E-{order_id or 'general'}.")
    row = {"order_id": order_id, "reason_code": reason_code, "summary": summary}
    shop.state.put("escalations", escalation_id, row)

    return {"ok": True, "escalation_id": escalation_id}


WRITES: Mapping[str, Callable[..., Shown]] = {
    tool.__name__: tool
    for tool in (
        cancel_order,
        change_address,
        modify_lines,
        create_return,
        issue_refund,
        apply_coupon,
        add_note,
        escalate,
    )
}
