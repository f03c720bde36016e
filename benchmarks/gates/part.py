"""One part of the gates' table, measured in whatever process."""

import time
from collections.abc import Sequence
from importlib import import_module

from benchmarks.gates.table import Rate


def measured(part: str) -> tuple[Sequence[Rate], float]:
    """The rates of a part, and the seconds that they took.

    It stands beside the command, not in it: of a package's `__main__` another process finds no
    function.
    """
    began = time.monotonic()
    rates = import_module(f"benchmarks.gates.{part}").rows()
    return rates, time.monotonic() - began
