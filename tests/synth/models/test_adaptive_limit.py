import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.models.server_error import ServerError
from synth.models.servers.adaptive_limit import AdaptiveLimit

TURNED_AWAY = ServerError("full", retryable=True, turned_away=True, status=429)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def window(
    limit: AdaptiveLimit,
    clock: Clock,
    *,
    answered: int = 0,
    failed: int = 0,
    error: ServerError = TURNED_AWAY,
) -> int:
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
    limit = AdaptiveLimit(256, where="model m at u", clock=clock)
    assert window(limit, clock, answered=60, failed=40) == 204, "256 * (1 - 0.4 / 2) = 204.8"
    assert window(limit, clock, failed=10) == 102


def test_it_never_falls_below_one_and_grows_back_to_where_it_began() -> None:
    clock = Clock()
    limit = AdaptiveLimit(64, where="model m at u", clock=clock)
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
    limit = AdaptiveLimit(32, where="model m at u", clock=clock)
    for answered, failed in windows:
        assert 1 <= window(limit, clock, answered=answered, failed=failed) <= 32


def test_single_mishaps_are_no_sign_of_load() -> None:
    clock = Clock()
    limit = AdaptiveLimit(256, where="model m at u", clock=clock)
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
    limit = AdaptiveLimit(100, where="model m at u", clock=clock)
    assert window(limit, clock, answered=50, failed=50, error=error) == left


LATE = ServerError("late", retryable=True, timeout=True)


def test_answers_that_take_long_are_no_sign_of_load() -> None:
    clock = Clock()
    limit = AdaptiveLimit(100, where="model m at u", clock=clock)
    for _ in range(500):
        limit.answered(119)
        clock.now += 1.9
    assert limit.limit == 100


def test_timeouts_count_where_most_calls_run_into_them_and_not_where_some_replies_are_long() -> (
    None
):
    clock = Clock()
    limit = AdaptiveLimit(100, where="model m at u", clock=clock)
    assert [window(limit, clock, answered=70, failed=30, error=LATE) for _ in range(20)] == [
        100
    ] * 20
    assert window(limit, clock, answered=20, failed=80, error=LATE) == 60, "100 * (1 - 0.8 / 2)"


def test_a_fall_below_half_is_said_once_until_it_is_back(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    limit = AdaptiveLimit(64, where="model m at u", clock=clock)
    for _ in range(2):
        for _ in range(6):
            window(limit, clock, answered=5, failed=5)
        for _ in range(40):
            window(limit, clock, answered=10)
        assert limit.limit == 64
    # 64, then 48, 36, 27: three windows of 1 - 0.5 / 2
    said = "model m at u: 27 calls at a time for now, instead of 64: 50 % of them were turned away"
    assert [record.getMessage() for record in caplog.records] == [said] * 2


def test_timeouts_that_one_call_at_a_time_does_not_end_are_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock()
    limit = AdaptiveLimit(2, where="model m at u", clock=clock)
    window(limit, clock, failed=4, error=LATE)
    for _ in range(2):
        window(limit, clock, failed=1, error=LATE)
    assert caplog.records == [], "two windows at the limit of 1 may be chance"
    for _ in range(10):
        window(limit, clock, failed=1, error=LATE)
    assert [record.getMessage() for record in caplog.records] == [
        "model m at u: calls run into timeout_s one at a time as well; raise it, or see whether "
        "the server hangs"
    ]


@pytest.mark.parametrize("forget", ["told", "old"])
def test_a_queue_that_is_shown_no_longer_is_forgotten(forget: str) -> None:
    clock = Clock()
    limit = AdaptiveLimit(100, where="model m at u", clock=clock)
    for _ in range(2):
        limit.queued(running=4, waiting=36)
    assert window(limit, clock, answered=10) == 66, (
        "0.9 / 2, then (0.45 + 0.9) / 2 = 0.675: 100 * (1 - 0.3375)"
    )
    if forget == "told":
        limit.queue_unknown()
    else:
        clock.now += 15
    assert [window(limit, clock, answered=10) for _ in range(5)] == [73, 82, 91, 100, 100], (
        "66.25 * 1.1 + 1 = 73.875, and so on"
    )


def test_calls_that_wait_inside_the_server_count_and_a_moment_of_waiting_does_not() -> None:
    clock = Clock()
    limit = AdaptiveLimit(100, where="model m at u", clock=clock)
    limit.queued(running=100, waiting=8)
    assert window(limit, clock, answered=10) == 100
    for _ in range(6):
        limit.queued(running=60, waiting=40)
    assert window(limit, clock, answered=10) == 80
