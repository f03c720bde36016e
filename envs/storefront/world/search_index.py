"""The search index: it lags behind writes to variants by one tick, so that what it shows can be
stale.
"""

import msgspec

from synth.envs.storefront.world.catalogue import Row

LAG_TICKS = 1


class SearchIndex(msgspec.Struct):
    """Rows as they were before writes that the index has not taken in: (tick of the write, sku, row
    before).
    """

    before: list[tuple[int, str, Row]] = []

    def written(self, tick: int, sku: str, old: Row) -> None:
        """A variant is about to be written."""
        self.before = [entry for entry in self.before if entry[0] + LAG_TICKS >= tick]
        self.before.append((tick, sku, old))

    def shown(self, tick: int, sku: str, live: Row) -> Row:
        """The row as the index has it: the oldest one that was replaced no more than a tick ago,
        else the live one.
        """
        return next(
            (old for at, key, old in self.before if key == sku and tick <= at + LAG_TICKS), live
        )
