"""A flow whose customer is a model: collected, filtered, exported, counted and paid for; refused in
one line where it cannot work.
"""

import asyncio
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from synth.cli.show import readable
from synth.engine.cost import cost
from synth.engine.progress import PlainProgress
from synth.engine.runs.replaying import recheck_all, replay_all
from synth.engine.runs.summary import summary_lines
from synth.flows.environments import open_env
from synth.flows.resolve import resolve
from synth.ledger import StoredLedger
from synth.ledger.sql import query
from synth.schemas.errors import FlowError, SynthError
from synth.schemas.flow import Flow
from synth.schemas.outcome import Outcome
from tests.flow_files import run_flow
from tests.synth.models.chat_mishaps import Mishap
from tests.synth.models.chat_server import ChatServer
from tests.synth.models.user_brains import at_first, faithful, never_right, said

STAGES = [
    {"rollout": {"trials": 2}},
    {"filter": ["solved", "reexecuted"]},
    {"export": {"kinds": ["sft"], "as": "trl", "include_scripted": True}},
]


def flow(url: str | None, *, user: dict[str, Any] | None = None, **changes: Any) -> Flow:
    """Four storefront tasks, played by the expert; the customer is a model where there is a
    `url`.
    """
    model = {
        "model": "talker",
        "base_url": url,
        "timeout_s": 5,
        "max_retries": 0,
        "price": {"input": 1.0, "output": 1.0},
    }
    models: dict[str, Any] = {"explorer": {"policy": "expert"}}
    if url is not None:
        models["user"] = model | (user or {})
    content: dict[str, Any] = {
        "name": "talk",
        "seed": 31,
        "env": {"name": "storefront", "tasks": 4},
        "models": models,
        "stages": STAGES,
    }
    return Flow.model_validate(content | changes)


def rows(url: str, sql: str) -> list[tuple[Any, ...]]:
    return query(StoredLedger(url), sql).fetchall()


@pytest.mark.slow
def test_a_flow_runs_through_and_a_second_run_asks_nothing(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    with ChatServer(faithful) as server:
        _, reports, _ = run_flow(flow(server.url), url)
        calls = server.counts()["total"]
        _, again, said_again = run_flow(flow(server.url), url)
        assert server.counts()["total"] == calls > 0
    assert reports["rollout"]["outcomes"] == {"success": 8}
    kept = {counts["name"]: counts["kept"] for counts in reports["filter"]["filters"]}
    assert (sum(kept["solved"].values()), sum(kept["reexecuted"].values())) == (8, 8)
    assert again["rollout"] == reports["rollout"]
    assert "rollout: nothing to do" in said_again


@pytest.mark.slow
def test_datasets_hold_the_worded_lines_as_context_without_loss_and_nothing_about_the_script(
    tmp_path: Path,
) -> None:
    url = str(tmp_path / "run")
    with ChatServer(at_first(lambda line: said(f"{line} Goodbye!"))) as server:
        run_flow(flow(server.url), url)
    files = list((tmp_path / "run" / "datasets").rglob("*.parquet"))
    shown = [
        json.dumps(row, default=str) for path in files for row in pq.read_table(path).to_pylist()
    ]
    assert len(shown) == 8
    assert "Hello. Yes, please go ahead." in "".join(shown)
    assert not [
        word
        for word in ("go ahead. Goodbye!", "wording", "fell_back", "turned_down", "talker")
        for row in shown
        if word in row
    ]


@pytest.mark.slow
def test_deviations_are_counted_by_kind_with_one_question(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    with ChatServer(at_first(lambda line: said(f"{line} Goodbye!"))) as server:
        run_flow(flow(server.url), url)
    counted = dict(
        rows(
            url,
            "SELECT note, count(*) FROM (SELECT unnest(user_simulator) AS note FROM turns) GROUP "
            "BY ALL",
        )
    )
    lines = [
        seen
        for t in StoredLedger(url).trajectories()
        for turn in t.turns
        for seen in turn.observations
        if seen.wording is not None
    ]
    assert counted["ends_early"] == counted["worded"] == len(lines) > 0
    assert "fell_back" not in counted
    assert rows(
        url, "SELECT count(*) FROM trajectories WHERE user_model = 'talker' AND user_calls > 0"
    ) == [(8,)]


@pytest.mark.slow
def test_what_is_read_back_is_what_was_played(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    with ChatServer(faithful) as server:
        run_flow(flow(server.url), url)
    for trajectory in StoredLedger(url).trajectories():
        worded = [
            seen
            for turn in trajectory.turns
            for seen in turn.observations
            if seen.wording is not None
        ]
        assert [seen.content for seen in worded] == [
            f"Hello. {seen.wording.scripted}" for seen in worded if seen.wording is not None
        ]
        assert trajectory.user_totals.calls == len(worded)
        assert trajectory.user_totals.cost_usd is not None


@pytest.mark.slow
def test_the_end_of_a_run_tells_how_often_no_wording_would_do(tmp_path: Path) -> None:
    stages = [{"rollout": {"trials": 1}}]
    with ChatServer(never_right(["Goodbye!"])) as server:
        run, reports, _ = run_flow(
            flow(server.url, user={"rewordings": 1}, stages=stages), str(tmp_path / "bad")
        )
    ((lines, kinds),) = rows(
        str(tmp_path / "bad"),
        "SELECT count(*) FILTER (n = 'fell_back'), count(*) FILTER (n <> 'fell_back') FROM "
        "(SELECT unnest(user_simulator) n FROM turns)",
    )
    told = [said for label, said in summary_lines(run, reports) if label == "user"]
    assert told == [
        f"0 of {lines} lines worded by talker, {kinds} deviations turned down; "
        f"for {lines} no wording would do, and the scripted words were said"
    ]
    assert lines > 5
    run, reports, _ = run_flow(flow(None, stages=stages), str(tmp_path / "rules"))
    assert not [said for label, said in summary_lines(run, reports) if label == "user"]


@pytest.mark.slow
def test_a_run_that_stops_before_a_line_of_its_tasks_is_said_tells_nothing_of_lines(
    tmp_path: Path,
) -> None:
    env = {
        "name": "storefront",
        "tasks": 4,
        "difficulty": {"target_pass_rate": 0.5, "against": "explorer", "episodes": 40},
    }
    with ChatServer(faithful) as server:
        run, reports, _ = run_flow(flow(server.url, env=env, max_tokens=1), str(tmp_path / "run"))
        assert server.counts()["total"] > 0
    assert run.stopped is not None
    assert rows(str(tmp_path / "run"), "SELECT count(*) FROM turns") == [(0,)]
    assert not [said for label, said in summary_lines(run, reports) if label == "user"]


@pytest.mark.slow
def test_replay_and_recheck_need_no_server_and_show_prints_the_script_beside_the_wording(
    tmp_path: Path,
) -> None:
    url = str(tmp_path / "run")
    with ChatServer(at_first(lambda line: said(f"{line} Goodbye!"))) as server:
        run_flow(flow(server.url, stages=STAGES[:1]), url)
    replays = asyncio.run(replay_all(StoredLedger(url), open_env, [], PlainProgress(StringIO())))
    assert (replays.same, replays.differences, dict(replays.left_out)) == (8, [], {})
    rechecks = asyncio.run(recheck_all(StoredLedger(url), open_env, PlainProgress(StringIO())))
    assert (rechecks.stayed, rechecks.changed) == (8, [])
    shown = "\n".join(
        line for trajectory in StoredLedger(url).trajectories() for line in readable(trajectory)
    )
    assert "Hello. Yes, please go ahead." in shown
    assert "(talker was turned down: ends_early: Yes, please go ahead. Goodbye!)" in shown
    assert "(worded by talker; the script: Yes, please go ahead.)" in shown


@pytest.mark.slow
def test_it_costs_what_its_calls_cost_under_its_own_role(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    with ChatServer(faithful) as server:
        run_flow(flow(server.url), url)
        calls = server.counts()["total"]
    by_role = {row["role"]: row for row in cost(StoredLedger(url))["by"]}
    assert by_role["user"]["model_calls"] == calls
    assert by_role["user"]["cost_usd"] == pytest.approx(
        (by_role["user"]["prompt_tokens"] + by_role["user"]["completion_tokens"]) / 1e6, rel=1e-6
    )
    assert by_role["explorer"]["model_calls"] == 0


def test_a_ceiling_counts_its_tokens(tmp_path: Path) -> None:
    with ChatServer(faithful) as server:
        run, reports, _ = run_flow(
            flow(server.url, max_tokens=500, stages=[{"rollout": {"trials": 2, "live": 1}}]),
            str(tmp_path / "run"),
        )
    assert run.stopped == "max_tokens 500 is reached"
    assert 0 < sum(reports["rollout"]["outcomes"].values()) < 8


@pytest.mark.slow
def test_the_same_tasks_with_and_without_the_role_are_different_work(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    with ChatServer(faithful) as server:
        run_flow(flow(server.url), url)
        run_flow(flow(None), url)
        run_flow(flow(server.url, user={"temperature": 0.5}), url)
    assert rows(
        url, "SELECT count(DISTINCT slot_id), count(DISTINCT task_id) FROM trajectories_all"
    ) == [(24, 4)]
    assert rows(
        url,
        "SELECT count(DISTINCT user_model), count(*) FILTER (user_model IS NULL) FROM "
        "trajectories_all",
    ) == [(1, 8)]


@pytest.mark.slow
def test_a_server_that_dies_leaves_faults_of_the_simulator_and_the_next_run_fills_their_slots(
    tmp_path: Path,
) -> None:
    url = str(tmp_path / "run")
    stages = [{"rollout": {"trials": 1, "live": 1}}]
    with ChatServer(faithful, mishaps=[None, None, *[Mishap("disconnect")] * 3]) as server:
        first = flow(server.url, stages=stages, env={"name": "storefront", "tasks": 1})
        _, reports, _ = run_flow(first, url)
        assert reports["rollout"]["faults"] == {"user_simulator": 3}
        _, reports, _ = run_flow(first, url)
    assert reports["rollout"]["outcomes"] == {"invalid": 3, "success": 1}
    invalid = [t for t in StoredLedger(url).trajectories() if t.outcome is Outcome.INVALID]
    assert [(t.reward, t.check_result) for t in invalid] == [(None, None)] * 3


def test_a_server_that_only_refuses_ends_the_run_with_its_words(tmp_path: Path) -> None:
    with (
        ChatServer(faithful, mishaps=[Mishap("unauthorized")] * 200) as server,
        pytest.raises(SynthError, match=r"user: .*stopped after 10 attempts in a row"),
    ):
        run_flow(flow(server.url, env={"name": "storefront", "tasks": 12}), str(tmp_path / "run"))


@pytest.mark.parametrize(
    ("changes", "user", "told"),
    [
        (
            {"env": {"name": "echo", "tasks": 2}},
            {},
            "models.user: world 'echo' has no user that a model could play",
        ),
        ({}, {"policy": "expert"}, "models.user.policy: a user has none"),
        ({}, {"rewordings": 99}, "models.user.rewordings"),
        ({}, {"unfit": "ignore"}, "models.user.unfit"),
        ({}, {"rewordigns": 1}, "models.user.rewordigns"),
    ],
)
def test_settings_that_cannot_work_are_told_in_one_line(
    changes: dict[str, Any], user: dict[str, Any], told: str
) -> None:
    with pytest.raises(FlowError) as error:
        resolve(flow("http://127.0.0.1:9/v1", user=user, **changes))
    assert str(error.value).startswith(told)
    assert "\n" not in str(error.value)


def test_a_user_without_a_model_is_refused() -> None:
    with pytest.raises(FlowError, match=r"models\.user: name a `model`"):
        resolve(flow(None, models={"explorer": {"policy": "expert"}, "user": {}}))
