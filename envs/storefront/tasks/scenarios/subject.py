"""The request that makes a task the kind of task that it is, and the orders that it can be about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from synth.envs.storefront.tasks.requests.user_intents import Draw, Intent
from synth.envs.storefront.world.views import Shown
from synth.envs.storefront.world.world import BaseWorld
from synth.schemas.check import Scalar


@dataclass(frozen=True, slots=True)
class Subject:
    """A request as it is compiled: of a minimal pair the task's own side first, then its twin's;
    none where a task is about no request in particular.

    The other requests are drawn in the world `shown`; `facts` are the task's start facts that
    differ from the world's own. With `known` factors the customer has no others, and by `rule`
    every request about their orders is denied; `steady`: nobody changes their mind.
    """

    shown: BaseWorld
    sides: tuple[Intent, ...] = ()
    facts: Mapping[str, Scalar] = field(default_factory=dict)
    rule: str = ""
    known: tuple[str, ...] = ()
    steady: bool = False


def mine(draw: Draw, *statuses: str) -> list[Shown]:
    """The customer's orders that are no gifts, in one of these statuses, in a drawn order."""
    orders = [draw.base.orders[key] for key in draw.base.orders_of.get(draw.customer_id, ())]
    found = [row for row in orders if row["status"] in statuses and row["recipient_id"] is None]

    return draw.rng.sample(found, len(found))


def orders_of_others(draw: Draw, statuses: Sequence[str]) -> list[Shown]:
    """Orders of others that were for themselves, or for the customer, in a drawn order."""
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
