"""How many calls a server has room for, found out from how it answers."""

from collections.abc import Callable

from synth.models.server_error import ServerError

TOLERATED = 0.05
"""Share of calls that may be marked before the limit gives way: single mishaps are no sign of load."""
GROWTH = 1.1


class AdaptiveLimit:
    """A number of calls between 1 and `most` that gives way under load and grows back without it.

    Calls are marked that were turned away (429, 503), ran into their timeout, or took longer than `late_s`. Once per window (a second,
    or a typical call) the limit becomes `limit * (1 - share / 2)` where more than 5 % were marked, as congestion windows do in DCTCP
    (Alizadeh et al. 2010), and else `1.1 * limit + 1`. The share of calls that wait inside the server (`queued`) counts in the same
    way. Without marks it stays at `most`.
    """

    def __init__(self, most: int, *, late_s: float, clock: Callable[[], float]) -> None:
        self.most = most
        self._late_s = late_s
        self._clock = clock
        self.limit = most
        """Calls that may be in flight now."""
        self._exactly = float(most)
        self._typical_s = 0.0
        self._answered = self._marked = 0
        self._queue = 0.0
        self._window_ends = clock() + 1.0

    def answered(self, latency_s: float) -> None:
        """A call was answered after this time."""
        self._typical_s += 0.1 * (latency_s - self._typical_s)
        self._count(latency_s > self._late_s)

    def failed(self, error: ServerError) -> None:
        """A call failed; only what speaks of load is a mark, the rest says nothing about it."""
        if error.timeout or (error.turned_away and error.status is not None):
            self._count(True)

    def queued(self, running: float, waiting: float) -> None:
        """The server's own figures of its requests, smoothed over two readings: a step of its scheduler is no queue."""
        share = waiting / (running + waiting) if waiting > 0 else 0.0
        self._queue = (self._queue + share) / 2

    def _count(self, marked: bool) -> None:
        self._answered += 1
        self._marked += marked
        now = self._clock()
        if now < self._window_ends:
            return
        share = max(self._marked / self._answered, self._queue)
        if share > TOLERATED:
            self._exactly = max(1.0, self._exactly * (1 - share / 2))
        else:
            self._exactly = min(float(self.most), self._exactly * GROWTH + 1)
        self.limit = int(self._exactly)
        self._answered = self._marked = 0
        self._window_ends = now + max(1.0, self._typical_s)
