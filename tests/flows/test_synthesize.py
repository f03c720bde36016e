"""A flow from an empty directory to a dataset; what a rerun does, and what it does not do again."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from synth.ledger import StoredLedger
from synth.ledger.sql import query
from synth.schemas.outcome import Fault, Outcome
from tests.echo_fault import planned_fault
from tests.flow_files import echo_flow, model_flow, run_flow
from tests.synth.canonical_content import canonical_content
from tests.synth.models.chat_brains import echo_expert
from tests.synth.models.chat_server import ChatServer, Mishap


def contents(url: str) -> dict[str, Any]:
    ledger = StoredLedger(url)
    return {t.trajectory_id: canonical_content(t) for t in ledger.trajectories()}


@pytest.mark.slow
def test_a_flow_ends_with_verified_rows_and_a_cost_file(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    _, reports, _ = run_flow(echo_flow(), url)
    assert reports["rollout"]["outcomes"] == {"success": 8}
    assert [(f["name"], f["kept"]) for f in reports["filter"]["filters"]] == [
        ("solved", {"success": 8}),
        ("reexecuted", {"same": 8}),
    ]
    assert reports["export"]["datasets"]["sft"]["rows"] == 8
    assert len(list((tmp_path / "run/datasets/sft").glob("train-*-00000.parquet"))) == 1
    assert json.loads((tmp_path / "run/cost.json").read_text())["total"]["attempts"] == 8
    assert (tmp_path / "run/flow.yaml").exists()


@pytest.mark.slow
def test_a_run_on_an_object_store_gives_the_same_trajectories(tmp_path: Path) -> None:
    local, remote = str(tmp_path / "run"), f"memory://{tmp_path.name}/run"
    _, first, _ = run_flow(echo_flow(), local)
    _, second, _ = run_flow(echo_flow(), remote)
    assert contents(local) == contents(remote)
    assert first["export"]["datasets"]["sft"]["rows"] == second["export"]["datasets"]["sft"]["rows"]
    assert StoredLedger(remote).storage.size("datasets/sft/README.md")


@pytest.mark.slow
def test_the_second_run_redoes_nothing_and_writes_nothing(tmp_path: Path) -> None:
    url = str(tmp_path / "run")

    def files() -> list[Path]:
        """All but the records of the workers, of which each run leaves one."""
        changing = {"cost.json", "flow.yaml"}
        found = (tmp_path / "run").rglob("*")
        return sorted(p for p in found if p.name not in changing and p.parent.name != "workers")

    run_flow(echo_flow(), url)
    before = files()
    _, reports, said = run_flow(echo_flow(), url)
    assert files() == before
    assert said.splitlines()[1:] == [
        f"{stage}: nothing to do" for stage in ("tasks", "rollout", "filter", "export")
    ]
    assert reports["rollout"]["outcomes"] == {"success": 8}


@pytest.mark.slow
def test_more_trials_reuse_those_that_are_there_and_say_why(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    run_flow(echo_flow(stages=[{"rollout": {"trials": 2}}]), url)
    first = contents(url)
    _, _, said = run_flow(echo_flow(stages=[{"rollout": {"trials": 3}}]), url)
    assert "rollout: 4 episodes to do, 8 reused (trials: 2 -> 3)" in said
    second = contents(url)
    assert len(second) == 12
    assert {key: second[key] for key in first} == first


@pytest.mark.slow
def test_fewer_trials_show_fewer_and_nothing_is_lost(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    run_flow(echo_flow(stages=[{"rollout": {"trials": 3}}]), url)
    run_flow(echo_flow(stages=[{"rollout": {"trials": 1}}]), url)
    ledger = StoredLedger(url)
    assert query(ledger, "SELECT count(*) FROM trajectories").fetchall() == [(4,)]
    assert query(ledger, "SELECT count(*) FROM trajectories_all").fetchall() == [(12,)]
    run_flow(echo_flow(stages=[{"rollout": {"trials": 3}}]), url)
    assert query(StoredLedger(url), "SELECT count(*) FROM trajectories").fetchall() == [(12,)]
    assert query(StoredLedger(url), "SELECT count(*) FROM trajectories_all").fetchall() == [(12,)]


@pytest.mark.slow
def test_a_changed_filter_leaves_the_episodes_alone_and_redoes_what_follows(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    run_flow(echo_flow(), url)
    export = {"export": {"kinds": ["sft"], "as": "trl", "include_scripted": True}}
    _, _, said = run_flow(
        echo_flow(stages=[{"rollout": {"trials": 2}}, {"filter": ["solved"]}, export]), url
    )
    assert "rollout: nothing to do" in said
    assert "filter: 8 trajectories to do (reexecuted: " in said
    assert "export: 1 datasets to do (its input changed)" in said


@pytest.mark.slow
def test_another_profile_is_other_work(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    run_flow(echo_flow(stages=["rollout"]), url)
    _, reports, _ = run_flow(
        echo_flow(
            stages=["rollout"], models={"explorer": {"policy": "expert", "profiles": "stops_early"}}
        ),
        url,
    )
    assert sum(reports["rollout"]["outcomes"].values()) == 16
    assert query(
        StoredLedger(url), "SELECT count(DISTINCT slot_id) FROM trajectories_all"
    ).fetchall() == [(32,)]


def test_a_model_behind_a_server_solves_the_tasks_and_its_tokens_are_accounted(
    tmp_path: Path,
) -> None:
    url = str(tmp_path / "run")
    with ChatServer(echo_expert) as server:
        flow = model_flow(
            server.url,
            model={"price": {"input": 1.0, "output": 2.0}},
            stages=[{"rollout": {"trials": 2}}],
        )
        _, reports, _ = run_flow(flow, url)
        calls = server.counts()["total"]
    assert reports["rollout"]["outcomes"] == {"success": 8}
    total = json.loads((tmp_path / "run/cost.json").read_text())["total"]
    assert total["model_calls"] == calls
    expected = (total["prompt_tokens"] * 1.0 + total["completion_tokens"] * 2.0) / 1e6
    assert total["cost_usd"] == pytest.approx(expected)


@pytest.mark.slow
def test_a_server_that_dies_loses_nothing_and_the_rerun_asks_only_for_the_rest(
    tmp_path: Path,
) -> None:
    url = str(tmp_path / "run")
    one_by_one = {"model": {"max_retries": 0}, "stages": [{"rollout": {"trials": 1, "live": 1}}]}
    with ChatServer(echo_expert, mishaps=[None] * 9 + [Mishap("disconnect")] * 100) as server:
        _, reports, _ = run_flow(model_flow(server.url, **one_by_one), url)
    assert reports["rollout"]["outcomes"]["success"] == 2
    assert reports["rollout"]["faults"]["model"] == 2 * 3
    with ChatServer(echo_expert) as server:
        _, reports, _ = run_flow(model_flow(server.url, **one_by_one), url)
        assert server.counts()["total"] == 2 * 4
    assert reports["rollout"]["outcomes"] == {"success": 4, "invalid": 6}
    assert query(
        StoredLedger(url),
        "SELECT count(DISTINCT slot_id) FROM trajectories WHERE outcome = 'success'",
    ).fetchall() == [(4,)]


@pytest.mark.slow
def test_faults_of_the_world_are_not_tried_again_by_a_rerun(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    flow = echo_flow(
        env={"name": "echo", "tasks": 2, "turns": 3, "fail_at_turn": 1},
        stages=[{"rollout": {"trials": 1}}, {"filter": ["solved"]}],
    )
    _, reports, _ = run_flow(flow, url)
    assert (reports["rollout"]["outcomes"], reports["rollout"]["faults"]) == (
        {"invalid": 4},
        {"environment": 4},
    )
    assert reports["rollout"]["details"] == {planned_fault(1): 4}
    assert reports["filter"]["total"] == 0
    _, _, said = run_flow(flow, url)
    assert "rollout: nothing to do" in said


@pytest.mark.slow
def test_a_ceiling_stops_new_episodes_and_a_higher_one_goes_on(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    with ChatServer(echo_expert) as server:
        stages = [{"rollout": {"trials": 1, "live": 1}}]
        run, reports, _ = run_flow(model_flow(server.url, max_tokens=10, stages=stages), url)
        assert run.stopped == "max_tokens 10 is reached"
        assert reports["rollout"]["outcomes"] == {"success": 1}
        run, _, _ = run_flow(model_flow(server.url, max_tokens=10, stages=stages), url)
        assert run.stopped == "max_tokens 10 is reached"
        assert server.counts()["total"] == 4, "what earlier runs spent counts"
        run, reports, _ = run_flow(model_flow(server.url, stages=stages), url)
        assert run.stopped is None
        assert reports["rollout"]["outcomes"] == {"success": 4}
        assert server.counts()["total"] == 4 * 4


@pytest.mark.slow
def test_a_lost_shard_is_named_and_done_again(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    run_flow(echo_flow(), url)
    before = contents(url)
    (turns,) = (tmp_path / "run/turns").glob("*.parquet")
    turns.unlink()
    _, _, said = run_flow(echo_flow(), url)
    assert (
        f"{turns}: missing; the 8 trajectories of its shard (stage rollout) count as never made: "
        "run the flow again" in said
    )
    again = [content | {"trajectory_id": "", "attempt": 0} for content in contents(url).values()]
    assert again == [content | {"trajectory_id": ""} for content in before.values()]
    assert not contents(url).keys() & before.keys(), (
        "verdicts on the lost attempts are not verdicts on these"
    )
    assert query(
        StoredLedger(url), "SELECT count(*) FROM decisions JOIN trajectories USING (trajectory_id)"
    ).fetchall() == [(16,)]
    _, _, said = run_flow(echo_flow(), url)
    assert said.splitlines()[-4:] == [
        f"{stage}: nothing to do" for stage in ("tasks", "rollout", "filter", "export")
    ]


@pytest.mark.slow
def test_a_half_written_file_is_named_and_harms_nothing(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    run_flow(echo_flow(), url)
    before = contents(url)
    half = tmp_path / "run/turns/.tmp-999999999-dead"
    half.write_bytes(b"PAR1")
    _, _, said = run_flow(echo_flow(), url)
    assert (
        said.splitlines()[1]
        == f"{half}: half-written by a process that died; it is part of nothing and may be deleted"
    )
    assert contents(url) == before


def test_outcomes_of_faults_are_never_exported(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    run_flow(echo_flow(env={"name": "echo", "tasks": 2, "turns": 3, "raise_in_check": True}), url)
    for trajectory in StoredLedger(url).trajectories():
        assert (trajectory.outcome, trajectory.fault, trajectory.reward) == (
            Outcome.INVALID,
            Fault.ENVIRONMENT,
            None,
        )
    assert not (tmp_path / "run/datasets/sft").exists()
    assert msgspec.to_builtins(StoredLedger(url).state.current_valid()) == []
