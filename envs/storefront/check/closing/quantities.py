"""How many orders, goods or requests a clause speaks of, against how many there were."""

import re
from collections.abc import Iterator

from synth.envs.storefront.check.closing.acts import only_spoke, spoken_of_requests
from synth.envs.storefront.check.closing.clauses import pattern
from synth.envs.storefront.check.closing.reading import OTHER_ORDER, Reading

_NUMBERS = {"both": 2, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_ALL = ("all", "each", "every", "everything")
_NONE = ("neither", "either")
_PARTS = ("one of", "some of", "part of", "several", "rest", "others")
_OPEN = ("pending", "processing", "shipped")


def quantities(read: Reading) -> Iterator[str]:
    """What is not so of the words for how many."""
    for word in pattern("quantities").findall(read.text):
        if word in _NUMBERS:
            if _NUMBERS[word] not in _counts(read):
                yield f"is not so of {word}"
        elif word in _ALL:
            yield from _all(read)
        elif word in _NONE:
            if not read.clause.denied:
                yield f"has a part that is not read: {word}"
        elif not _of_a_part(read, word):
            yield f"has a part that is not read: {word}"


def _counts(read: Reading) -> set[int]:
    """How many there are of what may be counted: orders of the acts, lines where goods are named,
    facts that were told, codes, requests of which none was denied.
    """
    ground, named = read.ground, read.named
    orders = [len({str(event.order_id) for event in read.of(act)}) for act in read.acts]
    lines = sum(len(ground.touched(event)) for event in read.events) if named.goods else 0
    told = {event.text for event in ground.told} if named.dates or read.clause.statuses else ()
    requests = ground.requests if spoken_of_requests(read) and not ground.denied else 0

    return {min(orders, default=0), lines, len(told), requests, len(set(named.codes))} | (
        set() if read.acts else {len(set(named.orders))}
    )


def _all(read: Reading) -> Iterator[str]:
    """All lines of goods that are named, all open orders, or all requests."""
    ground = read.ground
    nouns = {good.noun for good in read.named.goods if good.noun}
    events = [event for event in read.events if event.tool != "escalate"]
    touched = {str(event.order_id) for event in events}

    if read.clause.denied:
        # "I could not do all of it"
        if not ground.grounds:
            yield "nothing was denied"
    elif read.acts and nouns:
        every = [line for key in touched for line in ground.lines(key) if line[0] in nouns]
        done = [line for event in events for line in ground.touched(event) if line[0] in nouns]
        if len(done) < len(every):
            yield "is not so of all goods"
    elif read.acts and re.search(r"\borders\b", read.text):
        rows = {key: ground.row("orders", key) for key in ground.shown}
        if not {key for key, row in rows.items() if row.get("status") in _OPEN} <= touched:
            yield "is not so of all orders"
    elif ground.denied and not only_spoke(read):
        yield "was denied in part"


def _of_a_part(read: Reading, word: str) -> bool:
    """Whether a word for a part, or for something else, is borne out."""
    ground = read.ground
    if word in _PARTS and read.clause.denied:
        return bool(ground.grounds)
    if word == "only":
        orders = {str(event.order_id) for event in read.events if event.order_id}
        return (read.hypothetical and bool(ground.quotes)) or (
            len(orders) <= 1 and bool(ground.denied)
        )
    if word == "new":
        lines = read.new_lines()
        return any(good.fits(line) for good in read.named.goods for line in lines)
    if word == "other":
        return OTHER_ORDER.search(read.text) is not None or "address" in read.acts
    if word == "another":
        return "escalate" in read.acts

    return word in ("again", "twice") and not (read.acts or read.did)
