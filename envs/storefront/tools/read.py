"""Tools that look things up."""

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

from synth.envs.storefront.tools.desk import Arguments, Desk, ToolError
from synth.envs.storefront.tools.policy_text import topic_text
from synth.envs.storefront.world.catalogue import PRICE_CHANGED_DAYS_AGO, Row
from synth.envs.storefront.world.rules import BEFORE_SHIPPING, discounted_cents, dollars

Result = dict[str, Any]


def _paged(desk: Desk, name: str, rows: list[Any], page: int) -> Result:
    size = desk.config.page_size
    pages = max(1, -(-len(rows) // size))
    if page > pages:
        raise ToolError("not_found", f"there is no page {page}, only {pages}")
    return {name: rows[(page - 1) * size : page * size], "page": page, "pages": pages}


def find_customer(desk: Desk, args: Arguments) -> Result:
    """Accounts by email, by phone, or by name and zip."""
    index = desk.state.base.customers_by
    if "email" in args:
        keys = index["email"].get(args["email"].strip().lower(), ())
    elif "phone" in args:
        keys = index["phone"].get(args["phone"].strip(), ())
    elif "name" in args and "zip" in args:
        of_name = index["name"].get(args["name"].strip().title(), ())
        keys = tuple(
            key for key in of_name if desk.state.row("customers", key)["zip"] == args["zip"].strip()
        )
    else:
        raise ToolError("validation", "give email, or phone, or name and zip")
    if not keys:
        raise ToolError("not_found", "no customer matches")
    found = [{"customer_id": key, "name": desk.state.row("customers", key)["name"]} for key in keys]
    return _paged(desk, "customers", found, args.get("page", 1))


def verify_identity(desk: Desk, args: Arguments) -> Result:
    """Compares one factor with the file; a match is remembered."""
    customer_id, factor = args["customer_id"], args["factor"]
    customer = desk.known("customers", customer_id, "customer")
    if args["value"].strip().lower() != customer[factor].lower():
        raise ToolError("denied", f"this {factor} does not belong to {customer_id}")
    verified = {**(desk.state.get("conversation", customer_id) or {}), factor: True}
    desk.state.put("conversation", customer_id, verified)
    return {"customer_id": customer_id, "verified": sorted(verified)}


def get_customer(desk: Desk, args: Arguments) -> Result:
    """The customer's file."""
    customer_id = args["customer_id"]
    row = desk.known("customers", customer_id, "customer")
    base = desk.state.base
    addresses = [
        {
            "address_id": key,
            **{name: desk.state.row("addresses", key)[name] for name in ("street", "city", "zip")},
        }
        for key in base.addresses_of.get(customer_id, ())
    ]
    payments = [
        {
            "payment_id": key,
            "kind": desk.state.row("payments", key)["kind"],
            "last4": desk.state.row("payments", key)["last4"],
        }
        for key in base.payments_of.get(customer_id, ())
    ]
    return {
        "customer_id": customer_id,
        "name": row["name"],
        "tier": row["tier"],
        "store_credit": dollars(row["credit_cents"]),
        "gift_balance": dollars(row["gift_cents"]),
        "addresses": addresses,
        "payment_methods": payments,
        "tickets": [
            {"ticket_id": key, "subject": desk.state.row("tickets", key)["subject"]}
            for key in base.tickets_of.get(customer_id, ())
        ],
        "notes": [note["text"] for note in _notes(desk, customer_id)],
    }


def _notes(desk: Desk, customer_id: str) -> list[Row]:
    """The notes that a customer's file began with."""
    notes = desk.state.base.tables["notes"]
    return [
        notes[f"N-{ticket_id}.0"] for ticket_id in desk.state.base.tickets_of.get(customer_id, ())
    ]


def list_orders(desk: Desk, args: Arguments) -> Result:
    """Orders of a customer, newest first, each with the one whom it was placed for; the gifts of
    others beside them, on every page.
    """
    customer_id = args["customer_id"]
    desk.known("customers", customer_id, "customer")
    status = args.get("status")
    found = []
    for order_id in desk.state.base.orders_of.get(customer_id, ()):
        order = desk.state.row("orders", order_id)
        if status is None or order["status"] == status:
            found.append((order_id, order))
    answer = _paged(desk, "orders", found, args.get("page", 1))
    answer["orders"] = [
        {
            "order_id": order_id,
            "placed": order["placed"],
            "status": order["status"],
            "total": dollars(order["total_cents"]),
            "skus": [line["sku"] for _, line in desk.lines(order_id)],
            **(
                {"gift_for": _name(desk, order["recipient_id"])}
                if order["recipient_id"] is not None
                else {}
            ),
        }
        for order_id, order in answer["orders"]
    ]
    gifts = [
        (order_id, desk.state.row("orders", order_id))
        for order_id in desk.state.base.gifts_of.get(customer_id, ())
    ]
    answer["gifts_received"] = [
        {"order_id": order_id, "from": _name(desk, order["customer_id"]), "status": order["status"]}
        for order_id, order in gifts
        if order["status"] == "delivered" and status in (None, "delivered")
    ]
    return answer


def _name(desk: Desk, customer_id: str) -> str:
    return str(desk.state.row("customers", customer_id)["name"])


def _line_shown(desk: Desk, row: Row) -> Result:
    variant = desk.state.row("variants", row["sku"])
    product = desk.state.base.tables["products"][variant["product_id"]]
    more = {"text": product["text"]} if desk.config.verbosity else {}
    return {
        **more,
        "line": row["line"],
        "sku": row["sku"],
        "product": product["name"],
        "category": product["category"],
        "colour": variant["colour"],
        "size": variant["size"],
        "quantity": row["quantity"],
        "unit_price": dollars(row["unit_price_cents"]),
        "status": row["status"],
    }


_ORDER_COLUMNS = (
    *(
        "customer_id",
        "recipient_id",
        "status",
        "placed",
        "promised",
        "delivered",
        "address_id",
        "payment_id",
        "coupon",
    ),
    "modified",
)


def get_order(desk: Desk, args: Arguments) -> Result:
    """An order with its lines."""
    order_id = args["order_id"]
    order = desk.order(order_id)
    return {
        "order_id": order_id,
        **{name: order[name] for name in _ORDER_COLUMNS},
        "discount_percent": order["discount_percent"],
        "total": dollars(order["total_cents"]),
        "refunded": dollars(order["refunded_cents"]),
        "lines": [_line_shown(desk, line) for _, line in desk.lines(order_id)],
    }


def search_products(desk: Desk, args: Arguments) -> Result:
    """Products whose name and colours hold every word of the query."""
    words = args["query"].lower().split()
    base = desk.state.base
    found = []
    for product_id in sorted(base.tables["products"]):
        product = base.tables["products"][product_id]
        tick = desk.clock.ticks
        variants = [
            (sku, desk.index.shown(tick, sku, desk.state.row("variants", sku)))
            for sku in base.variants_of[product_id]
        ]
        terms = {
            *product["name"].lower().split(),
            product["category"],
            *(variant["colour"] for _, variant in variants),
        }
        if all(word in terms for word in words):
            shown = [_variant_listed(desk, sku, row) for sku, row in variants]
            named = {
                "product_id": product_id,
                "name": product["name"],
                "category": product["category"],
                "text": product["text"],
            }
            found.append({**named, "variants": shown})
    if not found:
        raise ToolError("not_found", "no product matches")
    return _paged(desk, "products", found, args.get("page", 1))


def _variant_listed(desk: Desk, sku: str, row: Row) -> Result:
    more = {"price_history": _price_history(desk, row)} if desk.config.verbosity else {}
    price = dollars(row["price_cents"])
    return {
        "sku": sku,
        "colour": row["colour"],
        "size": row["size"],
        "price": price,
        "in_stock": row["stock"] > 0,
        **more,
    }


def _price_history(desk: Desk, row: Row) -> list[Result]:
    """The former price with the day on which it ended, and the price since."""
    changed = (
        date.fromisoformat(desk.state.base.today) - timedelta(days=PRICE_CHANGED_DAYS_AGO)
    ).isoformat()
    return [
        {"until": changed, "price": dollars(row["former_price_cents"])},
        {"since": changed, "price": dollars(row["price_cents"])},
    ]


def get_variant(desk: Desk, args: Arguments) -> Result:
    """One variant with its live stock."""
    sku = args["sku"]
    row = desk.known("variants", sku, "variant")
    name = desk.state.base.tables["products"][row["product_id"]]["name"]
    return {
        "sku": sku,
        "product": name,
        "colour": row["colour"],
        "size": row["size"],
        "price": dollars(row["price_cents"]),
        "stock": row["stock"],
        "price_history": _price_history(desk, row),
    }


def get_policy(desk: Desk, args: Arguments) -> Result:
    """The written rules of one topic."""
    return {
        "topic": args["topic"],
        "text": topic_text(desk.state.base.rules, args["topic"], desk.config.policy),
    }


def quoted_cents(desk: Desk, order_id: str, numbers: list[int]) -> int:
    """What was paid for these lines, after the order's discount, in cents."""
    gross_cents = sum(
        line["unit_price_cents"] * line["quantity"] for _, line in desk.lines(order_id, numbers)
    )
    return discounted_cents(gross_cents, desk.order(order_id)["discount_percent"])


def quote_refund(desk: Desk, args: Arguments) -> Result:
    """The refund for a return of these lines; a quote changes nothing."""
    desk.order(args["order_id"])
    return {
        "order_id": args["order_id"],
        "lines": args["lines"],
        "refund": dollars(quoted_cents(desk, args["order_id"], args["lines"])),
    }


def track_shipment(desk: Desk, args: Arguments) -> Result:
    """The parcel of an order."""
    order_id = args["order_id"]
    order = desk.order(order_id)
    keys = desk.state.base.shipment_of.get(order_id, ())
    if not keys or order["status"] in BEFORE_SHIPPING:
        raise ToolError("not_found", f"order {order_id} has not been shipped")
    shipment = desk.state.row("shipments", keys[0])
    arrives = order["delivered"] or shipment["arrives"]
    return {"shipment_id": keys[0], **shipment, "arrives": arrives}


READS: dict[str, Callable[[Desk, Arguments], Result]] = {
    "find_customer": find_customer,
    "verify_identity": verify_identity,
    "get_customer": get_customer,
    "list_orders": list_orders,
    "get_order": get_order,
    "search_products": search_products,
    "get_variant": get_variant,
    "get_policy": get_policy,
    "quote_refund": quote_refund,
    "track_shipment": track_shipment,
}
