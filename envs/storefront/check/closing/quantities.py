"""How many orders, goods or requests a clause speaks of, against how many there were."""

import re
from collections.abc import Collection, Iterator, Mapping

from synth.envs.storefront.check.closing.backing.said import SAID, pattern
from synth.envs.storefront.check.closing.clauses import OTHER_ORDER
from synth.envs.storefront.check.closing.reading import Reading
from synth.envs.storefront.check.closing.standing import OPEN, stands
from synth.envs.storefront.check.mentions import fit
from synth.envs.storefront.tools.transcript import Event

_NUMBERS: Mapping[str, int] = SAID["numbers"]
_OUT_OF = re.compile(
    rf"\b(?P<done>one|{'|'.join(_NUMBERS)}) (?:out )?of (?:(?:your|the|my|those) )?(?P<of>\w+)\b"
)
_OF_REQUESTS = re.compile(
    r"\brequests?\b|^(?:and )?(?:that's|that is|that was|those are) (?:both|all)\b"
)
"""Words by which it is the customer's requests that are counted."""
_ANSWERS = re.compile(r"\b(?:questions?|answers?|dates?|quotes?|prices?)\b")
_PARCELS = re.compile(r"\b(?:parcels?|packages?|shipments?|deliver(?:y|ies)|orders?)\b")


def quantities(read: Reading) -> Iterator[str]:
    """What is not so of the words for how many."""
    text = read.clause.plain
    if shares := _OUT_OF.search(text):
        numbers = {"one": 1, **_NUMBERS}
        every = len(read.ground.asked.requests)
        done = every - len(read.ground.denied_requests)
        if (numbers[shares["done"]], numbers.get(shares["of"])) == (done, every):
            text = _OUT_OF.sub(" ", text)

    for word in pattern("quantities").findall(text):
        if word in _NUMBERS:
            if _NUMBERS[word] not in _counts(read):
                yield f"is not so of {word}"
        elif word in SAID["all"]:
            if word not in SAID["whole"] or read.acts:
                yield from _all(read)
        elif word in SAID["none"]:
            if not read.clause.denied:
                yield f"has a part that is not read: {word}"
        elif not _of_a_part(read, word):
            yield f"has a part that is not read: {word}"


def _counts(read: Reading) -> set[int]:
    """How many there are of what may be counted: orders of the acts, lines where goods are named,
    facts that were told, codes, requests of which none was denied.
    """
    ground, named = read.ground, read.named
    if read.clause.statuses and not (read.acts or named.dates):
        return {sum(_stand(read, name) for name in read.clause.statuses)}

    orders = [len({str(event.order_id) for event in read.of(act)}) for act in read.acts]
    lines = sum(len(ground.touched(event)) for event in read.events) if named.goods else 0
    every = len(ground.asked.requests)
    of_requests = not read.acts or _OF_REQUESTS.search(read.text)
    requests = every if of_requests and not ground.denied else 0
    counts = {min(orders, default=0), lines, _told(read), requests, len(set(named.codes))}

    return counts if read.acts else counts | {len(set(named.orders))}


def _told(read: Reading) -> int:
    """How many things facts were told of, where these are what may be counted."""
    told = read.ground.told
    if read.named.dates or read.clause.statuses or _ANSWERS.search(read.text):
        return len({event.text for event in told})
    if _PARCELS.search(read.text):
        return len({event.text for event in told if event.tool == "arrival"})

    return 0


def _stand(read: Reading, status: str) -> int:
    """How many of the orders that were told of, or shown, have a status."""
    row = SAID["statuses"][status]
    orders = {*read.ground.told_of} or read.ground.shown
    return sum(stands(read, key, row) for key in orders)


def _all(read: Reading) -> Iterator[str]:
    """All lines of goods that are named, or of an order; all open orders, or all requests."""
    ground = read.ground
    nouns = {good.noun for good in read.named.kinds_of_goods}

    if read.clause.denied:
        # "I could not do all of it"
        if not ground.grounds:
            yield "nothing was denied"
    elif read.acts and nouns:
        if _leaves_lines(read, nouns):
            yield "is not so of all goods"
    elif read.clause.statuses and not read.acts:
        told = len({*ground.told_of})
        if any(_stand(read, name) < told for name in read.clause.statuses):
            yield "is not so of all that was told of"
    elif read.acts and read.named.orders and _leaves_lines(read):
        yield "is not so of all goods"
    elif read.acts and re.search(r"\borders\b", read.text):
        rows = {key: ground.row("orders", key) for key in ground.shown}
        is_open = {key for key, row in rows.items() if row.get("status") in OPEN}
        if not is_open <= {str(event.order_id) for event in _on_orders(read)}:
            yield "is not so of all orders"
    elif ground.denied and not (_only_spoke(read) or "everything else" in read.text):
        yield "was denied in part"


def _only_spoke(read: Reading) -> bool:
    """Whether somebody only looked, or spoke, or helped."""
    spoke = pattern("own_act").search(read.text) is not None
    return spoke and not read.did and not read.acts


def _on_orders(read: Reading) -> list[Event]:
    """The events of the acts that a clause names, but for what was handed over."""
    return [event for event in read.events if event.tool != "escalate"]


def _leaves_lines(read: Reading, nouns: Collection[str] = ()) -> bool:
    """Whether acts left lines of their orders as they were, of these nouns or of any."""
    events = _on_orders(read)
    touched = {str(event.order_id) for event in events}
    every = [line for key in touched for line in read.ground.lines(key)]
    done = [line for event in events for line in read.ground.touched(event)]
    if not nouns:
        return len(done) < len(every)

    return sum(line[0] in nouns for line in done) < sum(line[0] in nouns for line in every)


def _of_a_part(read: Reading, word: str) -> bool:
    """Whether a word for a part, or for something else, is borne out."""
    ground = read.ground
    if word == "part of":
        return not read.did
    if word in ("rest", "remaining", "others") and not read.clause.denied:
        done = read.clause.has("finished") and not (read.acts or read.named.goods)
        return done or read.in_part()
    if word == "first" and re.search(r"\bfirst(?:,|$)", read.text):
        return True
    if word in SAID["part"] and read.clause.denied:
        return bool(ground.grounds)
    if word == "only":
        return _is_alone(read)
    if word in ("again", "twice"):
        once_more = read.clause.denied and "R7" in ground.grounds
        return once_more or not (read.acts or read.did)

    return _of_another(read, word)


def _of_another(read: Reading, word: str) -> bool:
    """Whether a word for something else than was named is borne out."""
    if word == "new":
        return fit(read.named.goods, read.new_lines())
    if word == "other":
        left = read.clause.has("kept") and re.search(r"other (?:request|one|matter)", read.text)
        return bool(OTHER_ORDER.search(read.text) or left or "address" in read.acts)
    if word == "another":
        other_colour = re.search(r"another (?:colou?r|one|size|version|variant)", read.text)
        return "escalate" in read.acts or bool(other_colour and read.ground.of("exchange"))

    return False


def _is_alone(read: Reading) -> bool:
    """Whether there is no more than what is said to be so only: a quote, an act on one order of
    which others were denied, or on those goods alone.
    """
    ground, events = read.ground, read.events
    orders = {str(event.order_id) for event in events if event.order_id}
    lines = [line for event in events for line in ground.touched(event)]
    of_goods = bool(lines) and all(fit(read.named.goods, [line]) for line in lines)
    return (
        (read.hypothetical and bool(ground.quotes))
        or (len(orders) <= 1 and bool(ground.denied))
        or (of_goods and len(orders) == 1)
        or ("escalate" in read.acts and bool(ground.of("escalate")))
        or (read.clause.unfinished and len(ground.of("escalate")) == 1)
    )
