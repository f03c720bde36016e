"""Verdicts that lie beside trajectories: whatever form they have, each finds its own, and what is
left over is told in full.
"""

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth import import_trajectories
from synth.importers.tally import ImportTally
from synth.ledger.ledger import StoredLedger
from synth.schemas import Trajectory
from synth.schemas.errors import ConfigError
from tests.synth.importers.shapes.dialogues import CHAT


def chat(number: int, **more: Any) -> dict[str, Any]:
    """A chat about something of its own."""
    told = [CHAT[0], {"role": "user", "content": f"Where is order {number}?"}, *CHAT[2:]]
    return {"messages": told, **more}


def files(folder: Path, **chats: Any) -> Path:
    """A folder of documents, by their names."""
    for name, value in chats.items():
        path = folder / "runs" / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".json").write_text(json.dumps(value))
    return folder / "runs"


def lines(path: Path, rows: list[Any]) -> Path:
    """JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def outcomes(folder: Path, sources: Path, *labels: Path, **more: Any) -> tuple[Any, ImportTally]:
    """Outcomes by what was asked, and the tally."""
    run = folder / "run"
    tally = import_trajectories(sources, into=run, labels=labels, quiet=True, **more)
    found: list[Trajectory] = list(StoredLedger(str(run)).trajectories())
    told = {one.opening[0].content.removeprefix("Where is order ")[:-1]: one for one in found}
    return {key: one.outcome.value for key, one in sorted(told.items())}, tally


ROWS = [{"id": "a", "success": True}, {"id": "b", "success": False}, {"id": "z", "success": True}]


def written(folder: Path, form: str) -> Path:
    """The same labels in a form."""
    path = folder / f"labels.{form}"
    if form == "jsonl":
        return lines(path, ROWS)
    if form == "json":
        path.write_text(json.dumps(ROWS))
    elif form == "map":
        path.write_text(json.dumps({row["id"]: row["success"] for row in ROWS}))
    elif form == "parquet":
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    else:
        with path.open("w", newline="") as out:
            writer = csv.DictWriter(out, ["id", "success"])
            writer.writeheader()
            writer.writerows(ROWS)
    return path


@pytest.mark.parametrize("form", ["jsonl", "json", "map", "parquet", "csv"])
def test_labels_of_every_form_find_their_trajectories(tmp_path: Path, form: str) -> None:
    log = lines(tmp_path / "log.jsonl", [chat(1, id="a"), chat(2, id="b"), chat(3, id="c")])
    found, tally = outcomes(tmp_path, log, written(tmp_path, form))
    assert found == {"1": "success", "2": "failure", "3": "unknown"}
    assert tally.labels is not None
    assert [(one.what, one.keys) for one in tally.labels.unmatched] == [
        ("label", ("z",)),
        ("trajectory", ("c",)),
    ]


@pytest.mark.parametrize(
    ("key", "matched"),
    [
        ({"path": "one/run.json"}, {"1"}),
        ({"path": "/elsewhere/runs/two/run.json"}, {"2"}),
        ({"path": "two\\run.json"}, {"2"}),
        ({"path": "run.json"}, set()),
        ({"id": "two"}, {"2"}),
        ({"pattern": "*/run.json"}, {"1", "2"}),
        ({"pattern": "one/*"}, {"1"}),
        ({"pattern": "re:/(one|two)/"}, {"1", "2"}),
        ({"path": "three/run.json"}, set()),
    ],
)
def test_paths_match_by_their_tails_and_patterns_match_several(
    tmp_path: Path, key: dict[str, str], matched: set[str]
) -> None:
    sources = files(tmp_path, one__run=chat(1), two__run=chat(2))
    found, tally = outcomes(tmp_path, sources, lines(tmp_path / "l", [{**key, "reward": 1.0}]))
    assert {name for name, outcome in found.items() if outcome == "success"} == matched
    assert tally.labels is not None
    left = [one for one in tally.labels.unmatched if one.what == "label"]
    assert bool(left) is not bool(matched)


def test_a_line_of_a_file_is_one_record(tmp_path: Path) -> None:
    log = lines(tmp_path / "log.jsonl", [chat(1), chat(2)])
    rows = [
        {"path": "log.jsonl", "line": 2, "success": True},
        {"path": "log.jsonl#line1", "success": False},
    ]
    found, _ = outcomes(tmp_path, log, lines(tmp_path / "l", rows))
    assert found == {"1": "failure", "2": "success"}


def test_a_key_taken_out_of_the_path(tmp_path: Path) -> None:
    sources = files(tmp_path, one__x_7_y=chat(1), one__x_8_y=chat(2))
    found, _ = outcomes(
        tmp_path, sources, lines(tmp_path / "l", [{"id": "8", "success": 1}]), label_key=r"x_(\d)_y"
    )
    assert found == {"1": "unknown", "2": "success"}


def test_a_name_of_several_trials_needs_the_trial(tmp_path: Path) -> None:
    log = lines(tmp_path / "log", [chat(1, task_id="t", trial=n) for n in (0, 1)])
    rows = [{"task_id": "t", "success": True}]
    found, tally = outcomes(tmp_path / "x", log, lines(tmp_path / "l", rows))
    assert found == {"1": "unknown"}
    assert tally.labels is not None
    assert "fits 2 trajectories" in tally.labels.unmatched[0].why
    rows = [{"task_id": "t", "trial": n, "reward": float(n)} for n in (0, 1)]
    run = tmp_path / "run2"
    import_trajectories(log, into=run, labels=[lines(tmp_path / "l2", rows)], quiet=True)
    told = {one.trial: one.outcome.value for one in StoredLedger(str(run)).trajectories()}
    assert told == {0: "failure", 1: "success"}


def test_labels_that_contradict_each_other_are_listed_and_say_nothing(tmp_path: Path) -> None:
    log = lines(tmp_path / "log", [chat(1, id="a")])
    rows = [{"id": "a", "success": True}, {"id": "a", "success": False}]
    found, tally = outcomes(tmp_path, log, lines(tmp_path / "l", rows))
    assert found == {"1": "unknown"}
    assert tally.labels is not None
    assert "contradict" in tally.labels.unmatched[0].why


REPORT = {
    "total_instances": 5,
    "submitted_ids": ["a__a-1", "a__a-2", "a__a-3", "a__a-4"],
    "completed_ids": ["a__a-1", "a__a-2"],
    "resolved_ids": ["a__a-1"],
    "unresolved_ids": ["a__a-2"],
    "error_ids": ["a__a-3"],
    "empty_patch_ids": ["a__a-4"],
    "incomplete_ids": ["a__a-5"],
    "schema_version": 2,
}
INSTANCES = {"a__a-1": {"resolved": True, "tests_status": {}}, "a__a-2": {"resolved": False}}


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (REPORT, ["success", "failure", "unknown", "failure", "unknown"]),
        (INSTANCES, ["success", "failure", "unknown", "unknown", "unknown"]),
        (
            {"resolved": ["a__a-1"], "applied": ["a__a-1", "a__a-2"], "no_generation": ["a__a-4"]},
            ["success", "failure", "unknown", "failure", "unknown"],
        ),
    ],
)
def test_a_report_of_swe_bench(tmp_path: Path, report: Any, expected: list[str]) -> None:
    names = [f"a__a-{n}" for n in range(1, 6)]
    logs = [chat(n, instance_id=name, patch="") for n, name in enumerate(names, 1)]
    (tmp_path / "report.json").write_text(json.dumps(report))
    log = lines(tmp_path / "log", logs)
    found, _ = outcomes(tmp_path, log, tmp_path / "report.json")
    assert list(found.values()) == expected


def test_results_of_harbor_are_found_by_their_folders(tmp_path: Path) -> None:
    jobs = tmp_path / "jobs"
    for number, (reward, broke) in enumerate(
        [(1.0, None), (0.0, None), (None, {"exception_type": "X"})]
    ):
        folder = jobs / f"task__{number}"
        folder.mkdir(parents=True)
        verified = None if reward is None else {"rewards": {"reward": reward}}
        result = {
            "trial_name": f"task__{number}",
            "task_name": "task",
            "verifier_result": verified,
            "exception_info": broke,
        }
        (folder / "result.json").write_text(json.dumps(result))
        (folder / "agent").mkdir()
        (folder / "agent" / "trajectory.json").write_text(json.dumps(chat(number)))
    found, tally = outcomes(tmp_path, jobs, jobs)
    assert found == {"0": "success", "1": "failure", "2": "unknown"}
    assert tally.trajectories == 3


def test_results_of_tau_are_verdicts_by_task_and_trial(tmp_path: Path) -> None:
    results = [
        {
            "task_id": 3,
            "trial": n,
            "reward": float(n),
            "info": {"task": {"instruction": "x"}},
            "traj": CHAT,
        }
        for n in (0, 1)
    ]
    log = lines(tmp_path / "log", [chat(1, task_id=3, trial=1)])
    (tmp_path / "results.json").write_text(json.dumps(results))
    found, _ = outcomes(tmp_path, log, tmp_path / "results.json")
    assert found == {"1": "success"}


def test_step_labels_of_a_row_and_of_rows_of_their_own_are_scores(tmp_path: Path) -> None:
    log = lines(tmp_path / "log", [chat(1, id="a"), chat(2, id="b")])
    rows = [
        {"id": "a", "steps": [1, None]},
        {"id": "b", "turn": 0, "label": "good" if False else 0},
        {"id": "b", "turn": 1, "label": 1, "reason": "why"},
    ]
    run = tmp_path / "run"
    import_trajectories(log, into=run, labels=[lines(tmp_path / "l", rows)], quiet=True)
    scores = StoredLedger(str(run)).frame("scores").collect()
    found = [
        (one["turn"], one["value"]) for one in scores.to_dicts() if one["metric"] == "step_label"
    ]
    assert sorted(found) == [(0, 0.0), (0, 1.0), (1, 1.0)]


def test_a_label_wins_over_the_sources_own_verdict_and_says_what_it_was(tmp_path: Path) -> None:
    log = lines(tmp_path / "log", [chat(1, id="a", success=True, reward=1.0)])
    rows = [{"id": "a", "success": False, "annotator": "p1", "split": "test"}]
    run = tmp_path / "run"
    import_trajectories(log, into=run, labels=[lines(tmp_path / "l", rows)], quiet=True)
    (found,) = StoredLedger(str(run)).trajectories()
    assert (found.outcome.value, found.reward, found.split) == ("failure", None, "test")
    assert StoredLedger(str(run)).tasks({found.task_id})[found.task_id].split == "test"
    scores = StoredLedger(str(run)).frame("scores").collect().to_dicts()
    (mark,) = (one for one in scores if one["metric"] == "label")
    assert mark["value"] == 0.0
    assert json.loads(mark["detail"])["was"] == "success"
    assert json.loads(mark["detail"])["annotator"] == "p1"


def test_a_fault_stays_a_fault(tmp_path: Path) -> None:
    log = lines(
        tmp_path / "log", [chat(1, instance_id="a__b-1", exit_status="exit_error", patch="")]
    )
    found, _ = outcomes(tmp_path, log, lines(tmp_path / "l", [{"id": "a__b-1", "success": True}]))
    assert found == {"1": "invalid"}


@pytest.mark.parametrize(
    "row",
    [
        {"success": True},
        {"id": "a"},
        {"id": "a", "success": "perhaps"},
        [1],
        3,
        {"id": "a", "reward": "x"},
    ],
)
def test_a_label_that_cannot_be_read_is_a_rejection_and_the_others_count(
    tmp_path: Path, row: Any
) -> None:
    log = lines(tmp_path / "log", [chat(1, id="b")])
    found, tally = outcomes(tmp_path, log, lines(tmp_path / "l", [{"id": "b", "success": 1}, row]))
    assert found == {"1": "success"}
    assert sum(tally.reasons.values()) == 1


def test_labels_that_do_not_exist_end_the_import_before_it_begins(tmp_path: Path) -> None:
    log = lines(tmp_path / "log", [chat(1, id="b")])
    with pytest.raises(ConfigError, match=r"--labels .*none does not exist"):
        outcomes(tmp_path, log, tmp_path / "none")
    assert not (tmp_path / "run").exists()
