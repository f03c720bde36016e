"""What the card says of the ledger; all numbers are worked out by hand."""

from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from synth.hub.row_facts import RowFacts
from synth.ledger import StageRef, StoredLedger
from synth.ledger.log.manifest import StageLine
from synth.schemas.text.printing import in_cell
from synth.schemas.trajectory import Usage
from tests.synth.hub.sections import section
from tests.trajectories import make_fault, make_trajectory

COST = "Cost per kept row, by method"


def finished(ledger: StoredLedger, stage: str, report: dict[str, Any]) -> None:
    ledger.begin_stage(StageLine(stage, stage, {}, ""))
    ledger.finish_stage(StageRef(stage, stage), report)


@pytest.fixture
def ledger(tmp_path: Path) -> StoredLedger:
    """Three trials of a model, one of them broken: 1,800 tokens and 0.6 dollars in all."""
    ledger = StoredLedger(str(tmp_path / "run"), create=True)
    asked: dict[str, Any] = {
        "role": "explorer",
        "policy": "chat",
        "model": "m",
        "sampling": {"temperature": 0.7},
    }
    tried = [
        make_trajectory("a", **asked, weights_id="rev-1", totals=Usage(800, 200, 0, 1, 0.2)),
        make_trajectory("b", **asked, totals=Usage(400, 100, 0, 1, 0.1)),
        msgspec.structs.replace(make_fault("c"), totals=Usage(300, 0, 0, 1, 0.3)),
    ]
    ledger.commit(StageRef("rollout", "rollout"), trajectories=tried)
    ledger.begin_stage(StageLine("rollout", "rollout", {}, ""))
    return ledger


def rows(**columns: list[object]) -> RowFacts:
    facts = RowFacts()
    facts.take(pa.RecordBatch.from_pydict(columns))
    return facts


def test_what_failed_is_in_the_cost_of_what_was_kept(ledger: StoredLedger) -> None:
    (line,) = [
        line
        for line in section(ledger, COST, {"sft": rows(synthesizer=["rollout"] * 2)}).splitlines()
        if "| sft |" in line
    ]
    assert line == "| rollout | sft | 2 | 3 | 1.50 | 900 | $0.3 | 1,800 tokens, $0.6 |"


def test_a_method_without_rows_is_told_with_what_it_cost(ledger: StoredLedger) -> None:
    assert "| rollout | - | 0 | 3 | - | - | - | 1,800 tokens, $0.6 |" in section(
        ledger, COST, {"rl": rows(task_id=["t"])}
    )


def test_models_are_told_with_revision_and_sampling_and_what_is_not_known_is_said_so(
    ledger: StoredLedger,
) -> None:
    found = section(ledger, "Who wrote the rows").splitlines()
    assert '| explorer | chat | m | rev-1 | model | {"temperature":0.7} | 1 |' in found
    assert '| explorer | chat | m | not told | model | {"temperature":0.7} | 1 |' in found


def test_faults_are_counted_by_kind_and_stand_in_no_row(ledger: StoredLedger) -> None:
    assert "Ended in faults of the machinery: 1 of 3 attempts of this flow (1 model)" in section(
        ledger, "Funnel and faults"
    )


def test_rates_of_false_discoveries_are_those_that_stages_measured(ledger: StoredLedger) -> None:
    report = {"kind": "method", "unit": "tests", "attempted": 9, "verified": 4, "rejected": {}}
    finished(ledger, "topology", report)
    assert section(ledger, "False discoveries").startswith("No stage of this run made labels")
    finished(
        ledger,
        "critical_step",
        report | {"expected_false_share": 0.125, "control": {"accepted": 1, "tests": 40}},
    )
    finished(
        ledger,
        "failure_injection",
        report | {"false_share": None, "methods": {"flip_deterministic": 3}},
    )
    assert section(ledger, "False discoveries").splitlines() == [
        "- `critical_step`: at most an expected 12.5% of the labels that rest on statistics are "
        "false (A/A control: 1 of 40 accepted).",
        "- `failure_injection`: none of its sequential tests was accepted; 3 labels rest on flips "
        "of a deterministic policy, which need no rate.",
    ]


def test_a_cell_ends_no_table_and_is_no_html() -> None:
    assert in_cell("a | b\n<script>") == "a \\| b &lt;script>"
