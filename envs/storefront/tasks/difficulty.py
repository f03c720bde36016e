"""What makes a task hard, as it is recorded with the task; and how deep a request lies: the
look-ups between knowing who speaks and being able to settle it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from synth.envs.storefront.customer.script import Script
from synth.envs.storefront.tasks.intents import Draw, Intent
from synth.envs.storefront.tools.schemas import WRITES, rule_texts
from synth.schemas import Scalar

_AS_SET = (
    "level",
    "policy",
    "page_size",
    "transient_rate",
    "verbosity",
    "dialogue",
    "budget_slack",
)
"""Settings that are recorded as they are."""
_WITHOUT_FILE = frozenset({"R10", "R15"})
"""Rules by which a return is denied before the customer's file was read for the tier and the cards.
"""


def recorded(
    draw: Draw,
    place: Mapping[str, Any],
    intents: Sequence[Intent],
    script: Script,
    facts: Mapping[str, Scalar],
) -> dict[str, Any]:
    """Every dial as it stands in this task; `place` is its kind and its pair."""
    rules = draw.base.rules
    # the policy as this task's prompt has it
    words = " ".join(rule_texts(rules, draw.config.policy).values())

    return {
        **{name: getattr(draw.config, name) for name in _AS_SET},
        **_of_requests(intents),
        **place,
        "look_ups": first_write(draw, intents),
        "distractors": _distractors(draw, intents, script.name),
        "rules_in_force": len(rules.in_force),
        "rules_enforced": len(rules.enforced),
        "policy_words": len(words.split()),
        "events": len(script.events),
        # of email, phone and zip
        "unknown_slots": 3 - len(script.slots),
        "changes_of_mind": len(script.revisions),
        "pressure": script.pressure,
        "injection": any(path.endswith("/text") for path in facts),
    }


def _of_requests(intents: Sequence[Intent]) -> dict[str, Any]:
    """How many requests there are, of which kinds, and how they are put."""
    requests = [intent.request for intent in intents]
    referents = [intent.referent for intent in intents if intent.referent is not None]
    names = [name for intent in intents for name in set(intent.complications)]
    refused = [refusal.rule for intent in intents for refusal in intent.refusals]

    return {
        "operations": len(intents),
        "kinds": [request.kind for request in requests],
        "by_description": sum(not referent.stands_alone for referent in referents),
        "by_relation": sum(request.after is not None for request in requests),
        "by_other_person": names.count("by_other_person"),
        "ambiguous": sum(referent.candidates > 1 for referent in referents),
        "candidates": max((referent.candidates for referent in referents), default=1),
        "refusal": next(iter(refused), None),
        "twists": sorted(set(names)),
        "false_claims": names.count("false_claim"),
    }


def _distractors(draw: Draw, intents: Sequence[Intent], speaker: str) -> int:
    """How many orders and accounts could be taken for the ones that are meant."""
    meant = {intent.referent.order_id for intent in intents if intent.referent is not None}
    orders = {order["order_id"] for order in draw.orders} - meant

    return len(orders) + len(draw.base.customers_by["name"][speaker]) - 1


def first_write(
    draw: Draw,
    intents: Sequence[Intent],
) -> int:
    """The fewest look-ups before something can be written; before a denial or an answer, where
    nothing is to be written.
    """
    # of the customer's list of orders
    pages = max(1, -(-len(draw.orders) // draw.config.page_size))
    # a request that is taken back may never be worked on
    asked = [intent for intent in intents if "withdrawn" not in intent.complications]
    writing = [intent for intent in asked if _writes(intent)]

    return min(_look_ups(intent, pages) for intent in writing or asked)


def _writes(intent: Intent) -> bool:
    """Whether something is written, or tried before the shop's event shows that it cannot be."""
    return bool(intent.events) or any(tool in WRITES for tool, _ in intent.calls)


def _look_ups(
    intent: Intent,
    pages: int,
) -> int:
    """The fewest with which the expert settles a request by a write, a denial or an answer,
    identification left out; `pages` are those of the customer's list of orders.
    """
    request = intent.request
    is_denied = intent.refusals and not intent.calls and not intent.events
    denied = intent.refusals[0].rule if is_denied else None
    searched: str | None = None

    if request.kind == "out_of_scope" or denied == "R1":
        return 0
    if request.kind == "price_query":
        return 1 + request.former

    if request.order_id is not None:
        # the id was said
        located = 0
    elif request.gift_of is not None:
        located = 1
    elif request.gift_for is not None:
        located = pages
    else:
        # all pages, and a search for the item in the catalogue
        searched = request.after[1] if request.after is not None else request.noun
        located = pages + 1

    return located + 1 + _after_the_order(intent, denied, searched)


def _after_the_order(
    intent: Intent,
    denied: str | None,
    searched: str | None,
) -> int:
    """What is looked up once the order has been read: the file, the quote, the catalogue, the live
    stock, the parcel.
    """
    request = intent.request
    kinds = {request.kind, *(one.request.kind for one in intent.revisions if one.request)}

    # the order itself shows it
    if "already_done" in intent.complications:
        return 0
    if request.kind == "return":
        return 2 if denied is None else int(denied not in _WITHOUT_FILE)

    if request.kind == "exchange":
        # a search that located the order has shown the variants as well
        looked = (request.noun != searched) + (request.condition == "in_stock")

        return looked if denied is None else 0

    if "address" in kinds:
        return int(denied is None or not str(intent.refusals[0].evidence).startswith("O-"))

    tracked = request.otherwise == "track" and not _writes(intent)

    return int(denied is None and (tracked or request.kind in ("track", "refund_query")))
