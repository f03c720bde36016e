"""Ceilings in time; those in tokens and money are tested where rollouts meet them."""

from pathlib import Path

import pytest

from synth.engine.budget import Budget, Room
from synth.engine.runs.summary import summary_lines
from synth.ledger import StoredLedger
from synth.schemas.trajectory import Usage
from tests.flow_files import model_flow, run_flow
from tests.synth.models.chat_brains import echo_expert
from tests.synth.models.chat_server import ChatServer


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def test_the_clock_counts_from_when_the_command_began() -> None:
    clock = Clock()
    budget = Budget(max_hours=1.5, clock=clock)
    clock.now_s += 5399.9
    assert budget.exhausted() is None
    clock.now_s += 0.1
    assert budget.exhausted() == "max_hours 1.5 is reached"


def test_each_ceiling_says_what_it_leaves() -> None:
    clock = Clock()
    budget = Budget(
        max_tokens=1000,
        max_cost_usd=2.0,
        max_hours=1.0,
        spent=Usage(200, 50, cost_usd=0.5),
        clock=clock,
    )
    clock.now_s += 600
    assert budget.room() == [
        Room("max_tokens 1,000", "tokens", 750),
        Room("max_cost_usd 2", "usd", 1.5),
        Room("max_hours 1", "seconds", 3000.0),
    ]


def test_without_ceilings_nothing_is_ever_reached() -> None:
    budget = Budget(spent=Usage(10**12, cost_usd=1e9))
    assert (budget.room(), budget.exhausted()) == ([], None)


@pytest.mark.slow
def test_time_that_is_up_lets_running_episodes_finish_and_the_next_run_goes_on(
    tmp_path: Path,
) -> None:
    url = str(tmp_path / "run")
    stages = [{"rollout": {"trials": 10}}]
    with ChatServer(echo_expert, latency_s=0.1) as server:
        run, reports, _ = run_flow(
            model_flow(server.url, model={"max_in_flight": 2}, max_hours=1.5 / 3600, stages=stages),
            url,
        )
        finished, asked = sum(reports["rollout"]["outcomes"].values()), server.counts()["total"]
        assert run.stopped is not None
        assert run.stopped.startswith("max_hours ")
        assert 0 < finished < 40
        assert reports["rollout"]["outcomes"] == {"success": finished}, (
            "those under way came to their end"
        )
        assert asked == 4 * finished
        server.latency_s = 0.0
        _, reports, _ = run_flow(
            model_flow(server.url, model={"max_in_flight": 2}, stages=stages), url
        )
        assert reports["rollout"]["outcomes"] == {"success": 40}
        assert server.counts()["total"] == 4 * 40, "and nothing was asked for twice"
    assert len(list(StoredLedger(url).trajectories())) == 40
    (line,) = (said for label, said in summary_lines(run, {}) if label == "stopped")
    assert line.endswith(
        "is reached: no further episode was started; run again to go on, its clock begins anew"
    )


@pytest.mark.parametrize("hours", [0, -1, float("inf"), float("nan")])
def test_hours_that_are_no_ceiling_are_refused(hours: float) -> None:
    with pytest.raises(ValueError, match="max_hours"):
        model_flow("http://127.0.0.1:9/v1", max_hours=hours)
