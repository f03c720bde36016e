"""One prompt of a run is asked twice: what comes of it is stored, told, and shown."""

from pathlib import Path
from typing import Any

import pytest

from synth.engine.runs.summary import summary_lines
from synth.ledger.views import connect
from synth.report.browser.stand_ins import StandIns
from synth.report.sections import roles
from tests.flow_files import echo_flow, model_flow, run_flow
from tests.synth.models.chat_brains import Brain, called, echo_expert
from tests.synth.models.chat_server import ChatServer


def played(folder: Path, brain: Brain, *, twice: bool = True, **model: Any) -> Any:
    """(the run, its closing lines, the calls that the server answered, those of its episodes)."""
    with ChatServer(brain) as server:
        limits = {"max_turns": 3}
        stages = [{"rollout": {"trials": 1, "limits": limits, "ask_twice": twice}}]
        env = {"name": "echo", "tasks": 2, "turns": 3}
        flow = model_flow(server.url, model=model, stages=stages, env=env)
        ran, reports, _ = run_flow(flow, str(folder))
        answered = server.counts()["answered"]
    calls = sum(one.totals.calls for one in ran.ledger.trajectories())
    return ran, dict(summary_lines(ran, reports)), answered, calls


def asked(ran: Any) -> Any:
    columns = "value, detail->>'$.model', (detail->'$.temperature')::DOUBLE"
    with connect(ran.ledger) as connection:
        sql = f"SELECT {columns} FROM scores WHERE metric = 'asked_twice'"
        return connection.execute(sql).fetchall()


def drawing() -> Brain:
    drawn = iter(range(1000))
    return lambda body: called("echo", {"text": f"{next(drawn)}"})


@pytest.mark.slow
def test_a_server_that_draws_is_told_from_one_that_does_not(tmp_path: Path) -> None:
    ran, told, answered, calls = played(tmp_path / "draws", drawing(), temperature=0.7)
    assert asked(ran) == [(0.0, "test", 0.0)]
    assert told["twice"] == "test, asked 1 prompt twice at temperature 0: 0 got one answer"
    assert answered == calls + 2
    html = roles.render(ran.ledger, StandIns())
    assert html is not None
    assert "One prompt asked twice" in html

    ran, told, _, _ = played(tmp_path / "same", echo_expert, temperature=0.7)
    assert asked(ran) == [(1.0, "test", 0.0)]
    assert "twice" not in told


def test_a_provider_without_a_temperature_is_asked_as_the_flow_asks(tmp_path: Path) -> None:
    bodies = []

    def brain(body: Any) -> Any:
        bodies.append(body)
        return echo_expert(body)

    ran, _, _, _ = played(tmp_path, brain)
    assert asked(ran) == [(1.0, "test", None)]
    assert all("temperature" not in body for body in bodies)


@pytest.mark.slow
def test_it_is_asked_once_a_run_and_can_be_left_out(tmp_path: Path) -> None:
    ran, _, answered, calls = played(tmp_path / "run", echo_expert)
    again, _, more, _ = played(tmp_path / "run", echo_expert)
    assert (answered, more) == (calls + 2, 0)
    assert len(asked(again)) == len(asked(ran)) == 1
    ran, _, answered, calls = played(tmp_path / "none", echo_expert, twice=False)
    assert (asked(ran), answered) == ([], calls)


def test_scripts_are_asked_nothing(tmp_path: Path) -> None:
    ran, _, _ = run_flow(echo_flow(), str(tmp_path))
    assert asked(ran) == []
