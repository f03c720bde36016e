"""Successes of hard tasks are played again, live; what came of it can be counted again, is taken
for evidence, and is exported never.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from synth.engine.progress import progress_for
from synth.importers.commit import import_into
from synth.ledger import StoredLedger
from synth.ledger.views import connect
from synth.schemas.errors import SynthError
from synth.schemas.flow import Flow
from tests.flow_files import echo_flow, run_flow
from tests.synthesizers.fork_flows import outcomes, rows
from tests.synthesizers.fork_world import NAME, POLICY, dice

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))
    dice.opened, dice.thrown, dice.dies_at = 0, [], None
    yield
    dice.dies_at = None


def flow(left: int, trials: int = 10, tasks: int = 6, **settings: Any) -> Flow:
    content = {
        "name": "fork",
        "seed": 3,
        "env": {"name": NAME, "tasks": tasks, "left": left, "right": 100},
        "models": {"explorer": {"policy": POLICY}},
        "stages": [
            {"rollout": {"trials": trials}},
            {"second_evidence": {"of": "all", **settings}},
            "select",
            {"export": {"kinds": ["sft"], "include_scripted": True, "include_evidence": True}},
        ],
    }
    return Flow.model_validate(content)


def standings(url: str) -> dict[str, tuple[int, int]]:
    trials = [t for t in StoredLedger(url).trajectories() if t.synthesizer == "rollout"]
    both = (
        Counter(t.task_id for t in trials),
        Counter(t.task_id for t in trials if t.outcome == "success"),
    )
    return {task: (both[0][task], both[1][task]) for task in both[0]}


def test_every_success_of_a_hard_task_is_counted_by_continuations_that_can_be_looked_at(
    tmp_path: Path,
) -> None:
    url = str(tmp_path / "run")
    _, reports, _ = run_flow(flow(left=20), url)
    hard = {task for task, (n, s) in standings(url).items() if s <= n / 4}
    expected = {
        t.trajectory_id
        for t in StoredLedger(url).trajectories()
        if t.outcome == "success" and t.task_id in hard
    }
    found, known = rows(url, "second_evidence"), outcomes(url)
    assert {identity for identity, *_ in found} == expected != set()
    for _, turn, passes, detail in found:
        came_to = [known[identity] for identity in detail["continuations"]]
        assert turn == 0, "the way that is taken changes the world"
        assert passes == came_to.count("success")
        assert (
            len(came_to) == detail["played"] == (2 if passes == 2 and detail["played"] == 2 else 4)
        )
    proven = {identity for identity, _, passes, _ in found if passes is not None and passes >= 2}
    assert reports["second_evidence"]["attempted"] == len(expected)
    assert reports["second_evidence"]["verified"] == len(proven)
    with connect(StoredLedger(url)) as connection:
        sql = (
            "SELECT trajectory_id FROM decisions WHERE filter = 'select' AND reason = "
            "'lucky_unproven'"
        )
        unproven = {identity for (identity,) in connection.execute(sql).fetchall()}
    assert unproven == expected - proven


def test_where_two_pass_again_nothing_further_is_played(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    run_flow(flow(left=100, trials=2, tasks=3, hard=1.0), url)
    assert [
        (passes, detail["played"]) for _, _, passes, detail in rows(url, "second_evidence")
    ] == [(2.0, 2)] * 6


def test_continuations_are_no_trajectories_of_the_flow_and_in_no_export(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    run, _, _ = run_flow(flow(left=100, trials=2, tasks=3, hard=1.0), url)
    assert {t.synthesizer for t in run.ledger.trajectories()} == {"rollout"}
    assert len(outcomes(url)) == 6 + 12
    played = {
        identity
        for _, _, _, detail in rows(url, "second_evidence")
        for identity in detail["continuations"]
    }
    written = b"".join(
        file.read_bytes()
        for file in (tmp_path / "run" / "datasets").rglob("*")
        if file.suffix in (".jsonl", ".json", ".md")
    )
    assert played
    assert not [identity for identity in played if identity.encode() in written]


def test_killed_in_the_middle_and_run_again_it_says_the_same(tmp_path: Path) -> None:
    run_flow(flow(left=20), str(tmp_path / "whole"))
    opened = dice.opened
    dice.opened, dice.dies_at = 0, opened - 5
    with pytest.raises(SynthError, match="disk"):
        run_flow(flow(left=20), str(tmp_path / "killed"))
    dice.dies_at = None
    run_flow(flow(left=20), str(tmp_path / "killed"))

    def said(folder: str) -> list[bytes]:
        return [msgspec.json.encode(row) for row in rows(str(tmp_path / folder), "second_evidence")]

    assert said("killed") == said("whole") != []


def test_a_rerun_plays_nothing_again(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    run_flow(flow(left=20), url)
    opened = dice.opened
    run_flow(flow(left=20), url)
    assert dice.opened == opened


def test_what_would_only_repeat_itself_is_not_played(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    settings = {"of": "all", "hard": 1.0}
    stages = [{"rollout": {"trials": 1}}, {"second_evidence": settings}]
    _, reports, _ = run_flow(
        echo_flow(env={"name": "echo", "tasks": 2, "turns": 2}, stages=stages), url
    )
    assert [
        (passes, detail["reason"]) for _, _, passes, detail in rows(url, "second_evidence")
    ] == [(None, "deterministic")] * 2
    assert reports["second_evidence"]["rejected"] == {"deterministic": 2}
    assert len(outcomes(url)) == 2


def imported_flow(policy: str = POLICY) -> Flow:
    stages = [{"second_evidence": {"of": "all"}}, "select"]
    env = {"name": NAME, "tasks": 0}
    return Flow.model_validate(
        {
            "name": "ours",
            "seed": 3,
            "env": env,
            "models": {"explorer": {"policy": policy}},
            "stages": stages,
        }
    )


def imported(folder: Path, **world: Any) -> str:
    env = {"name": NAME, "tasks": 6, "left": 20, "right": 100, **world}
    content = {
        "name": "theirs",
        "seed": 3,
        "env": env,
        "models": {"explorer": {"policy": POLICY}},
        "stages": [{"rollout": {"trials": 10}}],
    }
    run_flow(Flow.model_validate(content), str(folder / "theirs"))
    import_into(str(folder / "ours"), [folder / "theirs"], "synth", progress_for(quiet=True))
    return str(folder / "ours")


def hard_successes(url: str) -> set[str]:
    trials = list(StoredLedger(url).trajectories())
    both = (
        Counter(t.task_id for t in trials),
        Counter(t.task_id for t in trials if t.outcome == "success"),
    )
    return {
        t.trajectory_id
        for t in trials
        if t.outcome == "success" and both[1][t.task_id] <= both[0][t.task_id] / 4
    }


def test_imported_successes_are_played_again_by_the_policy_that_they_are_of(tmp_path: Path) -> None:
    url = imported(tmp_path)
    _, reports, _ = run_flow(imported_flow(), url)
    found, known = rows(url, "second_evidence"), outcomes(url)
    assert {identity for identity, *_ in found} == hard_successes(url) != set()
    for _, _, passes, detail in found:
        assert passes == [known[identity] for identity in detail["continuations"]].count("success")
    assert reports["second_evidence"]["attempted"] == len(found)
    assert reports["second_evidence"]["verified"] == sum(
        (passes or 0) >= 2 for _, _, passes, _ in found
    )


def test_another_policys_passes_are_no_evidence_for_an_imported_success(tmp_path: Path) -> None:
    url = imported(tmp_path)
    _, reports, _ = run_flow(imported_flow("random"), url)
    assert reports["second_evidence"]["rejected"] == {"another_policy": len(hard_successes(url))}
    assert {passes for _, _, passes, _ in rows(url, "second_evidence")} == {None}


def test_an_imported_success_that_its_world_does_not_give_again_is_counted(tmp_path: Path) -> None:
    url = imported(tmp_path, drifts=True)
    _, reports, _ = run_flow(imported_flow(), url)
    assert reports["second_evidence"]["rejected"] == {"drift": len(hard_successes(url))}
    assert len(outcomes(url)) == 60, "nothing was played"
