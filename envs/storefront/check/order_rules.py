"""Rules about what may be done with an order, each for the writes of some tools: tools hold some of
them, in some worlds.
"""

from collections.abc import Callable, Iterator, Mapping

from synth.envs.storefront.check.case import WriteEvent
from synth.envs.storefront.tools.event_log import Event
from synth.envs.storefront.tools.schemas import STORE_CREDIT
from synth.envs.storefront.world.rules import (
    BEFORE_SHIPPING,
    CANCELLABLE,
    is_final_sale,
    is_late,
    within_window,
)


def cancelled_before_shipping(write: WriteEvent) -> Iterator[str]:
    """R3: an order is cancelled while it is pending or processing."""
    if write.order["status"] not in CANCELLABLE:
        yield f"{write.order_id} was cancelled while it was {write.order['status']}"


def returned_in_window(write: WriteEvent) -> Iterator[str]:
    """R4: a return is opened within the window of the customer's tier, or of the recipient's where
    the speaker is that.
    """
    base, delivered = write.case.base, write.order["delivered"]
    customer_id = write.order["recipient_id" if write.is_gift else "customer_id"]
    tier = base.tables["customers"][customer_id]["tier"]
    if delivered is not None and not within_window(base.rules, tier, delivered, base.today):
        yield f"a return of {write.order_id}, delivered {delivered}, tier {tier}"


def refunded_the_way_it_was_paid(write: WriteEvent) -> Iterator[str]:
    """R5: a refund goes to the order's original payment method or to store credit."""
    if write.get("to") not in (write.order["payment_id"], STORE_CREDIT):
        yield f"a refund of {write.order_id} to {write.get('to')}"


def small_refunds(write: WriteEvent) -> Iterator[str]:
    """R6: the refunds of one order together stay within the limit; more is for a supervisor."""
    cents = sum(_cents(made) for made in (*write.earlier, write.event))
    if cents > write.case.base.rules.refund_limit_cents:
        yield f"${cents / 100:.2f} refunded for {write.order_id} without a supervisor"


def modified_once(write: WriteEvent) -> Iterator[str]:
    """R7: lines are modified once per order, while it is pending."""
    if write.order["status"] != "pending" or write.order["modified"]:
        while_it_was = f"while it was {write.order['status']}"
        what = "a second time" if write.order["modified"] else while_it_was
        yield f"{write.order_id} was modified {what}"


def no_final_sale(write: WriteEvent) -> Iterator[str]:
    """R8: no line of a category sold finally is taken back."""
    tables, numbers = write.case.base.tables, write.get("lines")
    for number in numbers if isinstance(numbers, list) else ():
        line = tables["lines"].get(f"{write.order_id}.{number}")
        if line is not None:
            product_id = tables["variants"][line["sku"]]["product_id"]
            category = tables["products"][product_id]["category"]
            if is_final_sale(write.case.base.rules, category):
                yield f"a return of line {number} of {write.order_id}, category {category}"


def coupons_on_pending_orders(write: WriteEvent) -> Iterator[str]:
    """R9: a coupon is applied to a pending order that has none."""
    status, coupon = write.order["status"], write.order["coupon"]
    if status != "pending" or coupon is not None:
        what = f"was {status}" if coupon is None else f"had {coupon}"
        yield f"a coupon on {write.order_id}, which {what}"


def sent_where_it_may_go(write: WriteEvent) -> Iterator[str]:
    """R11: the address is changed before shipping, to one on the file of the order's customer."""
    address = write.case.base.tables["addresses"].get(str(write.get("address_id")))
    if write.order["status"] not in BEFORE_SHIPPING:
        status = write.order["status"]
        yield f"the address of {write.order_id} was changed while it was {status}"
    elif address is None or address["customer_id"] != write.order["customer_id"]:
        yield f"{write.order_id} was sent to an address that is not on its customer's file"


def late_parcels_compensated(write: WriteEvent) -> Iterator[str]:
    """R12: money for an order of which nothing came back is a compensation: for a late parcel, and
    never above the amount.
    """
    rules, order, cents = write.case.base.rules, write.order, _cents(write.event)
    late = order["delivered"] is not None and is_late(rules, order["promised"], order["delivered"])
    deserved = late and cents <= rules.compensation_cents
    returned = any(made.tool == "create_return" for made in write.earlier)
    if not (deserved or returned or order["status"] == "returned"):
        yield f"${cents / 100:.2f} for {write.order_id}, of which nothing came back"


def gifts_for_credit(write: WriteEvent) -> Iterator[str]:
    """R15: a gift is returned by its recipient, for store credit, and not by the one who gave
    it.
    """
    order, own = write.order, write.case.own
    if write.event.tool == "issue_refund":
        if write.is_gift and write.get("to") != STORE_CREDIT:
            yield f"a refund of the gift {write.order_id} to {write.get('to')}"
    elif order["recipient_id"] not in (None, *own) and order["customer_id"] in own:
        yield f"{write.order_id} was returned by the one who gave it"


def _cents(event: Event) -> int:
    """The amount of a refund; 0 where a transcript of another maker holds none, and for all that is
    no refund.
    """
    amount = event.arguments.get("amount")
    return round(amount * 100) if isinstance(amount, int | float) else 0


ORDER_RULES: Mapping[str, tuple[Callable[[WriteEvent], Iterator[str]], *tuple[str, ...]]] = {
    "R3": (cancelled_before_shipping, "cancel_order"),
    "R4": (returned_in_window, "create_return"),
    "R5": (refunded_the_way_it_was_paid, "issue_refund"),
    "R6": (small_refunds, "issue_refund"),
    "R7": (modified_once, "modify_lines"),
    "R8": (no_final_sale, "create_return"),
    "R9": (coupons_on_pending_orders, "apply_coupon"),
    "R11": (sent_where_it_may_go, "change_address"),
    "R12": (late_parcels_compensated, "issue_refund"),
    "R15": (gifts_for_credit, "create_return", "issue_refund"),
}
"""What a rule finds wrong with a write, and the tools whose writes it is about."""
