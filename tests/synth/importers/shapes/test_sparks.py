"""Attempts with memos, as chains."""

import json
from pathlib import Path
from typing import Any

import pytest

from synth import import_trajectories
from synth.importers.streams.memos import memo_of
from synth.ledger.ledger import StoredLedger
from tests.synth.importers.imports import read_lines
from tests.synth.importers.shapes.stream_records import STREAM

MEMO = """## Exploration Memo (1 failed attempts)

### Attempts Log
- #1: read the file, wrong column

### Commands From Last Attempt
```
cat a.py
python a.py
```

### Verified Facts
- a.py exists
- column b is a date

### Current Error Pattern
It counts the header.

### Next Strategy
Skip the header.
"""


def attempt(number: int, success: bool) -> dict[str, Any]:
    """A row of SPARK."""
    return {
        "type": "execution_result",
        "attempt": number,
        "success": success,
        "reward": float(success),
        "status": "PASS" if success else "FAIL",
        "agent_stdout_full": "".join(json.dumps(one) + "\n" for one in STREAM),
        "test_summary": "FAILED:\n  ✗ test_a.py::test_one\n",
        "retry_injection": MEMO if number else "",
    }


def reflection(number: int) -> dict[str, Any]:
    return {"type": "reflect_call", "attempt": number, "memo_before": "", "memo_after": MEMO}


SNAPSHOT = {
    "type": "pdi_snapshot",
    "attempt": 0,
    "step": 0,
    "weighted_pdi": 0.5,
    "triggered": False,
}


SUMMARY = {
    "type": "task_summary",
    "task_name": "count",
    "success": True,
    "exploration_config": {"model": "m"},
}


SPARK = [
    attempt(0, False),
    reflection(0),
    SNAPSHOT,
    attempt(1, False),
    reflection(1),
    attempt(2, True),
    SUMMARY,
]


def test_attempts_of_spark_are_a_chain_with_its_memos(tmp_path: Path) -> None:
    found, bad = read_lines(tmp_path, SPARK)
    assert bad == []
    trials = [one.trajectory for one in found]
    assert [one.outcome.value for one in trials] == ["failure", "failure", "success"]
    assert [one.parent_id for one in trials] == [None, *(one.trajectory_id for one in trials[:2])]
    assert [one.guidance for one in trials] == [None, MEMO, MEMO]
    assert len({one.task_id for one in trials}) == 1
    told = [mark.detail for one in found for mark in one.marks if mark.metric == "reflection"]
    assert [one["retry"] for one in told if isinstance(one, dict)] == [
        one.trajectory_id for one in trials[1:]
    ]
    indices = [mark.value for one in found for mark in one.marks if mark.metric == "pdi"]
    assert indices == [0.5, None]


def test_the_filter_pdi_finds_the_imported_chain(tmp_path: Path) -> None:
    log = tmp_path / "trajectory.jsonl"
    log.write_text("".join(json.dumps(one) + "\n" for one in SPARK))
    run = tmp_path / "run"
    import_trajectories(log, into=run, quiet=True)
    scores = StoredLedger(str(run)).frame("scores").collect().to_dicts()
    keys = {
        json.loads(one["detail"])["key"] for one in scores if one["metric"] in ("pdi", "reflection")
    }
    assert len(keys) == 1


def test_a_memo_by_its_headings() -> None:
    memo = memo_of(MEMO, "FAILED:\n  ✗ test_a.py::test_one\nPASSED:\n  ✓ test_a.py::test_two")
    assert memo is not None
    assert memo.commands == ("cat a.py", "python a.py")
    assert memo.verified_facts == ("a.py exists", "column b is a date")
    assert (memo.next_strategy, memo.error_pattern) == ("Skip the header.", "It counts the header.")
    assert memo.failed_tests == ("test_a.py::test_one",)


@pytest.mark.parametrize("text", [None, "", 3, "no headings", "## Exploration Memo"])
def test_a_text_without_sections_is_no_memo(text: Any) -> None:
    assert memo_of(text) is None
