"""The details of what words claim, compared with the acts: where money went, which goods and how
many orders an act was done on, where a parcel goes.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from itertools import combinations

from synth.envs.storefront.check.claims import ANY, SpokenClaim
from synth.envs.storefront.texts import texts
from synth.envs.storefront.tools.transcript import Event
from synth.envs.storefront.world.world import BaseWorld

STORE_CREDIT = "store_credit"
_MANY = 2
_MOST_ADDED = 3
"""Amounts that are told as one sum."""
_ON_LINES = {"create_return": "lines", "modify_lines": "lines"}
"""Acts on lines of an order -> the argument that names them."""


@cache
def means_patterns() -> dict[str, re.Pattern[str]]:
    """How each kind of means is called."""
    means = texts("claims")["means"]
    return {kind: re.compile(words.replace("\n", "")) for kind, words in means.items()}


@cache
def _words(name: str) -> re.Pattern[str]:
    """A pattern of the file."""
    return re.compile(texts("claims")[name].replace("\n", ""))


def means_named(text: str) -> set[str]:
    """The kinds of means that a text says money goes to."""
    said = text.lower()
    return {kind for kind, words in means_patterns().items() if words.search(said)}


def means_of(base: BaseWorld, refunds: Iterable[Event]) -> set[str]:
    """The kinds of means that refunds went to."""
    found = set[str]()
    for event in refunds:
        to = str(event.arguments.get("to"))
        row = base.tables["payments"].get(to)
        found.add(to if row is None else str(row["kind"]))

    return found


def goods_of(base: BaseWorld, order_id: str, lines: Collection[str] | None = None) -> set[str]:
    """The nouns of an order's goods, or of these of its lines."""
    found = set[str]()
    for key in base.lines_of.get(order_id, ()):
        row = base.tables["lines"][key]
        if lines is None or str(row["line"]) in lines:
            product = base.tables["variants"][row["sku"]]["product_id"]
            found.add(str(base.tables["products"][product]["noun"]))

    return found


def goods_touched(base: BaseWorld, acts: Iterable[Event]) -> set[str]:
    """The nouns of the goods that acts were done on: of the named lines, or of the whole order."""
    found = set[str]()
    for event in acts:
        lines = event.arguments.get(_ON_LINES.get(event.tool, ""))
        named = None if lines is None else {str(line) for line in lines}
        found |= goods_of(base, str(event.order_id), named)

    return found


def goods_named(base: BaseWorld, text: str, orders: Iterable[str]) -> set[str]:
    """The nouns of these orders' goods that a text names."""
    said = text.lower()
    nouns = {noun for order_id in orders for noun in goods_of(base, order_id)}
    return {noun for noun in nouns if re.search(rf"\b{re.escape(noun)}(?:e?s)?\b", said)}


def of_several(text: str) -> bool:
    """Whether a text speaks of two orders or more."""
    return _words("several").search(text.lower()) is not None


def in_part(text: str) -> bool:
    """Whether a text speaks of a part, or of what another sentence named."""
    return _words("in_part").search(text.lower()) is not None


def of_none(text: str) -> bool:
    """Whether a text says of all at once that nothing happened to them."""
    return _words("none_at_all").search(text.lower()) is not None


def not_of_orders(text: str) -> bool:
    """Whether a text speaks of what no act on orders touches, such as a profile."""
    return _words("not_of_orders").search(text.lower()) is not None


def wrong_details(
    base: BaseWorld, claim: SpokenClaim, acts: list[Event], writes: list[Event], spoken: list[str]
) -> Iterator[str]:
    """Why an act was done otherwise than is claimed; `writes` are all, `spoken` the orders."""
    if of_several(claim.text) and acts and len({event.order_id for event in acts}) < _MANY:
        yield "is so of one order"

    refunds = [event for event in writes if event.tool == "issue_refund"]
    named = means_named(claim.text)
    money = claim.act == "refund" or claim.amounts
    if money and refunds and named and not named <= means_of(base, refunds):
        yield "went another way"

    if claim.act in ("return", "exchange") and acts:
        goods = goods_named(base, claim.text, spoken)
        if not goods <= goods_touched(base, acts):
            yield "is not so of all that is named"

    if claim.act == "address" and not_of_orders(claim.text):
        yield "can be done by no tool"
    elif claim.act == "address" and acts and not _is_the_street(base, claim, acts):
        yield "is another address"


def did_to_what_is_meant(
    base: BaseWorld, claim: SpokenClaim, acts: list[Event], spoken: list[str], in_doubt: bool
) -> bool:
    """Whether what is said not to have happened, of no named order, did happen to what is meant:
    goods and means that are named, all of several, else whatever was spoken of; `in_doubt`: a part
    of several orders was denied.
    """
    if claim.act == ANY or (claim.act == "address" and not_of_orders(claim.text)):
        return False
    if of_none(claim.text):
        return True
    if goods := goods_named(base, claim.text, spoken):
        return bool(goods & goods_touched(base, acts))
    if claim.act == "refund" and (named := means_named(claim.text)):
        return bool(named & means_of(base, acts))

    return not in_part(claim.text) and not in_doubt


def _is_the_street(base: BaseWorld, claim: SpokenClaim, acts: list[Event]) -> bool:
    """Whether the numbers of a claimed address are those of an act's."""
    rows = [base.row("addresses", event.arguments["address_id"]) for event in acts]
    known = set(re.findall(r"\d+", " ".join(f"{row['street']} {row['zip']}" for row in rows)))
    numbers = set(re.findall(r"(?<![\w-])\d+(?![\w.])", claim.text))

    return numbers <= known


def wrong_particulars(
    base: BaseWorld, claim: SpokenClaim, acts: list[Event], quotes: list[Event]
) -> str:
    """Why the details of a claim are not those of the act: amounts, a city, a code."""
    if claim.act == "refund" and claim.amounts:
        known = {*sums(cents_of(acts)), *cents_of(quotes)}

        return "" if known.issuperset(claim.amounts) else "is another amount"

    said = claim.text.lower()

    if claim.act == "address" and acts:
        cities = {row["city"].lower() for row in base.tables["addresses"].values()}
        meant = {_city(base, event) for event in acts}
        named = {city for city in cities if re.search(rf"\b{re.escape(city)}\b", said)}

        return "" if named <= meant else "is another city"

    if claim.act == "coupon" and acts:
        codes = {code for code in base.tables["coupons"] if code.lower() in said}
        used = {event.arguments.get("code") for event in acts}

        return "" if codes <= used else "is another coupon"

    return ""


def _city(base: BaseWorld, event: Event) -> str:
    """Where an order was sent."""
    return str(base.row("addresses", event.arguments["address_id"])["city"]).lower()


def cents_of(events: list[Event]) -> list[int]:
    """The amounts that events paid or quoted, in cents."""
    amounts = (event.arguments.get("amount", event.result.get("refund")) for event in events)

    return [round(amount * 100) for amount in amounts if isinstance(amount, int | float)]


def sums(cents: list[int]) -> Iterator[int]:
    """Amounts, and what some of them come to."""
    for count in range(1, _MOST_ADDED + 1):
        yield from map(sum, combinations(cents, count))

    yield sum(cents)
