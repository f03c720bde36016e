"""Rows of some subjects under a stage's key: the same as by question, and each file read once or
twice however many parts a run is gone over in.
"""

from pathlib import Path
from typing import Any

import pytest

from synth.ledger.ledger import Score, StageRef, StoredLedger
from synth.ledger.log.shard_files import ShardFiles
from synth.ledger.typed import of_subjects, read

REF, OTHER = StageRef("measure.mine", "key"), StageRef("measure.mine", "other")
FILES, IN_FILE = 30, 4


@pytest.fixture
def ledger(tmp_path: Path) -> StoredLedger:
    """Two rows of each subject, four subjects a file; one subject under another key too."""
    made = StoredLedger(str(tmp_path / "run"), create=True)
    for file in range(FILES):
        names = [f"s{file}-{number}" for number in range(IN_FILE)]
        made.commit(
            REF,
            scores=[
                Score(name, metric, value, turn, {"of": name})
                for name in names
                for metric, value, turn in (("b", 1.0, None), ("a", None, 2), ("a", 0.5, 1))
            ],
        )
    made.commit(OTHER, scores=[Score("s0-0", "a", 7.0, None, {})])
    return made


def test_they_are_those_of_the_question(ledger: StoredLedger) -> None:
    wanted = ["s7-3", "s0-0", "s29-1", "nobody"]
    found = of_subjects(ledger, "key", dict[str, Any], wanted)
    asked = list(read(ledger, dict[str, Any], stage_key="key", subjects=wanted))
    assert found == asked
    assert [(one.subject_id, one.metric, one.turn) for one in found[:3]] == [
        ("s0-0", "a", 1),
        ("s0-0", "a", 2),
        ("s0-0", "b", None),
    ]
    assert {one.about["of"] for one in found} == {"s0-0", "s7-3", "s29-1"}


def test_each_file_is_read_twice_at_most_in_however_many_parts(
    ledger: StoredLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = []
    table = ShardFiles.table

    def counted(files: ShardFiles, file: Any, *columns: Any) -> Any:
        opened.append(file.path)
        return table(files, file, *columns)

    monkeypatch.setattr(ShardFiles, "table", counted)
    for file in range(FILES):
        part = [f"s{file}-{number}" for number in range(IN_FILE)]
        assert len(of_subjects(ledger, "key", dict[str, Any], part)) == 3 * IN_FILE

    assert len(opened) <= 2 * FILES


def test_what_is_committed_later_is_found(ledger: StoredLedger) -> None:
    assert of_subjects(ledger, "key", dict[str, Any], ["late"]) == []
    ledger.commit(REF, scores=[Score("late", "a", 1.0, None, {})])
    (one,) = of_subjects(ledger, "key", dict[str, Any], ["late"])
    assert one.value == 1.0
