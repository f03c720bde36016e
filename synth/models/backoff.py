"""Asking again: exponential backoff with full jitter, `Retry-After` honoured, bounded in number, in
time, and for all calls together.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from synth.models.server_error import ServerError

T = TypeVar("T")
TRIES_WHERE_NOTHING_EVER_ANSWERED = 2
"""Of a call that finds nothing listening: that is a mistake in the address or a server that is not
up, not an outage to be waited for.
"""


class Pacing(msgspec.Struct, frozen=True):
    """Chance and time as arguments: `draw` in [0, 1), `clock` in seconds that only grow, `now` in
    seconds since 1970.
    """

    draw: Callable[[], float] = random.random
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    clock: Callable[[], float] = time.perf_counter
    now: Callable[[], float] = time.time


class RetryBudget:
    """A bucket of at most `most` retries, full at first; every answer puts `share` of one in, and
    every second `per_s`.

    So retries are at most `share` of the calls that succeed, apart from a trickle that finds out
    when the trouble is over (Google's SRE book, chapter 21; Finagle's RetryBudget). A retry that
    finds the bucket empty waits for the next one: no call is given up for want of budget.
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
        self.ever_answered = False

    def answered(self) -> None:
        """A call has succeeded."""
        self.ever_answered = True
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


class Backoff(msgspec.Struct, frozen=True):
    """How often and how long a call is tried: waits grow fourfold from `base_s` to `cap_s`, all
    within `total_s` seconds.

    The first wait is short, since most trouble is a single lost reply; what lasts is waited for. A
    call that was turned away waits at most `away_cap_s`: room comes and goes quickly, and how many
    ask for it is bounded elsewhere (adaptive_limit).
    """

    max_retries: int = 4
    base_s: float = 0.1
    cap_s: float = 30.0
    away_cap_s: float = 2.0
    total_s: float = 600.0


def wait_s(
    backoff: Backoff,
    retry: int,
    drawn: float,
    retry_after_s: float | None,
    *,
    turned_away: bool = False,
) -> float:
    """Seconds before retry number `retry` (0-based), with `drawn` in [0, 1).

    Full jitter, `drawn * min(cap, base * 4^retry)`; a server's Retry-After is a lower bound, with
    jitter of `base` on top so that those who were sent away together do not come back together.
    """
    if retry_after_s is not None:
        return retry_after_s + drawn * backoff.base_s
    cap_s = backoff.away_cap_s if turned_away else backoff.cap_s
    return drawn * min(cap_s, backoff.base_s * 4.0 ** min(retry, 60))


async def with_retries(
    attempt: Callable[[float], Awaitable[T]], backoff: Backoff, budget: RetryBudget, pacing: Pacing
) -> T:
    """Awaits `attempt(seconds left)` until it succeeds.

    Calls that were turned away cost the server nothing, and are bounded by `total_s` alone. Other
    failures count against `max_retries`, and each further try is taken out of the budget that all
    calls share: where it is empty, the try waits. Raises the last `ServerError` when it is not
    retryable, or tries or time are used up.
    """
    deadline = pacing.clock() + backoff.total_s
    tries = counted = absent = 0
    while True:
        tries += 1
        try:
            answer = await attempt(deadline - pacing.clock())
        except ServerError as error:
            failure = error
        else:
            budget.answered()
            return answer

        away, asked_s = failure.turned_away, failure.retry_after_s
        absent += away and failure.status is None and not budget.ever_answered
        if absent == TRIES_WHERE_NOTHING_EVER_ANSWERED:
            failure = failure.after(absent)
            failure.retryable = False
        if not failure.retryable:
            raise failure
        counted += not away
        pause_s = wait_s(backoff, tries - 1, pacing.draw(), asked_s, turned_away=away)
        out_of_tries = counted > backoff.max_retries
        while True:
            if out_of_tries or pacing.clock() + pause_s >= deadline:
                raise failure.after(tries)
            await pacing.sleep(pause_s)
            if away or budget.take():
                break
            pause_s = 0.5 + 0.5 * pacing.draw()
