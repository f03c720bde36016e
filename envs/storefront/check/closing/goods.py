"""Goods that are named, against those of the acts and orders: nouns, colours and sizes, and what
they were exchanged for.
"""

import re
from collections.abc import Iterator

from synth.envs.storefront.check.claims import TOOLS
from synth.envs.storefront.check.closing.reading import Reading
from synth.envs.storefront.check.mentions import Good, fit
from synth.envs.storefront.tools.transcript import Event

_INTO = re.compile(
    r"(?:for|to|into|in|now|be|with|get|getting|receive|receiving|have|come in)"
    r"(?: (?:the|a|same|be|in|now|your|one|ones|new|@goods'?s?|pair|of))* @goods"
)
"""Where the goods stand that others were exchanged for."""

_IS_OF = re.compile(
    r"^(?:\S+ ){0,3}?@goods (?:(?:in|from|of) @order )?"
    r"(?:is|are|stays?|stayed|remains?|will be|has to stay|have to stay|comes? in)"
    r" (?:now |still |a |an )*@goods"
)
"""Goods and the colour that they are said to be of."""


def goods(read: Reading) -> Iterator[str]:
    """What is not so of the goods that a clause names."""
    if not read.named.goods:
        return

    yield from _not_meant(read)
    if _IS_OF.search(read.text):
        yield from _is_now(read)
    exchanged = [event for event in read.events if TOOLS[event.tool] == "exchange"]
    if not (read.clause.denied or read.clause.has("kept")) and (
        exchanged or not (read.acts or read.named.amounts)
    ):
        yield from _colours(read, exchanged or read.ground.of("exchange", read.orders))


def _not_meant(read: Reading) -> Iterator[str]:
    """Goods of no act that is affirmed; else such as nobody spoke of."""
    clause, ground, named = read.clause, read.ground, read.named
    affirmed = bool(read.events) and not clause.denied
    stock = clause.has("not_in_stock") or clause.has("in_stock")
    orders = named.orders if not read.acts else []
    lines = [line for key in orders for end in (False, True) for line in ground.lines(key, end=end)]
    known = lines if orders else ground.known_lines

    for good in named.goods:
        if affirmed:
            if not any(read.concern([good], event) for event in read.events):
                yield "goods are not those of the act"
        elif stock or fit([good], known):
            continue
        elif named.orders or not ground.asked.named(good):
            yield "goods were not spoken of"


def _is_now(read: Reading) -> Iterator[str]:
    """What is said to be of a colour is, or is not, at the end."""
    ground, (first, then) = read.ground, read.named.goods[:2]
    good = Good(first.noun, then.colour, then.size)
    found = any(fit([good], ground.lines(key, end=True)) for key in read.meant)
    if found == read.clause.denied and not then.noun:
        yield "is of another colour"


def _colours(read: Reading, exchanged: list[Event]) -> Iterator[str]:
    """The colours and sizes are those of an exchange, the new one where it is said to be now."""
    ground = read.ground
    new = [line for event in exchanged for line in ground.became(event)]
    old = [line for event in exchanged for line in ground.touched(event)]
    variants = [good for good in read.named.goods if good.colour or good.size]
    nouns = {"", *(line[0] for line in (*new, *old))}
    if not new or not variants or not {good.noun for good in read.named.goods} <= nouns:
        return

    is_new = [fit([good], new) for good in variants]

    if not all(fit([good], [*old, *new]) for good in variants):
        yield "colours are not those of the act"
    elif not any(is_new):
        if _INTO.search(read.text) or (read.clause.has("coming") and not read.clause.contrast):
            yield "is not what it was exchanged for"
    elif fit(variants, old) and is_new[0] and not is_new[-1] and not read.clause.contrast:
        yield "is exchanged the other way"
