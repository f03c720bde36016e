"""What a stage concludes: the last conclusion is in every view, those before it in none."""

from pathlib import Path
from typing import Any

from synth.ledger import StoredLedger
from synth.ledger.conclude import finalize_labels
from synth.ledger.ledger import Decision, Score, StageRef
from synth.ledger.log.lost_shards import lost_lines
from synth.ledger.log.manifest import StageLine
from synth.ledger.log.stage_keys import conclusion
from synth.ledger.views import connect

REF = StageRef("critical_step", "key")


def begun(url: str) -> StoredLedger:
    ledger = StoredLedger(url, create=True)
    ledger.begin_stage(StageLine(REF.stage, REF.stage_key, {}))
    return ledger


def label(value: float) -> Score:
    return Score("t", "critical_step", value, 3)


def rows(ledger: StoredLedger, view: str = "scores") -> list[Any]:
    with connect(ledger) as connection:
        return connection.execute(f"SELECT metric, value FROM {view} ORDER BY ALL").fetchall()


def test_a_later_conclusion_takes_the_place_of_the_one_before_and_the_same_one_is_not_written_twice(
    tmp_path: Path,
) -> None:
    ledger = begun(str(tmp_path / "run"))
    finalize_labels(ledger, REF)
    assert ledger.state.concluded(REF.stage_key) is None, "nothing to conclude writes nothing"
    finalize_labels(ledger, REF, scores=[label(1.0)])
    assert rows(ledger) == [("critical_step", 1.0)]
    finalize_labels(ledger, REF, scores=[label(0.0)])
    lines = ledger.state.lines
    finalize_labels(ledger, REF, scores=[label(0.0)])
    assert ledger.state.lines == lines
    assert rows(ledger) == rows(StoredLedger(str(tmp_path / "run"))) == [("critical_step", 0.0)]
    assert rows(ledger, "scores_all") == [("critical_step", 0.0), ("critical_step", 1.0)], (
        "nothing is overwritten"
    )


def test_a_conclusion_of_other_settings_is_in_no_view(tmp_path: Path) -> None:
    ledger = begun(str(tmp_path / "run"))
    finalize_labels(
        ledger,
        REF,
        scores=[label(1.0)],
        decisions=[Decision("t", "likelihood_leak", False, "likelier_under_guidance")],
    )
    ledger.begin_stage(StageLine(REF.stage, "another key", {"x": 1}))
    assert rows(ledger) == []
    ledger.begin_stage(StageLine(REF.stage, REF.stage_key, {}))
    assert rows(ledger) == [("critical_step", 1.0)]


def test_a_conclusion_whose_file_is_gone_is_no_reason_to_believe_the_one_before(
    tmp_path: Path,
) -> None:
    url = str(tmp_path / "run")
    ledger = begun(url)
    finalize_labels(ledger, REF, scores=[label(1.0)])
    finalize_labels(ledger, REF, scores=[label(0.0)])
    ledger.finish_stage(REF, {"kind": "method"})
    last = [shard for shard in ledger.state.shards if shard.stage_key == conclusion(REF.stage_key)][
        -1
    ]
    (tmp_path / "run" / last.files["labels"].path).unlink()
    again = StoredLedger(url)
    assert rows(again) == []
    assert (REF.stage, REF.stage_key) not in again.state.done, (
        "so that the next run concludes again"
    )
    assert len(lost_lines(again.state)) == 1
    finalize_labels(again, REF, scores=[label(0.0)])
    assert rows(again) == [("critical_step", 0.0)]
    assert lost_lines(again.state) == []
