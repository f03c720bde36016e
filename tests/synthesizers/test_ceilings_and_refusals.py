"""Rollouts that may not go on: ceilings, servers that refuse everything, worlds that are broken,
tasks that are none.
"""

from pathlib import Path

import pytest

from synth.engine.budget import Budget
from synth.engine.runs.summary import failure, summary_lines
from synth.ledger import StoredLedger
from synth.schemas.errors import ConfigError, SynthError
from synth.schemas.outcome import Fault
from synth.schemas.trajectory import Usage
from tests.echo_fault import planned_fault
from tests.flow_files import echo_flow, model_flow, run_flow
from tests.synth.models.chat_brains import echo_expert
from tests.synth.models.chat_server import ChatServer, Mishap
from tests.synthesizers import counted_world

STAGES = [{"rollout": {"trials": 8}}]
PRICE = {"input": 1.0, "output": 1.0}


def test_a_ceiling_binds_though_all_episodes_could_be_under_way(tmp_path: Path) -> None:
    with ChatServer(echo_expert, latency_s=0.01) as server:
        flow = model_flow(
            server.url,
            model={"max_in_flight": 4},
            env={"name": "echo", "tasks": 25, "turns": 3},
            max_tokens=10,
            stages=STAGES,
        )
        run, reports, _ = run_flow(flow, str(tmp_path / "run"))
        asked = server.counts()["total"]
    finished = sum(reports["rollout"]["outcomes"].values())
    assert finished <= 4, (
        "no more than are let through to the server before the first reply is counted"
    )
    assert asked == finished * 4
    assert run.stopped == "max_tokens 10 is reached"
    assert (run.budget.overrun() or "").endswith(
        "over max_tokens: episodes under way were finished"
    )


@pytest.mark.slow
def test_episodes_of_all_shards_together_are_twice_what_the_server_is_asked_at_a_time(
    tmp_path: Path,
) -> None:
    counted_world.most[0] = 0
    with ChatServer(echo_expert, latency_s=0.01) as server:
        stages = [{"rollout": {"trials": 2, "shard": 5}}]
        flow = model_flow(
            server.url,
            model={"max_in_flight": 3},
            env={"name": counted_world.NAME, "tasks": 10, "turns": 3},
            stages=stages,
        )
        _, reports, _ = run_flow(flow, str(tmp_path / "run"))
        assert server.counts()["peak_in_flight"] == 3
    assert reports["rollout"]["outcomes"] == {"success": 20}
    assert counted_world.most == [6]


def test_money_and_tokens_are_counted_turn_by_turn_and_once(tmp_path: Path) -> None:
    with ChatServer(echo_expert) as server:
        flow = model_flow(
            server.url,
            model={"price": PRICE},
            max_cost_usd=1.0,
            stages=[{"rollout": {"trials": 2}}],
        )
        run, _, _ = run_flow(flow, str(tmp_path / "run"))
    committed = [t.totals for t in StoredLedger(str(tmp_path / "run")).trajectories()]
    assert run.budget.tokens == sum(u.prompt_tokens + u.completion_tokens for u in committed) > 0
    assert run.budget.spent.cost_usd == pytest.approx(sum(u.cost_usd or 0.0 for u in committed))


def test_a_ceiling_in_money_needs_the_price_of_every_model(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError,
        match=r"^max_cost_usd needs the price of model test: add `price: .* to models.explorer, or "
        r"use max_tokens$",
    ):
        run_flow(model_flow("http://127.0.0.1:9/v1", max_cost_usd=1.0), str(tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_a_ceiling_that_cannot_be_counted_stops_as_if_it_were_reached() -> None:
    budget = Budget(max_tokens=1000)
    for _ in range(19):
        budget.add(Usage(calls=1))
    assert budget.exhausted() is None
    budget.add(Usage(calls=1))
    assert (
        budget.exhausted()
        == "max_tokens cannot be held, because the server does not say how many tokens its "
        "replies took"
    )


def test_how_far_over_a_ceiling_a_run_ended_is_said_in_numbers() -> None:
    budget = Budget(max_cost_usd=5.0)
    budget.add(Usage(1000, 0, cost_usd=5.43))
    assert (
        budget.overrun() == "$5.43 spent, $0.43 over max_cost_usd: episodes under way were finished"
    )
    assert Budget(max_tokens=10, spent=Usage(10)).overrun() is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "mishap", [Mishap("unauthorized"), Mishap("status", status=403), Mishap("status", status=404)]
)
def test_a_server_that_refuses_everything_is_asked_a_few_times_and_the_rest_stays_to_be_done(
    tmp_path: Path, mishap: Mishap
) -> None:
    url = str(tmp_path / "run")
    with ChatServer(echo_expert, mishaps=[mishap] * 10_000) as server:
        flow = model_flow(
            server.url,
            model={"max_in_flight": 4},
            env={"name": "echo", "tasks": 10, "turns": 3},
            stages=[{"rollout": {"trials": 4}}],
        )
        with pytest.raises(
            SynthError,
            match=rf"^model test at {server.url}: HTTP \d+: .*; stopped after \d+ attempts in a "
            r"row .* run again",
        ) as caught:
            run_flow(flow, url)
        assert "\n" not in str(caught.value)
        assert server.counts()["total"] < 20
        server._mishaps.clear()
        _, reports, _ = run_flow(flow, url)
    state = StoredLedger(url).state
    assert sum(slot.valid is not None for slot in state.slots.values()) == 40
    assert reports["rollout"]["outcomes"]["success"] == 40
    assert reports["rollout"]["faults"]["model"] < 20


def test_a_server_that_is_not_there_ends_the_run_once_calls_have_given_up(tmp_path: Path) -> None:
    with ChatServer() as server:
        pass
    flow = model_flow(
        server.url,
        model={"max_retries": 0},
        env={"name": "echo", "tasks": 50, "turns": 3},
        stages=STAGES,
    )
    with pytest.raises(
        SynthError, match=r"connection lost: .*; stopped after \d+ attempts in a row"
    ):
        run_flow(flow, str(tmp_path / "run"))


@pytest.mark.slow
def test_refusals_between_answers_do_not_end_a_run(tmp_path: Path) -> None:
    with ChatServer(echo_expert, mishaps=[None, Mishap("bad_request")] * 40) as server:
        flow = model_flow(
            server.url, model={"max_in_flight": 2}, env={"name": "echo", "tasks": 20, "turns": 3}
        )
        run, reports, _ = run_flow(flow, str(tmp_path / "run"))
    assert run.stopped is None
    assert reports["rollout"]["faults"] == {"model": 40}
    assert len(run.ledger.state.slots) == 40


def test_a_world_that_broke_is_named_with_what_to_do_and_a_new_version_runs_again(
    tmp_path: Path,
) -> None:
    url = str(tmp_path / "run")
    flow = echo_flow(
        env={"name": "echo", "tasks": 3, "turns": 3, "fail_at_turn": 1},
        stages=[{"rollout": {"trials": 1}}],
    )
    run, reports, _ = run_flow(flow, url)
    lines = dict(summary_lines(run, reports))
    assert list(lines) == ["fault", "world", "look"]
    assert lines["fault"] == f"6 x {planned_fault(1)}"
    assert lines["world"].startswith("6 attempts ended in faults of the world")
    assert lines["world"].endswith(
        "after a fix raise `version` in the EnvSpec of echo to run its episodes again"
    )
    assert len(lines["look"]) == 8
    assert run.ledger.trajectory(lines["look"]).outcome == "invalid"
    assert (
        failure(reports) == "none of the 6 attempts is valid, all ended in faults; the commonest: "
        f"{planned_fault(1)}"
    )


def test_one_valid_attempt_is_enough_for_a_run_to_have_worked() -> None:
    report = {
        "kind": "episodes",
        "outcomes": {"failure": 1, "invalid": 9},
        "faults": {Fault.MODEL: 9},
        "details": {"x": 9},
    }
    assert failure({"rollout": report}) is None
    assert failure({"tasks": {"kind": "tasks", "count": 0}}) is None


WORLD = """
from synth.envs.echo import WORLD as ECHO
from synth.envs.world import EnvEntry
from msgspec.structs import replace


def make_tasks(config, seed, count):
    tasks = [replace(task, env="odd_tasks:WORLD") for task in ECHO.make_tasks(config, seed, count)]
    {}


WORLD = EnvEntry(ECHO.spec, ECHO.open, make_tasks, ECHO.config)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "raise KeyError('seed')",
            r"make_tasks: KeyError: 'seed' \(odd_tasks.py:9 in make_tasks\)",
        ),
        ("raise SystemExit(0)", r"make_tasks: SystemExit: 0 \(odd_tasks.py:9 in make_tasks\)"),
        ("return tasks[:3]", "make_tasks gave 3 tasks where env.tasks asks for 4; set tasks: 3"),
        ("return tasks[:3] + tasks[:1]", "make_tasks: tasks 0 and 3 have the same task_id"),
        ("return None", "make_tasks: TypeError"),
        ("return ['one', 'two', 'three', 'four']", "str, not a synth.schemas.task.Task"),
        (
            "return [replace(task, env='echo') for task in tasks]",
            "env='echo'; it must be 'odd_tasks:WORLD'",
        ),
        (
            "return [replace(task, goal=7) for task in tasks]",
            "task 0: goal: Expected `str`, got `int`",
        ),
    ],
)
def test_tasks_that_are_none_are_one_line_before_any_episode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, said: str
) -> None:
    (tmp_path / "odd_tasks.py").write_text(WORLD.format(line))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "odd_tasks", raising=False)
    with pytest.raises(ConfigError, match=said) as caught:
        run_flow(
            echo_flow(env={"name": "odd_tasks:WORLD", "tasks": 4, "turns": 3}),
            str(tmp_path / "run"),
        )
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_small_shards_do_not_keep_the_server_from_being_full(tmp_path: Path) -> None:
    with ChatServer(echo_expert, latency_s=0.05) as server:
        stages = [{"rollout": {"trials": 2, "shard": 1}}]
        env = {"name": "echo", "tasks": 15, "turns": 2}
        run_flow(
            model_flow(server.url, model={"max_in_flight": 20}, env=env, stages=stages),
            str(tmp_path / "run"),
        )
        assert server.counts()["peak_in_flight"] == 20
