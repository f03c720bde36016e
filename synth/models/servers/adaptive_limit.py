"""How many calls a server has room for, found out from how it answers."""

import logging
from collections.abc import Callable

from synth.models.server_error import ServerError

TOLERATED = 0.05
"""Share of calls that may be marked before the limit gives way: single mishaps are no sign of load.
"""
MOST = 0.5
"""Share of calls that must run into their timeout to count: fewer are long replies, which take as
long alone.
"""
GROWTH = 1.1
QUEUE_HOLDS_S = 15.0
"""How long a reading of the server's queue counts; two typical calls where they take longer."""
IN_VAIN = 3
"""Windows in a row in which a single call at a time ran into its timeout, before that is said."""
_LOG = logging.getLogger(__name__)


class AdaptiveLimit:
    """A number of calls between 1 and `most` that gives way under load and grows back without it.

    Calls are marked that were turned away (429, 503), and those that ran into their timeout, where
    most of a window did. Once per window (a second, or a typical call) the limit becomes `limit *
    (1 - share / 2)` where more than 5 % were marked, as congestion windows do in DCTCP (Alizadeh et
    al. 2010), and else `1.1 * limit + 1`. The share of calls that wait inside the server (`queued`)
    counts in the same way. Without marks it stays at `most`.

    Latency is no mark: a model that thinks for a minute does so alone as well, and a limit that
    gives way to it ends at 1 for nothing. A fall below half of `most` is logged, once until the
    limit is back, and so are timeouts that the limit of 1 does not end.
    """

    def __init__(self, most: int, *, where: str, clock: Callable[[], float]) -> None:
        self.most = most
        self._where = where
        self._clock = clock
        self.limit = most
        """Calls that may be in flight now."""
        self._exactly = float(most)
        self._typical_s = 0.0
        self._calls = self._turned_away = self._late = 0
        self._queue = 0.0
        self._queue_until = clock()
        self._window_ends = clock() + 1.0
        self._in_vain = 0
        self._said = False

    def answered(self, latency_s: float) -> None:
        """A call was answered after this time."""
        self._typical_s += 0.1 * (latency_s - self._typical_s)
        self._count()

    def failed(self, error: ServerError) -> None:
        """A call failed; only what speaks of load is a mark, the rest says nothing about it."""
        if error.timeout:
            self._late += 1
        elif error.turned_away and error.status is not None:
            self._turned_away += 1
        else:
            return
        self._count()

    def queued(self, running: float, waiting: float) -> None:
        """The server's own figures of its requests, smoothed over two readings: a step of its
        scheduler is no queue.
        """
        share = waiting / (running + waiting) if waiting > 0 else 0.0
        self._queue = (self._waiting() + share) / 2
        self._queue_until = self._clock() + max(QUEUE_HOLDS_S, 2 * self._typical_s)

    def queue_unknown(self) -> None:
        """The server shows its queue no longer: what it showed says nothing about now."""
        self._queue = 0.0

    def _waiting(self) -> float:
        return self._queue if self._clock() <= self._queue_until else 0.0

    def _count(self) -> None:
        self._calls += 1
        now = self._clock()
        if now < self._window_ends:
            return
        late = self._late / self._calls
        signs = [
            (self._turned_away / self._calls, "were turned away"),
            (late if late >= MOST else 0.0, "ran into timeout_s"),
            (self._waiting(), "wait in its queue"),
        ]
        share, sign = max(signs)
        self._in_vain = self._in_vain + 1 if self.limit == 1 and late >= MOST else 0
        if share > TOLERATED:
            self._exactly = max(1.0, self._exactly * (1 - share / 2))
        else:
            self._exactly = min(float(self.most), self._exactly * GROWTH + 1)
        self.limit = int(self._exactly)
        self._tell(share, sign)
        self._calls = self._turned_away = self._late = 0
        self._window_ends = now + max(1.0, self._typical_s)

    def _tell(self, share: float, sign: str) -> None:
        if self._in_vain == IN_VAIN:
            _LOG.warning(
                f"{self._where}: calls run into timeout_s one at a time as well; raise it, or see "
                "whether the server hangs"
            )
        if self.limit < self.most / 2 and not self._said:
            self._said = True
            _LOG.warning(
                f"{self._where}: {self.limit} calls at a time for now, instead of {self.most}: "
                f"{100 * share:.0f} % of them {sign}"
            )
        elif self.limit == self.most:
            self._said = False
