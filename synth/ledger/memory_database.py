"""DuckDB's databases in memory: opening one takes far longer than adding a catalog to one that
is open, and each state of a ledger that grows has views of its own.
"""

import atexit
import ctypes
import os
import tempfile
import uuid
import weakref
from collections import deque
from itertools import count
from pathlib import Path
from threading import RLock

import duckdb

_NUMBERS = count()
_GONE: "deque[str]" = deque()
"""Catalogs that nobody holds any more. They are dropped with the next one that is made, for the
garbage collector may come in the middle of a statement.
"""
_LOCK = RLock()
_OPEN: "dict[int, duckdb.DuckDBPyConnection]" = {}
"""By process."""


def quoted(text: str) -> str:
    """A text as SQL spells it."""
    return "'" + text.replace("'", "''") + "'"


def opened() -> "duckdb.DuckDBPyConnection":
    """A database of its own."""
    database = duckdb.connect(":memory:")
    spill = Path(tempfile.gettempdir(), f"synth-duckdb-{uuid.uuid4().hex}")
    database.execute(f"SET temp_directory = {quoted(str(spill))}")
    # it would be written into the answer, pipe or not
    database.execute("SET enable_progress_bar = false")
    return database


class Catalog:
    """A catalog of the one database that this process shares; it ends with this object."""

    def __init__(self) -> None:
        self._name = f"ledger_{next(_NUMBERS)}"
        with _LOCK:
            self._shared = _of_process(os.getpid())
            cursor = self._shared.cursor()
            while _GONE:
                cursor.execute(f"DETACH DATABASE IF EXISTS {_GONE.popleft()}")
            cursor.execute(f"ATTACH ':memory:' AS {self._name}")
        weakref.finalize(self, _GONE.append, self._name).atexit = False

    def cursor(self) -> "duckdb.DuckDBPyConnection":
        """A connection of one's own, for which this catalog's names need no prefix."""
        cursor = self._shared.cursor()
        cursor.execute(f"USE {self._name}")
        return cursor


def _of_process(number: int) -> "duckdb.DuckDBPyConnection":
    """A process that was forked has none of its parent's threads, so it opens another. That of its
    parent it leaves as it is: closing it would wait for these threads for ever.
    """
    if number not in _OPEN:
        _OPEN[number] = opened()
    return _OPEN[number]


def _forked() -> None:
    global _LOCK
    _LOCK = RLock()
    _GONE.clear()
    for one in _OPEN.values():
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(one))


os.register_at_fork(after_in_child=_forked)
# before the interpreter takes DuckDB's binding apart, which lists what is left as leaked
atexit.register(lambda: _OPEN.pop(os.getpid(), None))
