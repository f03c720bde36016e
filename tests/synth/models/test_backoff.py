import asyncio
from email.utils import formatdate

import pytest

from synth.models.backoff import Backoff, Pacing, RetryBudget, wait_s, with_retries
from synth.models.server_error import ServerError, retry_after_s


class Clock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.now, self.slept = 0.0, []  # type: ignore[var-annotated]

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept.append(seconds)


def served_before(clock: Clock) -> RetryBudget:
    """The budget of a client whose server has answered before."""
    budget = RetryBudget(clock)
    budget.answered()
    return budget


def run(
    failures: list[ServerError],
    backoff: Backoff,
    clock: Clock,
    drawn: float = 1.0,
    budget: RetryBudget | None = None,
) -> tuple[str, int]:
    tries = 0

    async def attempt(left_s: float) -> str:
        nonlocal tries
        tries += 1
        if failures:
            raise failures.pop(0)
        return "reply"

    return asyncio.run(
        with_retries(
            attempt,
            backoff,
            budget or served_before(clock),
            Pacing(lambda: drawn, clock.sleep, clock),
        )
    ), tries


def test_waits_grow_fourfold_up_to_the_cap() -> None:
    clock = Clock()
    reply, tries = run(
        [ServerError("busy", retryable=True)] * 4, Backoff(4, base_s=1, cap_s=20), clock
    )
    assert (reply, tries, clock.slept) == ("reply", 5, [1, 4, 16, 20])


def test_jitter_is_full() -> None:
    assert [wait_s(Backoff(base_s=1), 2, drawn, None) for drawn in (0.0, 0.25, 0.5)] == [0, 4, 8]


def test_retry_after_is_a_lower_bound() -> None:
    assert wait_s(Backoff(base_s=0.5), 0, 0.0, 7.0) == 7.0
    assert wait_s(Backoff(base_s=0.5), 0, 0.5, 7.0) == 7.25


def test_tries_are_bounded_and_counted_in_the_message() -> None:
    with pytest.raises(ServerError, match="busy; gave up after 3 tries") as caught:
        run([ServerError("busy", retryable=True, status=503)] * 9, Backoff(max_retries=2), Clock())
    assert (caught.value.retryable, caught.value.status) == (True, 503)


def test_time_is_bounded_and_no_wait_begins_that_would_outlast_it() -> None:
    clock = Clock()
    with pytest.raises(ServerError, match="gave up after 1 try"):
        run([ServerError("busy", retryable=True, retry_after_s=700)], Backoff(total_s=600), clock)
    assert clock.slept == []


def test_an_error_that_asking_again_cannot_mend_is_raised_at_once() -> None:
    clock = Clock()
    with pytest.raises(ServerError, match=r"^no such model$"):
        run([ServerError("no such model", status=404)], Backoff(), clock)
    assert clock.slept == []


def test_each_try_is_told_the_time_that_is_left() -> None:
    clock, told = Clock(), []

    async def attempt(left_s: float) -> str:
        told.append(left_s)
        if len(told) == 1:
            raise ServerError("busy", retryable=True)
        return "reply"

    backoff, budget = Backoff(base_s=1, total_s=10), RetryBudget(clock)
    asyncio.run(with_retries(attempt, backoff, budget, Pacing(lambda: 1.0, clock.sleep, clock)))
    assert told == [10, 9]


def test_calls_that_were_turned_away_count_as_no_try_and_wait_as_long_as_there_is_time() -> None:
    clock = Clock()
    away = ServerError("nothing listens", retryable=True, turned_away=True)
    reply, tries = run([away] * 9, Backoff(max_retries=0, base_s=1, away_cap_s=3), clock)
    assert (reply, tries, clock.now) == ("reply", 10, 1 + 8 * 3)
    with pytest.raises(ServerError, match="nothing listens; gave up after 4 tries"):
        run([away] * 9, Backoff(max_retries=0, base_s=1, away_cap_s=9, total_s=15), Clock())


def test_a_retry_waits_for_a_budget_that_is_used_up_and_is_not_given_up_for_it() -> None:
    clock = Clock()
    budget = RetryBudget(clock, most=1.0, per_s=0.125)
    assert budget.take()
    reply, tries = run(
        [ServerError("broken", retryable=True)], Backoff(base_s=1), clock, budget=budget
    )
    assert (reply, tries, clock.now) == ("reply", 2, 8)


def test_the_budget_holds_a_fifth_of_the_answers_and_one_retry_a_second() -> None:
    clock = Clock()
    budget = RetryBudget(clock, most=3.0)
    assert [budget.take() for _ in range(4)] == [True, True, True, False]
    for _ in range(5):
        budget.answered()
    assert [budget.take() for _ in range(2)] == [True, False]
    clock.now += 2
    assert [budget.take() for _ in range(3)] == [True, True, False]
    clock.now += 1e6
    assert [budget.take() for _ in range(4)] == [True, True, True, False]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": formatdate(1_000_030, usegmt=True)}, 30.0),
        ({"retry-after": formatdate(999_000, usegmt=True)}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_as_seconds_milliseconds_or_a_date(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after_s(headers, now=1_000_000) == seconds
