"""The orders and the facts that minimal pairs are made of."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from synth.envs.storefront.tasks.requests.user_intents import Draw
from synth.envs.storefront.world.catalogue import CATEGORIES
from synth.envs.storefront.world.views import Shown
from synth.schemas.check import Scalar

MOST_DAYS = 7
"""Days by which the dates of a pair lie apart, at most."""


def orders_of_others(draw: Draw, statuses: Sequence[str]) -> list[Shown]:
    """Orders of others that were for themselves, or for the customer."""
    base = draw.base
    me = draw.customer_id
    own = base.customers_by["name"][base.files[me]["name"]]

    found = [
        base.orders[key]
        for key, row in base.tables["orders"].items()
        if row["status"] in statuses and row["customer_id"] not in own
        if row["recipient_id"] in (None, me)
    ]

    return draw.rng.sample(found, len(found))


def values_of(draw: Draw, row: Mapping[str, Any], column: str, value: Scalar) -> Sequence[Scalar]:
    """The values that a fact can have; days are those around its own."""
    base = draw.base
    me = draw.customer_id

    if column in ("delivered", "promised"):
        day = date.fromisoformat(str(value))
        days = [day + timedelta(days=by) for by in range(-MOST_DAYS, MOST_DAYS + 1)]

        return [other.isoformat() for other in days]

    customers = base.tables["customers"]
    name = base.files[me]["name"]
    strangers = [key for key, other in customers.items() if other["name"] != name]

    known: Mapping[str, Sequence[Scalar]] = {
        "status": ("pending", "processing"),
        "category": CATEGORIES,
        "modified": (True, False),
        "payment_id": base.payments_of[me],
        "recipient_id": (
            None,
            me if "of" in row else draw.rng.choice(strangers),
        ),
    }

    return known.get(column) or sorted({row[column] for row in base.tables["addresses"].values()})
