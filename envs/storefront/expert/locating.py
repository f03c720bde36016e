"""How the expert finds out who speaks (an account, and two verified factors), and which order they
mean.
"""

from synth.envs.storefront.expert.belief import WORDS
from synth.envs.storefront.expert.errand import Errand, NotYetError
from synth.envs.storefront.world.policy import NEEDED_FACTORS, Call
from synth.envs.storefront.world.views import Item, Shown


def identified(errand: Errand) -> str | None:
    """The customer's id once two factors are verified; None where no way is left.

    Raises `NotYetError` with the calls that lead there.
    """
    belief = errand.belief

    for customer_id in belief.accounts:
        if len(belief.verified.get(customer_id, ())) >= NEEDED_FACTORS:
            return customer_id

    for customer_id in belief.accounts:
        _verify(errand, customer_id)

        if errand.wrong("first_match"):
            return customer_id

    # people of one name may fill several pages
    if belief.more_accounts is not None and not errand.wrong("first_page"):
        raise NotYetError(("find_customer", belief.more_accounts))

    _find(errand)

    return None


def _verify(errand: Errand, customer_id: str) -> None:
    """Checks factors of an account, unless one did not fit."""
    checks: list[Call] = []
    slots = errand.belief.slots
    verified = errand.belief.verified.get(customer_id, set())

    for factor in errand.strategy.identify_by:
        # what is at hand is checked before another question is asked
        if factor not in slots:
            raise NotYetError(*(checks or [_question(factor)]))

        if slots[factor] is None or factor in verified:
            continue

        made = {"customer_id": customer_id, "factor": factor, "value": slots[factor]}

        if not errand.can(("verify_identity", made)):
            return

        checks.append(("verify_identity", made))

        if len(verified) + len(checks) >= NEEDED_FACTORS:
            break

    if checks:
        raise NotYetError(*checks)


def _find(errand: Errand) -> None:
    """Searches for an account, or asks for what the search needs."""
    slots = errand.belief.slots

    for factor in errand.strategy.identify_by:
        if factor not in slots:
            raise NotYetError(_question(factor))

        # a zip finds an account only together with the name
        name = {"name": slots.get("name")} if factor == "zip" else {}
        search = ("find_customer", {factor: slots[factor], **name})
        possible = None not in search[1].values() and not errand.belief.accounts

        if possible and errand.can(search):
            raise NotYetError(search)


def _question(factor: str) -> Call:
    """The question for an identity factor."""
    return "ask_customer", {"field": factor, "message": WORDS["identify"].format(field=factor)}


def located(errand: Errand) -> str:
    """The order's id, by that id where it was said, else by what is in it; several that fit are
    told apart by the customer's answer.

    Raises `NotYetError` with the calls that lead to it, with none where it cannot be found.
    """
    request = errand.request

    if request.order_id is not None:
        return request.order_id

    pages = errand.belief.pages.get(errand.customer_id, {})
    unread = _unread(errand, pages)

    if request.gift_of is not None and 1 in pages:
        return _first(pages[1]["gifts_received"], "from", request.gift_of)
    if unread:
        raise NotYetError(*unread)

    listed = [order for page in sorted(pages) for order in pages[page]["orders"]]

    if request.gift_for is not None:
        return _first(listed, "gift_for", request.gift_for)

    # the anchor is what is looked for; the order that is meant comes after it
    item = request.after or (request.colour or "", request.noun or "")
    search = errand.strategy.locate == "search"
    fitting = (_searched if search else _walked)(errand, item, listed)

    if request.after is not None:
        return _next_after(fitting, listed)

    if len(fitting) > 1 and not errand.wrong("first_match"):
        day = errand.told("order", item=f"{request.colour} {request.noun}")

        return _first(listed, "placed", day)

    if not fitting:
        raise NotYetError

    return fitting[0]


def _next_after(anchors: list[str], listed: list[Shown]) -> str:
    """The order that was placed next after the first of these."""
    placed = [order["placed"] for order in listed if order["order_id"] in anchors][:1]
    # lists have the newest first: the next one is the last of the later ones
    later = [order for order in listed if placed and order["placed"] > placed[0]]

    return _first(later[::-1])


def _first(
    orders: list[Shown],
    column: str = "",
    value: str | None = None,
) -> str:
    """The first of the orders with this value."""
    for order in orders:
        if order.get(column) == value:
            return str(order["order_id"])

    raise NotYetError


def _unread(errand: Errand, pages: dict[int, Shown]) -> list[Call]:
    """The pages of orders that were not read, the first one alone; `first_page` never reads another
    than the first.
    """
    made = {"customer_id": errand.customer_id}

    if 1 not in pages:
        return list(filter(errand.can, [("list_orders", made)]))

    last = 1 if errand.wrong("first_page") else pages[1]["pages"]
    numbers = [page for page in range(2, last + 1) if page not in pages]

    return [("list_orders", {**made, "page": page}) for page in numbers]


def _walked(
    errand: Errand,
    item: Item,
    listed: list[Shown],
) -> list[str]:
    """Reads every order; `first_match` stops at the first that fits."""
    fitting: list[str] = []
    unread: list[Call] = []

    for order in listed:
        order_id = order["order_id"]

        if order_id not in errand.belief.items:
            unread.append(("get_order", {"order_id": order_id}))
        elif item in errand.belief.items[order_id]:
            fitting.append(order_id)
        else:
            continue

        if errand.wrong("first_match"):
            break

    if unread:
        raise NotYetError(*unread)

    return fitting


def _searched(
    errand: Errand,
    item: Item,
    listed: list[Shown],
) -> list[str]:
    """Finds the item's skus in the catalogue, then the orders that list one of them."""
    belief = errand.belief
    search = ("search_products", {"query": item[1]})

    # a search that found nothing is not made again: the orders are read instead
    if item[1] not in belief.products:
        if errand.can(search):
            raise NotYetError(search)

        return _walked(errand, item, listed)

    variants = belief.products[item[1]]["variants"]
    skus = {variant["sku"] for variant in variants if variant["colour"] == item[0]}
    ids = [str(order["order_id"]) for order in listed]

    return [key for key in ids if skus & belief.skus[key] or item in belief.items.get(key, ())]
