"""What a stage is going to take, from its first episodes; all figures are worked out by hand."""

import io
import re
import time

import pytest

from synth.engine.budget import Budget, Room
from synth.engine.forecast import forecast
from synth.engine.progress import LiveProgress, PlainProgress
from synth.engine.tally import RunCounts
from synth.schemas.outcome import Fault
from synth.schemas.trajectory import Usage
from tests.synth.engine.test_budget import Clock
from tests.trajectories import make_fault, make_trajectory


def tally_of(
    done: int, tokens: int = 20_000, usd: float | None = 0.008, under_way: int = 0
) -> RunCounts:
    """Episodes of 9/10 prompt tokens, and one that has used `under_way` so far."""
    tally = RunCounts()
    usage = Usage(tokens * 9 // 10, tokens // 10, 0, 1, usd)
    for i in range(done):
        tally.turn(usage)
        tally.add([make_trajectory(str(i), totals=usage)])
    if under_way:
        tally.turn(Usage(under_way, 0, 0, 1, None if usd is None else 0.0))
    return tally


def test_episodes_that_are_all_alike_are_multiplied() -> None:
    found = forecast(tally_of(40), 2000, 100.0, [])
    assert found is not None
    assert (
        found.line() == "forecast after 40 of 2,000 episodes: 40.0M tokens, $16.00, 83 min for all"
    )  # 2000 / 40 = 50 x 800k, $0.32, 100 s


def test_a_ceiling_is_told_by_the_episode_at_which_it_is_reached() -> None:
    found = forecast(tally_of(40), 2000, 100.0, [Room("max_cost_usd 5", "usd", 5 - 0.32)])
    assert found is not None
    assert (
        found.warning()
        == "at this rate max_cost_usd 5 is reached after about 620 of 2,000 episodes"
    )  # 5 / 0.008 = 625


def test_what_earlier_runs_have_spent_brings_the_ceiling_nearer() -> None:
    found = forecast(tally_of(40), 2000, 100.0, [Room("max_cost_usd 5", "usd", 5 - 0.32 - 4.0)])
    assert found is not None
    assert found.meeting is not None
    assert found.meeting.episodes == pytest.approx((125, 125))  # 1 / 0.008


def test_the_ceiling_that_is_met_first_is_told() -> None:
    rooms = [
        Room("max_tokens 30,000,000", "tokens", 29_200_000),
        Room("max_hours 1", "seconds", 3500.0),
    ]
    found = forecast(tally_of(40), 2000, 100.0, rooms)
    assert found is not None
    assert (
        found.warning() == "at this rate max_hours 1 is reached after about 1,400 of 2,000 episodes"
    )  # 3600 s / 2.5 s; tokens: 1,500


def test_a_ceiling_with_room_for_all_is_not_told() -> None:
    found = forecast(
        tally_of(40), 2000, 100.0, [Room("max_tokens 41,000,000", "tokens", 40_200_000)]
    )
    assert found is not None
    assert found.warning() is None


def test_what_runs_widens_the_range_upwards_because_the_first_to_end_are_the_short_ones() -> None:
    found = forecast(
        tally_of(40, under_way=400_000),
        2000,
        100.0,
        [Room("max_tokens 50,000,000", "tokens", 50_000_000 - 1_200_000)],
    )
    assert found is not None
    assert found.tokens == pytest.approx((40e6, 60e6))  # 20,000 each; or 1.2M / 40
    assert found.took_s == pytest.approx((10_000 / 3, 5000))  # at 12,000 tokens a second
    assert (
        found.warning()
        == "at this rate max_tokens 50,000,000 may be reached, after about 1,700 of 2,000 "
        "episodes at the earliest"
    )


def test_episodes_that_differ_widen_the_range_by_two_standard_errors() -> None:
    tally = RunCounts()
    for i in range(20):
        usage = Usage(10_000 if i % 2 else 30_000, 0, 0, 1)
        tally.turn(usage)
        tally.add([make_trajectory(str(i), totals=usage)])
    found = forecast(tally, 400, 60.0, [])
    assert found is not None
    assert found.tokens == pytest.approx(
        (400 * (20_000 - 2 * 2294.157), 400 * (20_000 + 2 * 2294.157))
    )  # sqrt(20e8 / 19 / 20)


def test_replies_out_of_the_journal_took_no_time_and_promise_none() -> None:
    tally = tally_of(40)
    tally.replayed_tokens = 400_000
    found = forecast(tally, 2000, 100.0, [])
    assert found is not None
    assert found.tokens == pytest.approx((40e6, 40e6))
    assert found.took_s == pytest.approx((9900, 9900))  # 400,000 tokens in 100 s, and 39.2M to come
    tally.replayed_tokens = 400_001
    assert forecast(tally, 2000, 100.0, []) is None, "less than the first percent is new"


def test_attempts_that_ended_in_faults_count_for_their_slot() -> None:
    tally = RunCounts()
    for i in range(20):
        lost, kept = Usage(5_000, 0, 0, 1, 0.5), Usage(10_000, 0, 0, 1, 1.0)
        for usage in (lost, kept):
            tally.turn(usage)
        fault = make_fault(str(i), 0, Fault.MODEL)
        tally.add(
            [
                make_trajectory(str(i), 0, **{**as_fields(fault), "totals": lost}),
                make_trajectory(str(i), 1, totals=kept),
            ]
        )
    found = forecast(tally, 100, 60.0, [])
    assert found is not None
    assert found.tokens == pytest.approx((1.5e6, 1.5e6))
    assert found.usd == pytest.approx((150.0, 150.0))


def as_fields(trajectory: object) -> dict[str, object]:
    names = ("outcome", "termination", "fault", "fault_detail", "reward", "check_result")
    return {name: getattr(trajectory, name) for name in names}


def test_money_is_left_out_where_a_price_is_not_known() -> None:
    found = forecast(tally_of(40, usd=None), 2000, 100.0, [Room("max_cost_usd 5", "usd", 5.0)])
    assert found is not None
    assert (found.usd, found.warning()) == (None, None)
    assert "$" not in found.line()


@pytest.mark.parametrize(
    ("tally", "total", "took_s"),
    [
        (tally_of(19), 100, 300.0),  # too few
        (tally_of(40), 4100, 300.0),  # less than the first percent
        (tally_of(40, under_way=800_001), 2000, 300.0),  # most was spent on what is not finished
        (tally_of(40), 2000, 4.9),  # too early to tell the time
        (tally_of(40), 40, 300.0),  # nothing is left
        (tally_of(40), 60, 100.0),  # 50 s are left
        (tally_of(40, tokens=0, usd=None), 2000, 300.0),  # no model was asked
    ],
)
def test_nothing_is_foretold_where_it_would_say_nothing(
    tally: RunCounts, total: int, took_s: float
) -> None:
    assert forecast(tally, total, took_s, []) is None


def test_a_short_stage_is_foretold_where_a_ceiling_ends_it() -> None:
    found = forecast(tally_of(40), 60, 100.0, [Room("max_tokens 1,000,000", "tokens", 200_000)])
    assert found is not None
    assert (
        found.warning()
        == "at this rate max_tokens 1,000,000 is reached after about 50 of 60 episodes"
    )


def play(progress: PlainProgress | LiveProgress, episodes: int, clock: Clock) -> None:
    budget = Budget(max_tokens=10_000_000)
    progress.start("rollout", 2000, "episodes", budget)
    usage = Usage(20_000, 0, 0, 1)
    for i in range(episodes):
        clock.now_s += 2.5
        progress.turned(usage)
        budget.add(usage)
        progress.advance([make_trajectory(str(i), totals=usage)])


def test_a_log_gets_one_line_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, stream = Clock(), io.StringIO()
    monkeypatch.setattr("synth.engine.progress.time.monotonic", clock)
    play(PlainProgress(stream), 60, clock)
    (line,) = (line for line in stream.getvalue().splitlines() if "forecast" in line)
    assert line == (
        "rollout: forecast after 20 of 2,000 episodes: 40.0M tokens, 83 min for all; "
        "at this rate max_tokens 10,000,000 is reached after about 500 of 2,000 episodes"
    )


def test_quiet_foretells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, stream = Clock(), io.StringIO()
    monkeypatch.setattr("synth.engine.progress.time.monotonic", clock)
    play(PlainProgress(stream, quiet=True), 60, clock)
    assert stream.getvalue() == ""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_it_under_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, stream, live = Clock(), Terminal(), time.monotonic
    progress = LiveProgress(stream)
    with monkeypatch.context() as patched:
        patched.setattr("synth.engine.progress.time.monotonic", clock)
        play(progress, 60, clock)
    deadline = live() + 10
    while "at this rate max_tokens" not in stream.getvalue() and live() < deadline:
        time.sleep(0.02)
    shown = stream.getvalue()
    assert "expected for all: 40.0M tokens, 83 min" in shown
    assert (
        "at this rate max_tokens 10,000,000 is reached after about 500 of 2,000 episodes" in shown
    )
    monkeypatch.setattr("synth.engine.progress.time.monotonic", clock)
    progress.stop()
    assert re.search(
        r"rollout: 60 episodes in 150\.0 s, 100 % success, 1\.2M tokens", stream.getvalue()
    )
