"""Tools that look things up."""

from collections.abc import Callable, Mapping
from typing import Any

from synth.envs.storefront.tools.schemas import topic_text
from synth.envs.storefront.tools.shop import DeskError, Shop
from synth.envs.storefront.world.policy import BEFORE_SHIPPING
from synth.envs.storefront.world.views import (
    Shown,
    cents_of,
    columns,
    dollars,
    file_shown,
    price_history,
    product_shown,
)


def _paged(
    shop: Shop,
    name: str,
    rows: list[Any],
    page: int,
) -> Shown:
    """One page of rows, under their name. Raises `DeskError` past the last page."""
    size = shop.config.page_size
    # an empty list has one page
    pages = max(1, -(-len(rows) // size))

    if page > pages:
        raise DeskError("not_found", f"there is no page {page}, only {pages}")

    return {name: rows[(page - 1) * size : page * size], "page": page, "pages": pages}


def find_customer(shop: Shop, page: int = 1, **by: str) -> Shown:
    """Accounts by email, by phone, or by name and zip."""
    by = {field: value.strip() for field, value in by.items()}
    row = shop.state.row
    index = shop.base.customers_by

    if "email" in by:
        keys = index["email"].get(by["email"].lower(), ())
    elif "phone" in by:
        keys = index["phone"].get(by["phone"], ())
    elif by.keys() >= {"name", "zip"}:
        # people write their names in lower case
        of_name = index["name"].get(by["name"].title(), ())
        keys = tuple(key for key in of_name if row("customers", key)["zip"] == by["zip"])
    else:
        raise DeskError("validation", "give email, or phone, or name and zip")

    if not keys:
        raise DeskError("not_found", "no customer matches")

    found = [{"customer_id": key, "name": row("customers", key)["name"]} for key in keys]

    return _paged(shop, "customers", found, page)


def verify_identity(
    shop: Shop,
    customer_id: str,
    factor: str,
    value: str,
) -> Shown:
    """Compares one factor with the file; a match is remembered."""
    customer = shop.known("customers", customer_id, "customer")

    if value.strip().lower() != customer[factor].lower():
        raise DeskError("denied", f"this {factor} does not belong to {customer_id}")

    verified = {**(shop.state.get("conversation", customer_id) or {}), factor: True}
    shop.state.put("conversation", customer_id, verified)

    return {"customer_id": customer_id, "verified": sorted(verified)}


def get_customer(shop: Shop, customer_id: str) -> Shown:
    """The customer's file, with the notes that it began with."""
    shop.known("customers", customer_id, "customer")

    return file_shown(shop.state.row, customer_id, shop.base.held_by(customer_id))


def list_orders(
    shop: Shop,
    customer_id: str,
    status: str | None = None,
    page: int = 1,
) -> Shown:
    """Orders of a customer, newest first, each with the one whom it was placed for; the gifts of
    others beside them, on every page.
    """
    shop.known("customers", customer_id, "customer")
    row = shop.state.row

    def found(keys: tuple[str, ...]) -> list[str]:
        """The orders among these that are in the status that was asked for."""
        return [key for key in keys if status in (None, row("orders", key)["status"])]

    answer = _paged(
        shop,
        "orders",
        found(shop.base.orders_of.get(customer_id, ())),
        page,
    )
    answer["orders"] = [_order_listed(shop, key) for key in answer["orders"]]
    gifts = [(key, row("orders", key)) for key in found(shop.base.gifts_of.get(customer_id, ()))]

    answer["gifts_received"] = [
        {
            "order_id": key,
            "from": row("customers", order["customer_id"])["name"],
            "status": order["status"],
        }
        for key, order in gifts
        if order["status"] == "delivered"
    ]

    return answer


def _order_listed(shop: Shop, order_id: str) -> Shown:
    """An order as a list has it."""
    row = shop.state.row
    order = row("orders", order_id)
    recipient = order["recipient_id"]
    named = {} if recipient is None else {"gift_for": row("customers", recipient)["name"]}

    return {
        "order_id": order_id,
        **columns(order, "placed", "status"),
        "total": dollars(order["total_cents"]),
        "skus": [row("lines", key)["sku"] for key in shop.base.lines_of[order_id]],
        **named,
    }


def get_order(shop: Shop, order_id: str) -> Shown:
    """An order with its lines."""
    return shop.order(order_id)


def search_products(shop: Shop, query: str, page: int = 1) -> Shown:
    """Products whose name and colours hold every word of the query."""
    words = set(query.lower().split())
    base = shop.base
    found = []
    day = base.today if shop.config.verbosity else None

    for product_id in sorted(base.tables["products"]):
        product = product_shown(
            shop.listed,
            product_id,
            base.variants_of[product_id],
            day,
        )
        own = {*product["name"].lower().split(), product["category"]}
        own |= {variant["colour"] for variant in product["variants"]}

        # every word must be in a product: the more, the fewer are found
        if words <= own:
            found.append(product)

    if not found:
        raise DeskError("not_found", "no product matches")

    return _paged(shop, "products", found, page)


def get_variant(shop: Shop, sku: str) -> Shown:
    """One variant with its live stock."""
    row = shop.known("variants", sku, "variant")

    return {
        "sku": sku,
        "product": shop.state.row("products", row["product_id"])["name"],
        **columns(row, "colour", "size", "stock"),
        "price": dollars(row["price_cents"]),
        "price_history": price_history(row, shop.base.today),
    }


def get_policy(shop: Shop, topic: str) -> Shown:
    """The written rules of one topic."""
    return {"topic": topic, "text": topic_text(shop.rules, topic, shop.config.policy)}


def quote_refund(shop: Shop, order_id: str, lines: list[int]) -> Shown:
    """The refund for a return of these lines; a quote changes nothing."""
    order = shop.order(order_id)
    cents = cents_of(order, shop.lines(order, lines))

    return {"order_id": order_id, "lines": lines, "refund": dollars(cents)}


def track_shipment(shop: Shop, order_id: str) -> Shown:
    """The parcel of an order."""
    order = shop.known("orders", order_id, "order")
    keys = shop.base.shipment_of.get(order_id, ())

    if not keys or order["status"] in BEFORE_SHIPPING:
        raise DeskError("not_found", f"order {order_id} has not been shipped")

    shipment = shop.state.row("shipments", keys[0])
    arrives = order["delivered"] or shipment["arrives"]

    return {"shipment_id": keys[0], **shipment, "arrives": arrives}


READS: Mapping[str, Callable[..., Shown]] = {
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
