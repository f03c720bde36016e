"""What happens while the agent works: a queue of events on the virtual clock, fixed by the task,
and a search index that takes writes in one tick late.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from synth.envs.storefront.world.catalogue import Row
from synth.schemas.check import Scalar

LAG_TICKS = 1


class ShopEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """At `tick`, a row takes these values: an order ships, stock drops, a coupon expires.

    An event that `races` happens at the latest when a write names its row, just before it: the shop
    is always faster, so that the end does not depend on how fast an agent works, while what it read
    before is stale.
    """

    tick: int
    table: str
    key: str
    values: Mapping[str, Scalar]
    races: bool = False


def due(events: Sequence[ShopEvent], happened: Sequence[int], tick: int) -> list[int]:
    """Places of the events that happen at this tick or before and have not happened, by tick."""
    places = [at for at, event in enumerate(events) if event.tick <= tick and at not in happened]

    return sorted(places, key=lambda at: (events[at].tick, at))


def raced(events: Sequence[ShopEvent], happened: Sequence[int], arguments: Any) -> list[int]:
    """Places of the racing events about rows that a write names."""
    named = set(leaves(arguments))

    return [
        at
        for at, event in enumerate(events)
        if event.races and event.key in named and at not in happened
    ]


def leaves(value: Any) -> Iterator[Any]:
    """All texts, numbers and other scalars inside of a tool's arguments or answer."""
    if isinstance(value, Mapping | list | tuple):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from leaves(inner)
    else:
        yield value


class SearchIndex(msgspec.Struct):
    """Rows of variants as they were before writes that the index has not taken in.

    An entry is (tick of the write, sku, row before).
    """

    before: list[tuple[int, str, Row]] = []

    def written(self, tick: int, sku: str, old: Row) -> None:
        """Notes that a variant is about to be written."""
        self.before = [entry for entry in self.before if entry[0] + LAG_TICKS >= tick]
        self.before.append((tick, sku, old))

    def shown(self, tick: int, sku: str, live: Row) -> Row:
        """The row as the index has it: the oldest one that was replaced no more than a tick ago,
        else the live one.
        """
        kept = (old for at, key, old in self.before if key == sku and tick <= at + LAG_TICKS)

        return next(kept, live)
