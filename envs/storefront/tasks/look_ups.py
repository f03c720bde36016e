"""How deep a request lies: the look-ups between knowing who speaks and being able to settle it."""

from collections.abc import Sequence

from synth.envs.storefront.tasks.intents import Intent

_WITHOUT_FILE = frozenset({"R10", "R15"})
"""Rules by which a return is denied before the customer's file was read for the tier and the cards.
"""


def first_write(intents: Sequence[Intent], pages: int) -> int:
    """The fewest look-ups before something can be written; before a denial or an answer, where
    nothing is to be written.
    """
    writing = [intent for intent in intents if intent.required]
    return min(
        look_ups(intent, pages) for intent in writing or intents if "withdrawn" not in intent.twists
    )


def look_ups(intent: Intent, pages: int) -> int:
    """The fewest with which the expert settles a request by a write, a denial or an answer,
    identification left out; `pages` are those
    of the customer's list of orders.
    """
    request = intent.request
    denied = intent.refusals[0].rule if intent.refusals and not intent.required else None
    if request.kind == "out_of_scope" or denied == "R1":
        return 0
    if request.kind == "price_query":
        return 1 + request.former
    searched: str | None = None
    if request.order_id is not None:
        located = 0
    elif request.gift_of is not None or request.gift_for is not None:
        located = 1 if request.gift_of is not None else pages
    else:
        searched = request.after[1] if request.after is not None else request.noun
        located = pages + 1
    return located + 1 + _after_the_order(intent, denied, searched)


def _after_the_order(intent: Intent, denied: str | None, searched: str | None) -> int:
    """What is looked up once the order has been read: the file, the quote, the catalogue, the live
    stock, the parcel.
    """
    request = intent.request
    if "already_done" in intent.twists:
        return 0
    if request.kind == "return":
        return 2 if denied is None else 0 if denied in _WITHOUT_FILE else 1
    if request.kind == "exchange":
        return (
            0
            if denied is not None
            else (request.noun != searched) + (request.condition == "in_stock")
        )
    if "address" in (
        request.kind,
        *(revision.request.kind for revision in intent.revisions if revision.request is not None),
    ):
        of_the_order = denied is not None and str(intent.refusals[0].evidence).startswith("O-")
        return 0 if of_the_order else 1
    asks = request.kind in ("track", "refund_query") or (
        request.otherwise == "track" and not intent.required
    )
    return 1 if asks and denied is None else 0
