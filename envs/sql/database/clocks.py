"""Clocks that stand still, so that a query gives the same on any day."""

import sqlite3
from functools import partial
from typing import Any

TODAY = "2024-07-01"
"""What every clock says."""
_FUNCTIONS = ("date", "time", "datetime", "julianday", "unixepoch", "strftime")
_CURRENT = {"date": TODAY, "time": "00:00:00", "timestamp": f"{TODAY} 00:00:00"}


def set_clocks(db: sqlite3.Connection) -> None:
    """Makes every function of the time say that it is `TODAY`."""
    unchanged = sqlite3.connect(":memory:", check_same_thread=False)
    for name in _FUNCTIONS:
        db.create_function(name, -1, partial(_today, unchanged, name))

    for name, text in _CURRENT.items():
        db.create_function(f"current_{name}", 0, partial(str, text))


def _today(unchanged: sqlite3.Connection, name: str, *arguments: Any) -> Any:
    """What a function gives with `TODAY` in the place of now; without a time, now is meant."""
    before = 1 if name == "strftime" else 0
    times = [_told(one) for one in arguments[before:]] or [TODAY]
    every = (*arguments[:before], *times)
    marks = ", ".join("?" * len(every))

    return unchanged.execute(f"SELECT {name}({marks})", every).fetchone()[0]


def _told(argument: Any) -> Any:
    """An argument of a time function, `TODAY` where it says now."""
    is_now = isinstance(argument, str) and argument.strip().lower() == "now"
    return TODAY if is_now else argument
