"""What happens in the shop while the agent works: a queue of events on the virtual clock, fixed by
the task.
"""

from collections.abc import Mapping, Sequence

import msgspec

from synth.schemas.check import Scalar


class ShopEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """At `tick`, a row takes these values: an order ships, stock drops, a coupon expires.

    An event that `races` happens at the latest when a write names its row, just before it: the shop
    is always faster, so that the end
    does not depend on how fast an agent works, while what it read before is stale.
    """

    tick: int
    table: str
    key: str
    values: Mapping[str, Scalar]
    races: bool = False


def due(events: Sequence[ShopEvent], happened: Sequence[int], tick: int) -> list[int]:
    """Places of the events that happen at this tick or before and have not happened, in the order
    of their ticks.
    """
    places = [at for at, event in enumerate(events) if event.tick <= tick and at not in happened]
    return sorted(places, key=lambda at: (events[at].tick, at))


def raced(events: Sequence[ShopEvent], happened: Sequence[int], named: frozenset[str]) -> list[int]:
    """Places of the racing events about rows that a write names."""
    return [
        at
        for at, event in enumerate(events)
        if event.races and event.key in named and at not in happened
    ]


def names(value: object) -> frozenset[str]:
    """All texts inside of a call's arguments."""
    if isinstance(value, str):
        return frozenset({value})
    inner = (
        list(value.values())
        if isinstance(value, dict)
        else value
        if isinstance(value, list)
        else []
    )
    return frozenset().union(*(names(entry) for entry in inner))
