"""A circuit breaker: a server that fails again and again is left alone, and looked at again from
time to time (Nygard, Release It!).
"""

from collections.abc import Callable

IN_A_ROW = 3
"""Failures with no answer between them."""
FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 30.0


class Circuit:
    """Closed while a server answers; open after `IN_A_ROW` failures. An open one may be probed,
    after waits that double up to 30 s.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failed = 0
        self._wait_s = FIRST_WAIT_S
        self._probe_at = 0.0
        self.open = False

    def answered(self) -> None:
        """The server has answered a call."""
        self._failed, self._wait_s, self.open = 0, FIRST_WAIT_S, False

    def probed_well(self) -> None:
        """The server is said to be well: calls may go there again. The first that fails opens the
        circuit for twice as long.
        """
        self._failed, self.open = IN_A_ROW - 1, False

    def failed(self, *, at_once: bool = False) -> bool:
        """The server has failed; `at_once` where one failure says enough. True where this opens the
        circuit.
        """
        self._failed += 1
        if self.open or not (at_once or self._failed >= IN_A_ROW):
            return False
        self.open = True
        self._probe_at = self._clock() + self._wait_s
        return True

    def due(self) -> bool:
        """Whether an open circuit is to be probed now; the next time is put off, for the case that
        the probe fails.
        """
        if not self.open or self._clock() < self._probe_at:
            return False
        self._wait_s = min(2 * self._wait_s, LONGEST_WAIT_S)
        self._probe_at = self._clock() + self._wait_s
        return True
