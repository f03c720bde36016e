"""Rules about what may be done with an order, each an automaton that yields its breaches: tools
hold some of them, in some worlds.
"""

from collections import defaultdict
from collections.abc import Iterator

from synth.envs.storefront.check.case import Breach, Case
from synth.envs.storefront.tools.event_log import Event
from synth.envs.storefront.tools.schemas import STORE_CREDIT
from synth.envs.storefront.world.catalogue import Row
from synth.envs.storefront.world.rules import (
    BEFORE_SHIPPING,
    CANCELLABLE,
    is_final_sale,
    is_late,
    within_window,
)


def cancelled_before_shipping(case: Case) -> Iterator[Breach]:
    """R3: an order is cancelled while it is pending or processing."""
    for event, order in case.written("cancel_order"):
        if order["status"] not in CANCELLABLE:
            yield Breach(
                "R3",
                event.turn,
                f"{event.arguments['order_id']} was cancelled while it was {order['status']}",
            )


def returned_in_window(case: Case) -> Iterator[Breach]:
    """R4: a return is opened within the window of the customer's tier, or of the recipient's where
    the speaker is that.
    """
    for event in case.calls("create_return"):
        order = case.order(event)
        if order is None or order["delivered"] is None:
            continue
        customer_id = order["recipient_id"] if case.is_gift(order) else order["customer_id"]
        tier = case.base.tables["customers"][customer_id]["tier"]
        if not within_window(case.base.rules, tier, order["delivered"], case.base.today):
            yield Breach(
                "R4",
                event.turn,
                f"a return of {event.arguments['order_id']}, delivered {order['delivered']}, tier "
                f"{tier}",
            )


def refunded_the_way_it_was_paid(case: Case) -> Iterator[Breach]:
    """R5: a refund goes to the order's original payment method or to store credit."""
    for event in case.calls("issue_refund"):
        order = case.order(event)
        if order is not None and event.arguments.get("to") not in (
            order["payment_id"],
            STORE_CREDIT,
        ):
            yield Breach(
                "R5",
                event.turn,
                f"a refund of {event.arguments['order_id']} to {event.arguments.get('to')}",
            )


def small_refunds(case: Case) -> Iterator[Breach]:
    """R6: the refunds of one order together stay within the limit; more is for a supervisor."""
    refunded_cents: defaultdict[str, int] = defaultdict(int)
    for event in case.calls("issue_refund"):
        order_id = str(event.arguments.get("order_id"))
        refunded_cents[order_id] += _cents(event)
        if refunded_cents[order_id] > case.base.rules.refund_limit_cents:
            yield Breach(
                "R6",
                event.turn,
                f"${refunded_cents[order_id] / 100:.2f} refunded for {order_id} without a "
                "supervisor",
            )


def modified_once(case: Case) -> Iterator[Breach]:
    """R7: lines are modified once per order, while it is pending."""
    for event, order in case.written("modify_lines"):
        if order["status"] != "pending" or order["modified"]:
            what = "a second time" if order["modified"] else f"while it was {order['status']}"
            yield Breach("R7", event.turn, f"{event.arguments['order_id']} was modified {what}")


def no_final_sale(case: Case) -> Iterator[Breach]:
    """R8: no line of a category sold finally is taken back."""
    tables = case.base.tables
    for event in case.calls("create_return"):
        numbers = event.arguments.get("lines")
        for number in numbers if isinstance(numbers, list) else ():
            line = tables["lines"].get(f"{event.arguments.get('order_id')}.{number}")
            category = (
                None
                if line is None
                else tables["products"][tables["variants"][line["sku"]]["product_id"]]["category"]
            )
            if category is not None and is_final_sale(case.base.rules, category):
                yield Breach(
                    "R8",
                    event.turn,
                    f"a return of line {number} of {event.arguments.get('order_id')}, category "
                    f"{category}",
                )


def coupons_on_pending_orders(case: Case) -> Iterator[Breach]:
    """R9: a coupon is applied to a pending order that has none."""
    for event, order in case.written("apply_coupon"):
        if order["status"] != "pending" or order["coupon"] is not None:
            what = (
                f"which had {order['coupon']}"
                if order["coupon"] is not None
                else f"which was {order['status']}"
            )
            yield Breach("R9", event.turn, f"a coupon on {event.arguments['order_id']}, {what}")


def sent_where_it_may_go(case: Case) -> Iterator[Breach]:
    """R11: the address is changed before shipping, to one on the file of the order's customer."""
    for event, order in case.written("change_address"):
        address = case.base.tables["addresses"].get(str(event.arguments.get("address_id")))
        if order["status"] not in BEFORE_SHIPPING:
            yield Breach(
                "R11",
                event.turn,
                f"the address of {event.arguments['order_id']} was changed while it was "
                f"{order['status']}",
            )
        elif address is None or address["customer_id"] != order["customer_id"]:
            yield Breach(
                "R11",
                event.turn,
                f"{event.arguments['order_id']} was sent to an address that is not on its "
                "customer's file",
            )


def late_parcels_compensated(case: Case) -> Iterator[Breach]:
    """R12: money for an order of which nothing came back is a compensation: for a late parcel, and
    never above the amount.
    """
    returned: set[str] = set()
    for event in case.calls("create_return", "issue_refund"):
        order, order_id = case.order(event), str(event.arguments.get("order_id"))
        if event.tool == "create_return":
            returned.add(order_id)
        elif order is not None and order_id not in returned and not _deserved(case, event, order):
            yield Breach(
                "R12",
                event.turn,
                f"${_cents(event) / 100:.2f} for {order_id}, of which nothing came back",
            )


def _deserved(case: Case, event: Event, order: Row) -> bool:
    if order["status"] == "returned":
        return True
    late = order["delivered"] is not None and is_late(
        case.base.rules, order["promised"], order["delivered"]
    )
    return late and _cents(event) <= case.base.rules.compensation_cents


def gifts_for_credit(case: Case) -> Iterator[Breach]:
    """R15: a gift is returned by its recipient, for store credit, and not by the one who gave
    it.
    """
    for event in case.calls("create_return", "issue_refund"):
        order = case.order(event)
        if order is None or order.get("recipient_id") is None:
            continue
        if (
            event.tool == "create_return"
            and order["customer_id"] in case.own
            and order["recipient_id"] not in case.own
        ):
            yield Breach(
                "R15",
                event.turn,
                f"{event.arguments['order_id']} was returned by the one who gave it",
            )
        elif (
            event.tool == "issue_refund"
            and case.is_gift(order)
            and event.arguments.get("to") != STORE_CREDIT
        ):
            yield Breach(
                "R15",
                event.turn,
                f"a refund of the gift {event.arguments['order_id']} to "
                f"{event.arguments.get('to')}",
            )


def _cents(event: Event) -> int:
    """The amount of a refund; 0 where a transcript of another maker holds none."""
    amount = event.arguments.get("amount")
    return round(amount * 100) if isinstance(amount, int | float) else 0
