"""Labels whose name and verdict lie in objects, in folders of reports, and of public instances."""

from pathlib import Path

from synth.ledger.ledger import StoredLedger
from tests.synth.importers.shapes.test_labels import chat, files, lines, outcomes


def test_a_label_may_hold_its_name_and_its_verdict_in_objects(tmp_path: Path) -> None:
    sources = files(tmp_path, a=chat(1, metadata={"task": {"uid": "u1"}}), b=chat(2, id="b"))
    rows = [
        {"info": {"uid": "u1"}, "result": {"passed": True}},
        {"run": {"id": "b"}, "evaluation": {"verdict": {"success": False}}},
    ]
    found, _ = outcomes(tmp_path, sources, lines(tmp_path / "labels.jsonl", rows))
    assert found == {"1": "success", "2": "failure"}


def test_trajectories_in_a_folder_of_reports_are_no_labels(tmp_path: Path) -> None:
    atif = {
        "schema_version": "ATIF-v1.4",
        "session_id": "a",
        "agent": {"name": "x", "version": "1"},
        "steps": [
            {"step_id": 1, "source": "user", "message": "Where is order 1?"},
            {"step_id": 2, "source": "agent", "message": "Here."},
        ],
    }
    report = {"trial_name": "a", "verifier_result": {"rewards": {"reward": 1.0}}}
    sources = files(tmp_path, a__trajectory=atif, a__result=report)
    found, tally = outcomes(tmp_path, sources, sources)
    assert found == {"1": "success"}
    assert tally.labels is not None
    assert tally.labels.labels == 1


def test_an_instance_of_swe_bench_is_stamped_by_its_label_or_its_files_name(
    tmp_path: Path,
) -> None:
    sources = files(tmp_path, django__django=chat(1, id="django__django-11099"), b=chat(2, id="b"))
    rows = [{"instance_id": "django__django-11099", "resolved": True}, {"id": "b", "success": True}]
    outcomes(tmp_path, sources, lines(tmp_path / "labels.jsonl", rows))
    stamps = {one.benchmark for one in StoredLedger(str(tmp_path / "run")).trajectories()}
    assert stamps == {"swe-bench/test", None}
