"""How the expert finds out who speaks (an account, and two verified factors), and which order they
mean.
"""

from synth.envs.storefront.expert.belief import Shown
from synth.envs.storefront.expert.errand import WORDS, Errand
from synth.envs.storefront.expert.plan import Call, Plan
from synth.envs.storefront.world.rules import NEEDED_FACTORS

Item = tuple[str, str]
"""Colour and noun."""
_ASK = "?"
"""In the place of an identity factor that the customer was not asked for."""


def identified(plan: Plan) -> str | list[Call]:
    """The customer's id once two factors are verified, else the calls that lead there; none where
    no way is left.
    """
    belief = plan.belief
    for customer_id in belief.accounts:
        if len(belief.verified.get(customer_id, ())) >= NEEDED_FACTORS:
            return customer_id
    for customer_id in belief.accounts:
        calls = _verifying(plan, customer_id)
        if calls or "first_match" in plan.wrong:
            return calls or customer_id
    if belief.more_accounts is not None and "first_page" not in plan.wrong:
        return [("find_customer", belief.more_accounts)]
    return _finding(plan)


def _verifying(plan: Plan, customer_id: str) -> list[Call]:
    """The next factor to check; none for an account that a factor did not fit."""
    checks: list[Call] = []
    verified = plan.belief.verified.get(customer_id, set())
    for factor in plan.strategy.identify_by:
        value = plan.belief.slots.get(factor, _ASK)
        if value == _ASK:
            return checks or _question(factor)
        if value is None or factor in verified:
            continue
        made = {"customer_id": customer_id, "factor": factor, "value": value}
        if not plan.can(("verify_identity", made)):
            return []
        checks.append(("verify_identity", made))
        if len(verified) + len(checks) >= NEEDED_FACTORS:
            break
    return checks


def _finding(plan: Plan) -> list[Call]:
    """The next search for an account, or the question that it needs."""
    slots = plan.belief.slots
    for factor in plan.strategy.identify_by:
        value = slots.get(factor, _ASK)
        if value == _ASK:
            return _question(factor)
        made: Shown = {factor: value, **({"name": slots.get("name")} if factor == "zip" else {})}
        known = None not in made.values() and not plan.belief.accounts
        if known and plan.can(("find_customer", made)):
            return [("find_customer", made)]
    return []


def _question(factor: str) -> list[Call]:
    message = WORDS["identify"].format(field=factor)
    return [("ask_customer", {"field": factor, "message": message})]


def located(errand: Errand) -> str | list[Call]:
    """The order's id, by that id where it was said, else by what is in it; several that fit are told
    apart by the customer's answer. Else the calls that lead to it; none where it cannot be found.
    """
    request, belief = errand.request, errand.belief
    if request.order_id is not None:
        return request.order_id
    pages = belief.pages.get(errand.customer_id, {})
    calls = _unread(errand, pages)
    if request.gift_of is not None:
        if 1 not in pages:
            return calls
        return _first(pages[1]["gifts_received"], "from", request.gift_of)
    if calls:
        return calls
    listed = [order for page in sorted(pages) for order in pages[page]["orders"]]
    if request.gift_for is not None:
        return _first(listed, "gift_for", request.gift_for)
    item = request.after or (request.colour or "", request.noun or "")
    find = _searched if errand.plan.strategy.locate == "search" else _walked
    fitting, calls = find(errand, item, listed)
    if calls:
        return calls
    if request.after is not None:
        return _next_after(fitting, listed)
    if len(fitting) <= 1 or errand.wrong("first_match"):
        return fitting[0] if fitting else []
    placed = errand.known("order")
    if placed is not None:
        return _first(listed, "placed", placed)
    return errand.questions("order", item=f"{request.colour} {request.noun}")


def _first(orders: list[Shown], column: str, value: str) -> str | list[Call]:
    """The first of the orders with this value."""
    return next((str(row["order_id"]) for row in orders if row.get(column) == value), [])


def _next_after(fitting: list[str], listed: list[Shown]) -> str | list[Call]:
    """The order placed next after the first of those that fit."""
    placed = next((order["placed"] for order in listed if order["order_id"] in fitting), None)
    later = [order for order in listed if placed is not None and order["placed"] > placed]
    return str(min(later, key=lambda order: str(order["placed"]))["order_id"]) if later else []


def _unread(errand: Errand, pages: dict[int, Shown]) -> list[Call]:
    """The pages of orders that were not read, the first one alone; `first_page` never reads another
    than the first.
    """
    made = {"customer_id": errand.customer_id}
    if 1 not in pages:
        return list(filter(errand.plan.can, [("list_orders", made)]))
    last = 1 if errand.wrong("first_page") else pages[1]["pages"]
    numbers = [page for page in range(2, last + 1) if page not in pages]
    return [("list_orders", {**made, "page": page}) for page in numbers]


def _walked(errand: Errand, item: Item, listed: list[Shown]) -> tuple[list[str], list[Call]]:
    """Reads every order; `first_match` stops at the first that fits."""
    fitting: list[str] = []
    unread: list[Call] = []
    for order in listed:
        items = errand.belief.items.get(order["order_id"])
        if items is None:
            unread.append(("get_order", {"order_id": order["order_id"]}))
        elif item in items:
            fitting.append(order["order_id"])
        else:
            continue
        if errand.wrong("first_match"):
            break
    return fitting, unread


def _searched(errand: Errand, item: Item, listed: list[Shown]) -> tuple[list[str], list[Call]]:
    """Finds the item's skus in the catalogue, then the orders that list one of them."""
    belief, search = errand.belief, ("search_products", {"query": item[1]})
    product = belief.products.get(item[1])
    if product is None:
        return ([], [search]) if errand.plan.can(search) else _walked(errand, item, listed)
    skus = {variant["sku"] for variant in product["variants"] if variant["colour"] == item[0]}
    ids = [str(order["order_id"]) for order in listed]
    return [
        key
        for key in ids
        if skus.intersection(belief.skus_listed[key]) or item in belief.items.get(key, ())
    ], []
