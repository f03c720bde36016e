"""How the expert finds the order that the customer means."""

from typing import Any

from synth.envs.storefront.customer.script import Request
from synth.envs.storefront.expert.asking import WORDS
from synth.envs.storefront.expert.plan import Call, Plan

Item = tuple[str, str]
"""Colour and noun."""
Located = tuple[str | None, list[Call]]
"""The order's id, or the calls that lead to it; neither where it cannot be found."""


def located(plan: Plan, customer_id: str, request: Request) -> Located:
    """By its id where it was said, else by what is in it; several that fit are told apart by the
    customer's answer.
    """
    if request.order_id is not None:
        return request.order_id, []
    if request.gift_of is not None:
        return _given_by(plan, customer_id, request.gift_of)
    calls = _listing(plan, customer_id)
    if calls:
        return None, calls
    listed = _listed(plan, customer_id)
    if request.gift_for is not None:
        return next(
            (order["order_id"] for order in listed if order.get("gift_for") == request.gift_for),
            None,
        ), []
    item = request.after or (request.colour or "", request.noun or "")
    fitting, calls = (
        _searched(plan, item, listed)
        if plan.strategy.locate == "search"
        else _walked(plan, item, listed)
    )
    if calls:
        return None, calls
    if request.after is not None:
        return _next_after(fitting, listed), []
    if len(fitting) <= 1 or "first_match" in plan.wrong:
        return (fitting[0] if fitting else None), []
    placed = plan.belief.answers.get((request.number, "order")) or request.given.get("order")
    if placed is not None:
        return next((order["order_id"] for order in listed if order["placed"] == placed), None), []
    if ("order", request.number) in plan.belief.asked:
        return None, []
    question = WORDS["order"].format(item=f"{request.colour} {request.noun}")
    message = WORDS["question"].format(number=request.number, question=question)
    return None, [
        ("ask_customer", {"field": "order", "message": message, "request": request.number})
    ]


def _given_by(plan: Plan, customer_id: str, giver: str) -> Located:
    """The gift that the customer had from somebody; it stands beside the first page of their own
    orders.
    """
    first = plan.belief.pages.get(customer_id, {}).get(1)
    if first is None:
        call: Call = ("list_orders", {"customer_id": customer_id})
        return None, [call] if plan.can(call) else []
    return next(
        (gift["order_id"] for gift in first["gifts_received"] if gift["from"] == giver), None
    ), []


def _next_after(fitting: list[str], listed: list[dict[str, Any]]) -> str | None:
    """The order placed next after the first of those that fit."""
    placed = next((order["placed"] for order in listed if order["order_id"] in fitting), None)
    later = [order for order in listed if placed is not None and order["placed"] > placed]
    return min(later, key=lambda order: str(order["placed"]))["order_id"] if later else None


def _listing(plan: Plan, customer_id: str) -> list[Call]:
    """The first page of orders that was not read; `first_page` never reads another than the
    first.
    """
    pages = plan.belief.pages.get(customer_id, {})
    if 1 not in pages:
        call: Call = ("list_orders", {"customer_id": customer_id})
        return [call] if plan.can(call) else []
    if "first_page" in plan.wrong:
        return []
    count = pages[1]["pages"]
    return [
        ("list_orders", {"customer_id": customer_id, "page": page})
        for page in range(2, count + 1)
        if page not in pages
    ]


def _listed(plan: Plan, customer_id: str) -> list[dict[str, Any]]:
    pages = plan.belief.pages.get(customer_id, {})
    return [order for page in sorted(pages) for order in pages[page]["orders"]]


def _walked(plan: Plan, item: Item, listed: list[dict[str, Any]]) -> tuple[list[str], list[Call]]:
    """Reads every order; `first_match` stops at the first that fits."""
    fitting: list[str] = []
    unread: list[Call] = []
    for order in listed:
        items = plan.belief.items.get(order["order_id"])
        if items is None:
            unread.append(("get_order", {"order_id": order["order_id"]}))
            if "first_match" in plan.wrong:
                break
        elif item in items:
            fitting.append(order["order_id"])
            if "first_match" in plan.wrong:
                break
    return fitting, unread


def _searched(plan: Plan, item: Item, listed: list[dict[str, Any]]) -> tuple[list[str], list[Call]]:
    """Finds the item's skus in the catalogue, then the orders that list one of them."""
    product = plan.belief.products.get(item[1])
    if product is None:
        return _walked(plan, item, listed) if not plan.can(_search(item)) else ([], [_search(item)])
    skus = {variant["sku"] for variant in product["variants"] if variant["colour"] == item[0]}
    fitting = []
    for order in listed:
        order_id = order["order_id"]
        if skus.intersection(plan.belief.skus_listed[order_id]) or item in plan.belief.items.get(
            order_id, ()
        ):
            fitting.append(order_id)
    return fitting, []


def _search(item: Item) -> Call:
    return ("search_products", {"query": item[1]})
