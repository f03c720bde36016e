import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.models.adaptive_limit import AdaptiveLimit
from synth.models.server_error import ServerError

TURNED_AWAY = ServerError("full", retryable=True, turned_away=True, status=429)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def window(limit: AdaptiveLimit, clock: Clock, *, answered: int = 0, failed: int = 0, error: ServerError = TURNED_AWAY) -> int:
    """One second, with calls spread over it; the limit at its end."""
    for i in range(answered + failed):
        clock.now += 1.0001 / (answered + failed)
        if i < failed:
            limit.failed(error)
        else:
            limit.answered(0.2)
    return limit.limit


def test_it_gives_way_by_half_of_the_share_that_was_turned_away() -> None:
    clock = Clock()
    limit = AdaptiveLimit(256, late_s=60, clock=clock)
    assert window(limit, clock, answered=60, failed=40) == 204, "256 * (1 - 0.4 / 2) = 204.8"
    assert window(limit, clock, failed=10) == 102


def test_it_never_falls_below_one_and_grows_back_to_where_it_began() -> None:
    clock = Clock()
    limit = AdaptiveLimit(64, late_s=60, clock=clock)
    for _ in range(20):
        window(limit, clock, failed=5)
    assert limit.limit == 1
    grown = [window(limit, clock, answered=10) for _ in range(60)]
    assert grown[:3] == [2, 3, 4], "1.1 * limit + 1: 2.1, 3.31, 4.641"
    assert grown == sorted(grown)
    assert grown[-1] == 64


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=40))
def test_it_stays_between_one_and_its_most(windows: list[tuple[int, int]]) -> None:
    clock = Clock()
    limit = AdaptiveLimit(32, late_s=60, clock=clock)
    for answered, failed in windows:
        assert 1 <= window(limit, clock, answered=answered, failed=failed) <= 32


def test_single_mishaps_are_no_sign_of_load() -> None:
    clock = Clock()
    limit = AdaptiveLimit(256, late_s=60, clock=clock)
    assert [window(limit, clock, answered=98, failed=2) for _ in range(5)] == [256] * 5


@pytest.mark.parametrize(
    ("error", "left"),
    [
        (ServerError("late", retryable=True, timeout=True), 75),
        (ServerError("busy", retryable=True, turned_away=True, status=503), 75),
        (ServerError("broke", retryable=True, status=500), 100),
        (ServerError("nothing listens", retryable=True, turned_away=True), 100),
        (ServerError("wrong", status=400), 100),
    ],
    ids=lambda value: str(value),
)
def test_only_failures_that_speak_of_load_count(error: ServerError, left: int) -> None:
    clock = Clock()
    limit = AdaptiveLimit(100, late_s=60, clock=clock)
    assert window(limit, clock, answered=50, failed=50, error=error) == left


def test_answers_that_come_late_count_before_they_are_lost() -> None:
    clock = Clock()
    limit = AdaptiveLimit(100, late_s=60, clock=clock)
    for _ in range(10):
        limit.answered(61)
        clock.now += 0.2
    assert limit.limit == 50


def test_calls_that_wait_inside_the_server_count_and_a_moment_of_waiting_does_not() -> None:
    clock = Clock()
    limit = AdaptiveLimit(100, late_s=60, clock=clock)
    limit.queued(running=100, waiting=8)
    assert window(limit, clock, answered=10) == 100
    for _ in range(6):
        limit.queued(running=60, waiting=40)
    assert window(limit, clock, answered=10) == 80
