"""Tools that change something. Each rule is held here where the world's settings say so; the others
only stand in the policy.
"""

from collections.abc import Callable
from typing import Any

from synth.envs.storefront.tools.desk import Arguments, Desk, DeskError
from synth.envs.storefront.tools.schemas import STORE_CREDIT
from synth.envs.storefront.world.catalogue import Row
from synth.envs.storefront.world.rules import (
    BEFORE_SHIPPING,
    CANCELLABLE,
    NEEDED_FACTORS,
    above_limit,
    discounted_cents,
    dollars,
    is_final_sale,
    is_late,
    within_window,
)

Result = dict[str, Any]


def cancel_order(desk: Desk, args: Arguments) -> Result:
    """R3: only pending or processing orders."""
    order_id = args["order_id"]
    order = desk.order(order_id)
    if order["status"] == "cancelled":
        raise DeskError("conflict", f"order {order_id} is cancelled already")
    if order["status"] in ("delivered", "returned"):
        raise DeskError(
            "conflict" if not desk.enforces("R3") else "denied",
            f"R3: order {order_id} is {order['status']}",
        )
    if desk.enforces("R3") and order["status"] not in CANCELLABLE:
        raise DeskError(
            "denied",
            f"R3: order {order_id} is {order['status']}; only pending or processing orders can be "
            "cancelled",
        )
    desk.state.update("orders", order_id, status="cancelled", cancel_reason=args["reason"])
    return {"ok": True, "order_id": order_id, "status": "cancelled"}


def change_address(desk: Desk, args: Arguments) -> Result:
    """R11: before shipping, to an address on the customer's file."""
    order_id, address_id = args["order_id"], args["address_id"]
    order = desk.order(order_id)
    if desk.enforces("R11") and order["status"] not in BEFORE_SHIPPING:
        raise DeskError(
            "denied",
            f"R11: order {order_id} is {order['status']}; its address cannot be changed any more",
        )
    address = desk.known("addresses", address_id, "address")
    if desk.enforces("R11") and address["customer_id"] != order["customer_id"]:
        raise DeskError("denied", f"R11: {address_id} is not an address of this order's customer")
    desk.state.update("orders", order_id, address_id=address_id)
    return {"ok": True, "order_id": order_id, "address_id": address_id}


def _retotal(desk: Desk, order_id: str) -> None:
    gross_cents = sum(
        line["unit_price_cents"] * line["quantity"] for _, line in desk.lines(order_id)
    )
    percent = desk.order(order_id)["discount_percent"]
    desk.state.update("orders", order_id, total_cents=discounted_cents(gross_cents, percent))


def modify_lines(desk: Desk, args: Arguments) -> Result:
    """R7: once per order, while it is pending; the new variant is of the same product and in stock.
    All lines or none.
    """
    order_id = args["order_id"]
    order = desk.order(order_id)
    if desk.enforces("R7") and order["status"] != "pending":
        raise DeskError(
            "denied",
            f"R7: order {order_id} is {order['status']}; only pending orders can be modified",
        )
    if desk.enforces("R7") and order["modified"]:
        raise DeskError("denied", f"R7: order {order_id} has been modified once already")
    if not all(
        number.isascii() and number.isdigit() and number[0] != "0" and len(number) < 3
        for number in args["lines"]
    ):
        raise DeskError("validation", "lines must map line numbers to skus")
    lines = desk.lines(order_id, [int(number) for number in args["lines"]])
    needed: dict[str, int] = {}
    for (_, line), sku in zip(lines, args["lines"].values(), strict=True):
        variant = desk.known("variants", sku, "variant")
        if sku == line["sku"]:
            raise DeskError("conflict", f"line {line['line']} already is {sku}")
        if variant["product_id"] != desk.state.row("variants", line["sku"])["product_id"]:
            raise DeskError("denied", f"R7: {sku} is another product than line {line['line']}")
        needed[sku] = needed.get(sku, 0) + line["quantity"]
        if needed[sku] > variant["stock"]:
            raise DeskError("conflict", f"only {variant['stock']} of {sku} are in stock")
    for (key, line), sku in zip(lines, args["lines"].values(), strict=True):
        for moved, change in ((line["sku"], line["quantity"]), (sku, -line["quantity"])):
            desk.write_variant(moved, stock=desk.state.row("variants", moved)["stock"] + change)
        desk.state.update(
            "lines", key, sku=sku, unit_price_cents=desk.state.row("variants", sku)["price_cents"]
        )
    desk.state.update("orders", order_id, modified=True)
    _retotal(desk, order_id)
    return {"ok": True, "order_id": order_id, "modified": True}


def create_return(desk: Desk, args: Arguments) -> Result:
    """Needs delivered lines that are not returned yet; window (R4) and final sale (R8) are left to
    the agent, as a rule.
    """
    order_id = args["order_id"]
    order = desk.order(order_id)
    if order["status"] != "delivered":
        raise DeskError("conflict", f"order {order_id} is {order['status']}, not delivered")
    lines = desk.lines(order_id, args["lines"])
    for _, line in lines:
        if line["status"] != "ordered":
            raise DeskError("conflict", f"line {line['line']} is being returned already")
    _hold_return_rules(desk, order, lines)
    for key, _ in lines:
        desk.state.update("lines", key, status="return_requested", return_method=args["method"])
    return_id = f"RT-{lines[0][0]}"
    row = {
        "order_id": order_id,
        "lines": ",".join(str(number) for number in sorted(args["lines"])),
        "method": args["method"],
        "created": desk.clock.now().isoformat(timespec="minutes"),
    }
    desk.state.put("returns", return_id, row)
    return {"ok": True, "return_id": return_id, "order_id": order_id}


def _hold_return_rules(desk: Desk, order: Row, lines: list[tuple[str, Row]]) -> None:
    rules, base = desk.state.base.rules, desk.state.base
    recipient_id = order["recipient_id"]
    if (
        desk.enforces("R15")
        and recipient_id is not None
        and len(desk.state.get("conversation", recipient_id) or ()) < NEEDED_FACTORS
    ):
        raise DeskError(
            "denied", "R15: the order was a gift; only its recipient, once verified, can return it"
        )
    tier = desk.state.row("customers", recipient_id or order["customer_id"])["tier"]
    if desk.enforces("R4") and not within_window(rules, tier, order["delivered"], base.today):
        raise DeskError("denied", "R4: the return window is over")
    for _, line in lines:
        product_id = desk.state.row("variants", line["sku"])["product_id"]
        if desk.enforces("R8") and is_final_sale(
            rules, desk.state.row("products", product_id)["category"]
        ):
            raise DeskError("denied", f"R8: line {line['line']} was a final sale")


def issue_refund(desk: Desk, args: Arguments) -> Result:
    """R5: to the original payment method or store credit, never more than was paid; without a
    return it is a compensation (R12).
    """
    order_id, to = args["order_id"], args["to"]
    order = desk.order(order_id)
    if to != STORE_CREDIT and (
        to not in desk.state.base.tables["payments"]
        or (desk.enforces("R5") and to != order["payment_id"])
    ):
        raise DeskError(
            "denied",
            f"R5: refunds of order {order_id} go to {order['payment_id']} or {STORE_CREDIT}",
        )
    if desk.enforces("R15") and order["recipient_id"] is not None and to != STORE_CREDIT:
        raise DeskError(
            "denied", f"R15: order {order_id} was a gift; its refund goes to {STORE_CREDIT}"
        )
    amount_cents = round(args["amount"] * 100)
    if amount_cents < 1 or abs(args["amount"] * 100 - amount_cents) > 1e-6:
        raise DeskError("validation", "amount must be whole cents")
    if desk.state.count("returns", f"RT-{order_id}.") == 0:
        _hold_compensation_rules(desk, order_id, order, amount_cents, to)
    elif desk.enforces("R6") and above_limit(desk.state.base.rules, amount_cents):
        raise DeskError("denied", "R6: the amount is above the limit; escalate it")
    if amount_cents > order["total_cents"] - order["refunded_cents"]:
        raise DeskError("conflict", f"amount is more than what is left of order {order_id}")
    refund_id = f"RF-{order_id}.{desk.state.count('refunds', f'RF-{order_id}.') + 1}"
    desk.state.put(
        "refunds", refund_id, {"order_id": order_id, "amount_cents": amount_cents, "to": to}
    )
    desk.state.update("orders", order_id, refunded_cents=order["refunded_cents"] + amount_cents)
    if to == STORE_CREDIT:
        owner = order["recipient_id"] or order["customer_id"]
        desk.state.update(
            "customers",
            owner,
            credit_cents=desk.state.row("customers", owner)["credit_cents"] + amount_cents,
        )
    return {"ok": True, "refund_id": refund_id, "order_id": order_id}


def _hold_compensation_rules(
    desk: Desk, order_id: str, order: Row, amount_cents: int, to: str
) -> None:
    """Money without a return: only as store credit, for a parcel that came late, and no more than
    the compensation.
    """
    rules = desk.state.base.rules
    if to != STORE_CREDIT or order["delivered"] is None:
        raise DeskError(
            "conflict",
            f"there is no return of {order_id}; a compensation goes to {STORE_CREDIT}, after "
            "delivery",
        )
    if desk.enforces("R12"):
        if not is_late(rules, order["promised"], order["delivered"]):
            raise DeskError(
                "denied",
                f"R12: there is no return of {order_id}, and it was not late enough",
            )
        if amount_cents + order["refunded_cents"] > rules.compensation_cents:
            raise DeskError(
                "denied",
                f"R12: there is no return of {order_id}, and a compensation is "
                f"{dollars(rules.compensation_cents)}",
            )


def apply_coupon(desk: Desk, args: Arguments) -> Result:
    """R9: pending orders without a coupon."""
    order_id, code = args["order_id"], args["code"]
    order = desk.order(order_id)
    coupon = desk.known("coupons", code, "coupon")
    if not coupon["active"]:
        raise DeskError("denied", f"R9: the coupon {code} has expired")
    if desk.enforces("R9") and order["status"] != "pending":
        raise DeskError(
            "denied", f"R9: order {order_id} is {order['status']}; coupons are not retroactive"
        )
    if desk.enforces("R9") and order["coupon"] is not None:
        raise DeskError("denied", f"R9: order {order_id} has a coupon already")
    desk.state.update("orders", order_id, coupon=code, discount_percent=coupon["percent"])
    _retotal(desk, order_id)
    return {"ok": True, "order_id": order_id, "coupon": code}


def add_note(desk: Desk, args: Arguments) -> Result:
    """The free zone."""
    ticket_id = args["ticket_id"]
    desk.known("tickets", ticket_id, "ticket")
    note_id = f"N-{ticket_id}.{desk.state.count('notes', f'N-{ticket_id}.') + 1}"
    created = desk.clock.now().isoformat(timespec="minutes")
    desk.state.put(
        "notes", note_id, {"ticket_id": ticket_id, "text": args["text"], "created": created}
    )
    return {"ok": True, "note_id": note_id}


def escalate(desk: Desk, args: Arguments) -> Result:
    """Hands over to a supervisor, about an order where one is named."""
    order_id = args.get("order_id")
    if order_id is not None:
        desk.order(order_id)
    stem = f"E-{order_id or 'general'}."
    escalation_id = f"{stem}{desk.state.count('escalations', stem) + 1}"
    row = {"order_id": order_id, "reason_code": args["reason_code"], "summary": args["summary"]}
    desk.state.put("escalations", escalation_id, row)
    return {"ok": True, "escalation_id": escalation_id}


WRITES: dict[str, Callable[[Desk, Arguments], Result]] = {
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
