"""Python's cyclic garbage collector, held back while thousands of episodes are under way."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

THRESHOLDS = (50_000, 20, 100)
"""Python's own first is 700: with thousands of live episodes a quarter of the client's CPU goes
into looking at them again.
"""


@contextmanager
def gc_paused() -> Iterator[None]:
    """Leaves alone what is there already, and looks for cycles more seldom; what is counted to zero
    is freed at once, as ever.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
