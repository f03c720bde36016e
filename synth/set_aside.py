"""Rows that cannot be handled.

Each is left out, counted by a stable reason and named, and the run goes on.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import msgspec

from synth.schemas import RowError

T = TypeVar("T")
R = TypeVar("R")

UNHANDLED = (ValueError, OverflowError, RecursionError, msgspec.MsgspecError)
"""What a value raises that its reader cannot take in: of the wrong size, depth, type or spelling.
`RowError` is one of them.
"""
PREFIX = "set_aside:"
"""What the names of these reasons begin with wherever rows are counted."""
MOST_NAMED = 5


class SetAside:
    """Counts each row once, under its first reason, however often it is met.

    The first few rows of a reason are named.
    """

    def __init__(self) -> None:
        self.errors: dict[str, BaseException] = {}

    def add(self, identity: str, error: BaseException) -> None:
        """Notes a row that could not be handled."""
        self.errors.setdefault(identity, error.with_traceback(None))

    def take(self, other: "SetAside") -> None:
        """Notes what another one noted."""
        self.errors = {**other.errors, **self.errors}

    def tried(self, identity: str, handle: Callable[[], T]) -> T | None:
        """What `handle` makes of a row, or None where the row is set aside for it."""
        try:
            return handle()
        except UNHANDLED as error:
            self.add(identity, error)
            return None

    def all_of(self, identity: str, found: Callable[[], Iterable[T]]) -> list[T]:
        """All that is found in a row; nothing where the row is set aside for it."""
        return self.tried(identity, lambda: list(found())) or []

    def each(
        self, rows: Iterable[R], identity: Callable[[R], str], handle: Callable[[R], T]
    ) -> Iterator[T]:
        """What `handle` makes of each row, without those that are set aside."""
        for row in rows:
            try:
                found = handle(row)
            except UNHANDLED as error:
                self.add(identity(row), error)
                continue
            yield found

    def reason(self, identity: str) -> str:
        """Why a row was set aside."""
        error = self.errors[identity]
        if isinstance(error, RowError):
            return error.reason
        if isinstance(error, RecursionError):
            return "too_deep"
        return "number_too_large" if isinstance(error, OverflowError) else "unreadable_value"

    def place(self, identity: str) -> str:
        """Where in a row it lies; empty where that is not known."""
        error = self.errors[identity]
        return error.place if isinstance(error, RowError) else ""

    @property
    def counts(self) -> Counter[str]:
        """How many rows, by reason with its prefix."""
        return Counter(PREFIX + self.reason(identity) for identity in self.errors)

    def lines(self) -> Iterator[str]:
        """For people: a line for each reason, which names some of its rows and their places."""
        by_reason = defaultdict[str, list[str]](list)
        for identity in self.errors:
            place = self.place(identity)
            named = f"{identity} (at {place})" if place else identity
            by_reason[self.reason(identity)].append(named)
        for reason, rows in sorted(by_reason.items()):
            more = f" and {len(rows) - MOST_NAMED} more" if len(rows) > MOST_NAMED else ""
            yield f"Set aside as {reason}: {', '.join(rows[:MOST_NAMED])}{more}."
