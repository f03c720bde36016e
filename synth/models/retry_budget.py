"""A budget of retries that all calls to a model share, so that a server in trouble is not buried
under them.
"""

from collections.abc import Callable


class RetryBudget:
    """A bucket of at most `most` retries, full at first; every answer puts `share` of one in, and
    every second `per_s`.

    So retries are at most `share` of the calls that succeed, apart from a trickle that finds out
    when the trouble is over
    (Google's SRE book, chapter 21; Finagle's RetryBudget). A retry that finds the bucket empty
    waits for the next one: no call is
    given up for want of budget.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        *,
        most: float = 50.0,
        share: float = 0.2,
        per_s: float = 1.0,
    ) -> None:
        self._clock = clock
        self._most, self._share, self._per_s = most, share, per_s
        self._left = most
        self._seen = clock()

    def answered(self) -> None:
        """A call has succeeded."""
        self._left = min(self._most, self._left + self._share)

    def take(self) -> bool:
        """Takes one retry out; False where there is none."""
        now = self._clock()
        self._left = min(self._most, self._left + (now - self._seen) * self._per_s)
        self._seen = now
        if self._left < 1:
            return False
        self._left -= 1
        return True
