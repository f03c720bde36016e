"""Which stages of a run are not through, and how that is said."""

from pathlib import Path

from synth.engine.runs.unfinished import not_begun, unfinished, unfinished_line
from synth.ledger import StageRef, StoredLedger
from synth.ledger.log.manifest import StageLine

FLOW = {
    "name": "f",
    "stages": [{"name": name} for name in ("rollout", "filter", "filter", "export", "report")],
}


def test_a_run_that_was_stopped_names_what_was_begun_and_what_was_not(tmp_path: Path) -> None:
    ledger = StoredLedger(str(tmp_path / "run"), create=True)
    ledger.begin_flow(FLOW)
    for stage in ("tasks", "rollout"):
        ledger.begin_stage(StageLine(stage, stage, {}))
    ledger.finish_stage(StageRef("tasks", "tasks"), {"kind": "tasks", "count": 1})
    assert (unfinished(ledger), not_begun(ledger)) == (["rollout"], ["filter", "filter_2"])
    said = "rollout: not finished; what it has committed is exported; filter, filter_2: not begun"
    assert unfinished_line(ledger, "exported") == said
    assert unfinished_line(ledger, "exported", before="filter_2") == said.replace(", filter_2", "")
    assert unfinished_line(ledger, "exported", before="rollout") is None


def test_measures_new_verdicts_and_what_only_writes_are_no_unfinished_stages(
    tmp_path: Path,
) -> None:
    ledger = StoredLedger(str(tmp_path / "run"), create=True)
    ledger.begin_flow(FLOW)
    for stage in ("rollout", "filter", "filter_2"):
        ledger.begin_stage(StageLine(stage, stage, {}))
        ledger.finish_stage(StageRef(stage, stage), {"kind": "method"})
    for stage in ("measure.signals", "recheck", "export", "report"):
        ledger.begin_stage(StageLine(stage, stage, {}))
    assert unfinished_line(ledger, "exported") is None


def test_what_was_imported_has_no_stages_to_finish(tmp_path: Path) -> None:
    assert unfinished_line(StoredLedger(str(tmp_path / "run"), create=True), "exported") is None
