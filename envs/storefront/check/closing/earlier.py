"""What was so of orders before the conversation: acts that somebody had done, statuses that no
longer hold, places that they were to go to.
"""

import re

from synth.envs.storefront.check.closing.reading import Reading

_JUST_NOW = re.compile(r"\b(?:just|today(?!'s)|a moment ago|now)\b")
_BEFORE = re.compile(r"\b(?:before|already|earlier|previously|then)\b")
_STOOD = re.compile(r"\b(?:was|were|had been|still)\b")
_WAS_TO_GO = re.compile(r"\b(?:was|were|had been|originally|before|used to|previous\w*|old)\b")


def was_done(read: Reading, act: str) -> bool:
    """Whether an act had been done to each order that is meant, before and by somebody else."""
    if read.is_own or _JUST_NOW.search(read.text):
        return False
    if not read.orders:
        before = _BEFORE.search(read.text)
        return bool(before) and any(had(read, act, key) for key in read.ground.shown)

    return all(had(read, act, key) for key in read.orders)


def had(read: Reading, act: str, order_id: str) -> bool:
    """Whether an act had been done to an order."""
    tables = read.ground.view.base.tables
    row = tables["orders"].get(order_id, {})
    match act:
        case "refund":
            return any(one["order_id"] == order_id for one in tables["refunds"].values())
        case "return" | "cancel":
            return row.get("status") == {"return": "returned", "cancel": "cancelled"}[act]
        case "exchange":
            return row.get("modified") is True

    return act == "coupon" and row.get("coupon") is not None


def refunded(read: Reading) -> list[int]:
    """What had been paid back for the orders that are meant, in cents."""
    rows = read.ground.view.base.tables["refunds"].values()
    return [one["amount_cents"] for one in rows if one["order_id"] in read.meant]


def stood(read: Reading, order_id: str) -> object:
    """How an order stood before, where that is spoken of."""
    start = read.ground.view.base.tables["orders"].get(order_id, {})
    return start.get("status") if _STOOD.search(read.text) else None


def was_to_go(read: Reading, order_id: str) -> object:
    """Where an order was to go, where that is spoken of."""
    start = read.ground.view.base.tables["orders"].get(order_id, {})
    return start.get("address_id") if _WAS_TO_GO.search(read.text) else None
