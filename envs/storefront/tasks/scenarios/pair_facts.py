"""The values of the facts in which the two worlds of a minimal pair differ."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from synth.envs.storefront.tasks.requests.user_intents import Draw
from synth.envs.storefront.world.catalogue import CATEGORIES
from synth.schemas.check import Scalar

MOST_DAYS = 7
"""Days by which the dates of a pair lie apart, at most."""


def values_of(
    draw: Draw,
    row: Mapping[str, Any],
    column: str,
    value: Scalar,
) -> Sequence[Scalar]:
    """The values that a fact can have; days are those around its own."""
    base = draw.base
    me = draw.customer_id

    # a rule counts days: a week to either side crosses its limit, if any does
    if column in ("delivered", "promised"):
        day = date.fromisoformat(str(value))
        days = [day + timedelta(days=by) for by in range(-MOST_DAYS, MOST_DAYS + 1)]

        return [other.isoformat() for other in days]

    customers = base.tables["customers"]
    name = base.files[me]["name"]
    # a second account of the same name would be the same person
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
