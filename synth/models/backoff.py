"""Asking again: exponential backoff with full jitter, `Retry-After` honoured, bounded in number and in time."""

from collections.abc import Awaitable, Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import TypeVar

import msgspec

from synth.models.server_error import ServerError

T = TypeVar("T")


class Backoff(msgspec.Struct, frozen=True):
    """How often and how long a call is tried: waits grow from `base_s` to `cap_s`, all tries and waits end within `total_s`."""

    max_retries: int = 4
    base_s: float = 0.5
    cap_s: float = 30.0
    total_s: float = 600.0


def wait_s(backoff: Backoff, retry: int, drawn: float, retry_after_s: float | None) -> float:
    """Seconds before retry number `retry` (0-based), with `drawn` in [0, 1).

    Full jitter, `drawn * min(cap, base * 2^retry)`; a server's Retry-After is a lower bound, with jitter of `base` on top so that
    those who were sent away together do not come back together.
    """
    if retry_after_s is not None:
        return retry_after_s + drawn * backoff.base_s
    return drawn * min(backoff.cap_s, backoff.base_s * 2.0**retry)


async def with_retries(
    attempt: Callable[[float], Awaitable[T]],
    backoff: Backoff,
    *,
    draw: Callable[[], float],
    sleep: Callable[[float], Awaitable[object]],
    clock: Callable[[], float],
) -> T:
    """Awaits `attempt(seconds left)` until it succeeds.

    Raises the last `ServerError` when it is not retryable, or tries or time are used up.
    """
    deadline = clock() + backoff.total_s
    tries = 0
    while True:
        tries += 1
        try:
            return await attempt(deadline - clock())
        except ServerError as error:
            if not error.retryable:
                raise
            wait = wait_s(backoff, tries - 1, draw(), error.retry_after_s)
            if tries > backoff.max_retries or clock() + wait >= deadline:
                raise error.after(tries) from error
        await sleep(wait)


def retry_after_s(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that the headers `retry-after-ms` or `retry-after` (seconds or an HTTP date) ask for; None where they say nothing usable."""
    milliseconds = _seconds(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _seconds(value)
    if seconds is not None or value is None:
        return seconds
    try:
        return max(parsedate_to_datetime(value).timestamp() - now, 0.0)
    except (ValueError, OverflowError):
        return None


def _seconds(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None
