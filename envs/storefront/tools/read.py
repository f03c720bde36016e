"""Tools that look things up."""

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import Any

from synth.envs.storefront.tools.desk import Arguments, Desk, DeskError
from synth.envs.storefront.tools.policy_text import topic_text
from synth.envs.storefront.world.catalogue import PRICE_CHANGED_DAYS_AGO, Row
from synth.envs.storefront.world.rules import BEFORE_SHIPPING, discounted_cents, dollars

Result = dict[str, Any]


def _paged(desk: Desk, name: str, rows: list[Any], page: int) -> Result:
    size = desk.config.page_size
    pages = max(1, -(-len(rows) // size))
    if page > pages:
        raise DeskError("not_found", f"there is no page {page}, only {pages}")
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
        raise DeskError("validation", "give email, or phone, or name and zip")
    if not keys:
        raise DeskError("not_found", "no customer matches")
    found = [{"customer_id": key, "name": desk.state.row("customers", key)["name"]} for key in keys]
    return _paged(desk, "customers", found, args.get("page", 1))


def verify_identity(desk: Desk, args: Arguments) -> Result:
    """Compares one factor with the file; a match is remembered."""
    customer_id, factor = args["customer_id"], args["factor"]
    customer = desk.known("customers", customer_id, "customer")
    if args["value"].strip().lower() != customer[factor].lower():
        raise DeskError("denied", f"this {factor} does not belong to {customer_id}")
    verified = {**(desk.state.get("conversation", customer_id) or {}), factor: True}
    desk.state.put("conversation", customer_id, verified)
    return {"customer_id": customer_id, "verified": sorted(verified)}


def get_customer(desk: Desk, args: Arguments) -> Result:
    """The customer's file, with the notes that it began with."""
    customer_id, base = args["customer_id"], desk.state.base
    row = desk.known("customers", customer_id, "customer")
    tickets = base.tickets_of.get(customer_id, ())

    def held(table: str, name: str, keys: Sequence[str], *columns: str) -> list[Result]:
        return [{name: key, **_columns(desk.state.row(table, key), *columns)} for key in keys]

    addresses, payments = base.addresses_of, base.payments_of
    return {
        "customer_id": customer_id,
        **_columns(row, "name", "tier"),
        "store_credit": dollars(row["credit_cents"]),
        "gift_balance": dollars(row["gift_cents"]),
        "addresses": held(
            "addresses", "address_id", addresses.get(customer_id, ()), "street", "city", "zip"
        ),
        "payment_methods": held(
            "payments", "payment_id", payments.get(customer_id, ()), "kind", "last4"
        ),
        "tickets": held("tickets", "ticket_id", tickets, "subject"),
        "notes": [base.tables["notes"][f"N-{ticket_id}.0"]["text"] for ticket_id in tickets],
    }


def _columns(row: Row, *columns: str) -> Result:
    return {column: row[column] for column in columns}


def list_orders(desk: Desk, args: Arguments) -> Result:
    """Orders of a customer, newest first, each with the one whom it was placed for; the gifts of
    others beside them, on every page.
    """
    customer_id = args["customer_id"]
    desk.known("customers", customer_id, "customer")
    status, base = args.get("status"), desk.state.base
    own = {key: desk.state.row("orders", key) for key in base.orders_of.get(customer_id, ())}
    found = [(key, order) for key, order in own.items() if status in (None, order["status"])]
    answer = _paged(desk, "orders", found, args.get("page", 1))
    answer["orders"] = [_order_listed(desk, key, order) for key, order in answer["orders"]]
    given = {key: desk.state.row("orders", key) for key in base.gifts_of.get(customer_id, ())}
    answer["gifts_received"] = [
        {"order_id": key, "from": _name(desk, order["customer_id"]), "status": order["status"]}
        for key, order in given.items()
        if order["status"] == "delivered" and status in (None, "delivered")
    ]
    return answer


def _order_listed(desk: Desk, order_id: str, order: Row) -> Result:
    recipient = order["recipient_id"]
    return {
        "order_id": order_id,
        **_columns(order, "placed", "status"),
        "total": dollars(order["total_cents"]),
        "skus": [line["sku"] for _, line in desk.lines(order_id)],
        **({} if recipient is None else {"gift_for": _name(desk, recipient)}),
    }


def _name(desk: Desk, customer_id: str) -> str:
    return str(desk.state.row("customers", customer_id)["name"])


def _line_shown(desk: Desk, row: Row) -> Result:
    variant = desk.state.row("variants", row["sku"])
    product = desk.state.base.tables["products"][variant["product_id"]]
    return {
        **({"text": product["text"]} if desk.config.verbosity else {}),
        **_columns(row, "line", "sku"),
        "product": product["name"],
        "category": product["category"],
        **_columns(variant, "colour", "size"),
        "quantity": row["quantity"],
        "unit_price": dollars(row["unit_price_cents"]),
        "status": row["status"],
    }


_ORDER_COLUMNS = (
    *("customer_id", "recipient_id", "status", "placed", "promised", "delivered", "address_id"),
    *("payment_id", "coupon", "modified", "discount_percent"),
)


def get_order(desk: Desk, args: Arguments) -> Result:
    """An order with its lines."""
    order_id = args["order_id"]
    order = desk.order(order_id)
    return {
        "order_id": order_id,
        **_columns(order, *_ORDER_COLUMNS),
        "total": dollars(order["total_cents"]),
        "refunded": dollars(order["refunded_cents"]),
        "lines": [_line_shown(desk, line) for _, line in desk.lines(order_id)],
    }


def search_products(desk: Desk, args: Arguments) -> Result:
    """Products whose name and colours hold every word of the query."""
    words, base, tick = set(args["query"].lower().split()), desk.state.base, desk.clock.ticks
    found = []
    for product_id, product in sorted(base.tables["products"].items()):
        rows = {sku: desk.state.row("variants", sku) for sku in base.variants_of[product_id]}
        variants = {sku: desk.index.shown(tick, sku, row) for sku, row in rows.items()}
        colours = {variant["colour"] for variant in variants.values()}
        if words <= {*product["name"].lower().split(), product["category"], *colours}:
            shown = [_variant_listed(desk, sku, row) for sku, row in variants.items()]
            named = _columns(product, "name", "category", "text")
            found.append({"product_id": product_id, **named, "variants": shown})
    if not found:
        raise DeskError("not_found", "no product matches")
    return _paged(desk, "products", found, args.get("page", 1))


def _variant_listed(desk: Desk, sku: str, row: Row) -> Result:
    return {
        "sku": sku,
        **_columns(row, "colour", "size"),
        "price": dollars(row["price_cents"]),
        "in_stock": row["stock"] > 0,
        **({"price_history": _price_history(desk, row)} if desk.config.verbosity else {}),
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
    row = desk.known("variants", args["sku"], "variant")
    return {
        "sku": args["sku"],
        "product": desk.state.base.tables["products"][row["product_id"]]["name"],
        **_columns(row, "colour", "size"),
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
        raise DeskError("not_found", f"order {order_id} has not been shipped")
    shipment = desk.state.row("shipments", keys[0])
    arrives = order["delivered"] or shipment["arrives"]
    return {"shipment_id": keys[0], **shipment, "arrives": arrives}


READS: dict[str, Callable[[Desk, Arguments], Result]] = {
    tool.__name__: tool
    for tool in (
        find_customer,
        verify_identity,
        get_customer,
        list_orders,
        get_order,
        search_products,
        get_variant,
        get_policy,
        quote_refund,
        track_shipment,
    )
}
