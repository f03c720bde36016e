"""What a notebook does with a run by `from synth import ...`: each gives what the command of its
name would say.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

import networkx
import pytest

import synth
from synth.envs.echo import WORLD
from tests.flow_files import echo_flow

STAGES = [
    {"rollout": {"trials": 2}},
    "topology",
    {"filter": ["solved"]},
    {"export": {"kinds": ["sft"], "include_scripted": True}},
]
SCRIPTED = synth.RowSettings(include_scripted=True)


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> synth.Ledger:
    """Two trials of two tasks of the echo world, all solved by its expert."""
    folder = tmp_path_factory.mktemp("work")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SYNTH_STATE_DIR", str(folder / "state"))
        done = synth.run(
            echo_flow(stages=STAGES),
            run_dir=folder / "run",
            set={"env.tasks": 2, "env.turns": 2},
            quiet=True,
        )
    return done.ledger


def test_an_export_writes_what_datasets_load_and_an_empty_one_says_why(
    ledger: synth.Ledger, tmp_path: Path
) -> None:
    from datasets import load_dataset

    report = synth.export(ledger, "sft", to=tmp_path / "sft", as_="openai", settings=SCRIPTED)
    assert report.rows == 4
    rows = load_dataset(str(tmp_path / "sft"), split="train", cache_dir=str(tmp_path / "cache"))
    assert len(rows) == 4
    with pytest.raises(
        synth.SynthError,
        match=r"sft: no rows, so .*empty was not written: .*include_scripted: true",
    ):
        synth.export(ledger, "sft", to=tmp_path / "empty")
    assert not (tmp_path / "empty").exists()
    with pytest.raises(synth.ConfigError, match="kind"):
        synth.export(ledger, "nothing", to=tmp_path / "nothing")


def test_a_dataset_is_not_replaced_unless_that_is_said(
    ledger: synth.Ledger, tmp_path: Path
) -> None:
    synth.export(ledger, "sft", to=tmp_path / "sft", settings=SCRIPTED)
    with pytest.raises(synth.ConfigError, match="overwrite: true"):
        synth.export(ledger, "sft", to=tmp_path / "sft", as_="openai", settings=SCRIPTED)
    assert (
        synth.export(
            ledger, "sft", to=tmp_path / "sft", as_="openai", settings=SCRIPTED, overwrite=True
        ).rows
        == 4
    )


def test_a_proof_leaves_nothing_behind_and_has_no_failures(
    ledger: synth.Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    proof = synth.check_export(ledger, "sft", as_="openai", settings=SCRIPTED)
    assert proof.report.rows == 4
    assert proof.failed == []
    assert list(tmp_path.iterdir()) == []


def test_trajectories_are_executed_again_in_a_running_loop_too(ledger: synth.Ledger) -> None:
    async def notebook() -> synth.ReplayTally:
        return synth.replay(ledger, quiet=True)

    assert asyncio.run(notebook()).same == 4
    one = next(ledger.trajectories())
    assert synth.replay(ledger, one.trajectory_id[:16], quiet=True).same == 1


def test_verdicts_that_stay_are_counted(ledger: synth.Ledger) -> None:
    tally = synth.recheck(ledger, quiet=True)
    assert (tally.stayed, tally.changed) == (4, [])


def test_a_difference_names_turn_and_kind(ledger: synth.Ledger) -> None:
    first, *rest = ledger.trajectories()
    same = next(one for one in rest if one.task_id == first.task_id)
    other = next(one for one in rest if one.task_id != first.task_id)
    assert synth.diff(ledger, first.trajectory_id, same.trajectory_id) is None
    found = synth.diff(ledger, first.trajectory_id, other.trajectory_id)
    assert found is not None
    assert (found.turn, found.what) == (None, "opening")  # another goal is another opening


def test_a_graph_counts_the_trials_of_its_task(ledger: synth.Ledger) -> None:
    task_id = next(ledger.trajectories()).task_id
    graph: Any = synth.graph(ledger, task_id)
    assert isinstance(graph, networkx.DiGraph)
    assert (graph.nodes["START"]["n"], graph.nodes["SUCCESS"]["n_success"]) == (2, 2)
    with pytest.raises(synth.ConfigError, match="'nothing' has no graph"):
        synth.graph(ledger, "nothing")


def test_a_report_is_written_where_it_is_told_or_into_the_run(
    ledger: synth.Ledger, tmp_path: Path
) -> None:
    assert synth.write_report(ledger.run_dir, to=tmp_path / "page.html", quiet=True) == str(
        tmp_path / "page.html"
    )
    assert "<html" in (tmp_path / "page.html").read_text()
    assert synth.write_report(ledger.run_dir, quiet=True) == str(
        Path(ledger.run_dir, "report.html")
    )
    with pytest.raises(synth.ConfigError, match="there is no folder"):
        synth.write_report(ledger.run_dir, to=tmp_path / "no" / "page.html", quiet=True)


@pytest.mark.parametrize("env", ["echo", WORLD])
def test_an_audit_asks_an_environment_by_name_or_as_it_is(env: str | synth.EnvEntry) -> None:
    report = synth.audit(env, tasks=2, settings={"turns": 2}, only=["tasks"], quiet=True)
    assert (report.world, report.tasks, report.failed) == ("echo", 2, ())
    with pytest.raises(synth.ConfigError, match="only beauty: not a question; known: tasks"):
        synth.audit(env, only=["beauty"])
    with pytest.raises(synth.ConfigError, match=r"trun is not a setting; allowed: .*turns"):
        synth.audit(env, settings={"trun": 2})


def test_an_audit_asks_about_the_tasks_of_a_run(ledger: synth.Ledger) -> None:
    report = synth.audit("echo", ledger=ledger, only=["tasks"], quiet=True)
    assert (report.tasks, report.settings["turns"]) == (2, 2)
    with pytest.raises(synth.ConfigError, match="the run has no tasks of storefront"):
        synth.audit("storefront", ledger=ledger)


def test_trajectories_of_another_run_are_imported_and_opened(
    ledger: synth.Ledger, tmp_path: Path
) -> None:
    tally = synth.import_trajectories(ledger.run_dir, into=tmp_path / "mine", quiet=True)
    assert tally.trajectories == 4
    assert len(list(synth.open_ledger(tmp_path / "mine").trajectories())) == 4
    (tmp_path / "none.json").write_text(json.dumps({"nothing": 1}))
    nothing = synth.import_trajectories(tmp_path / "none.json", into=tmp_path / "other", quiet=True)
    assert (nothing.trajectories, dict(nothing.reasons)) == (0, {"unknown_format": 1})
    assert not (tmp_path / "other").exists()
    with pytest.raises(synth.ConfigError, match="format 'cobol' is not known"):
        synth.import_trajectories(
            ledger.run_dir, into=tmp_path / "other", format="cobol", quiet=True
        )


def test_a_publication_is_only_looked_at_without_yes(
    ledger: synth.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv("HF_TOKEN", "")
    report = synth.publish(ledger.run_dir, "me/set", licence="mit")
    assert (report.repo, report.rows, report.revision) == ("me/set", {"sft": 4}, None)
    assert report.files["README.md"] == len(report.card.encode())
    assert "license: mit" in report.card
    with pytest.raises(synth.ConfigError, match="is no name that the Hub has for a licence"):
        synth.publish(ledger.run_dir, "me/set", licence="free for all")
