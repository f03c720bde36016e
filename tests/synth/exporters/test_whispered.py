"""A row that shows the canary of any whispered note of its ledger is in no data set, whatever its
form; the note itself is no row.
"""

from pathlib import Path

import msgspec
import pytest

from synth.exporters.doors import door_table
from synth.exporters.export import export
from synth.exporters.folder.dataset_folder import DatasetFolder
from synth.exporters.kind import RowSettings
from synth.exporters.kinds.whispered import CANARY, marks_of
from synth.ledger import StageRef, StoredLedger
from synth.ledger.log.manifest import StageLine
from synth.synthesizers.reflection.guidance import guidance_text
from synth.text.leaks.canary import canary_of
from tests.synth.exporters.solved import load, result, trajectory

NOTE = guidance_text(["Ask before you cancel."])
MARK = canary_of(NOTE) or ""


@pytest.fixture
def ledger(tmp_path: Path) -> StoredLedger:
    """Unguided trials of another task that hold the mark in a tool's answer, an argument and the
    opening; one that does not; and the retry that was whispered it.
    """
    plain = trajectory("plain")
    first, last = plain.turns
    (call,) = first.tool_calls
    read = msgspec.structs.replace(first, observations=(result(f"note {MARK.upper()}"),))
    asked = msgspec.structs.replace(call, arguments=f'{{"q": "{MARK[:8]} {MARK[8:]}"}}')
    wrote = msgspec.structs.replace(first, tool_calls=(asked,))
    (said,) = plain.opening
    told = msgspec.structs.replace(said, content=f"Where is canary-{MARK}?")
    found = [
        plain,
        trajectory("read", turns=(read, last)),
        trajectory("wrote", turns=(wrote, last)),
        trajectory("opened", opening=(told,)),
        trajectory("guided", guidance=NOTE, pivot_turn=1),
    ]
    ledger = StoredLedger(str(tmp_path / "run"), create=True)
    ledger.begin_stage(StageLine("rollout", "rollout", {}))
    ledger.commit(StageRef("rollout", "rollout"), trajectories=found)
    return ledger


@pytest.mark.parametrize("form", ["trl", "openai"])
def test_it_is_left_out_and_counted(ledger: StoredLedger, tmp_path: Path, form: str) -> None:
    settings = RowSettings(form=form, include_unverified=True, keep_masked=True)
    report = export("sft", ledger, DatasetFolder(tmp_path / "out"), settings)
    assert report.left_out[CANARY] == 3
    texts = [path.read_bytes() for path in (tmp_path / "out").iterdir()]
    assert all(MARK.encode() not in text for text in texts)
    if form == "trl":
        rows = load(tmp_path / "out", tmp_path / "cache")
        assert {row["trajectory_id"] for row in rows} == {"plain", "guided"}


def test_the_marks_are_those_of_the_ledgers_notes(ledger: StoredLedger) -> None:
    assert marks_of(ledger) == {MARK}
    assert door_table(ledger, RowSettings(include_unverified=True)).collected == 5
