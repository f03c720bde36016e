"""A proof without transformers: the loader is asked, nothing stays, and what was not proven is
said.
"""

import tempfile
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from synth.exporters.export import tally_for, write
from synth.exporters.folder.dataset_folder import DatasetFolder
from synth.exporters.form import Form
from synth.exporters.kind import RowSettings
from synth.exporters.kinds.sft import SFT, sft_rows
from synth.exporters.proof.check import prove
from synth.exporters.proof.reading import Noted, ProofIssues, loading_findings, watched
from synth.exporters.tally import ExportCounts
from synth.ledger.ledger import StoredLedger
from synth.schemas.trajectory import Observation, Source
from tests.synth.exporters.solved import trajectory
from tests.synth.pairs.planted import act, planted, run


@pytest.fixture
def ledger(tmp_path: Path) -> StoredLedger:
    asked = (Observation("Bring the lamp.", Source.USER),)
    solved, lost = (
        run("a", act(0), act(1, "take"), solved=True, opening=asked),
        run("b", act(0), solved=False),
    )
    return planted(tmp_path, [solved, lost], [])


@pytest.mark.parametrize(
    "form", ["trl", "llamafactory", "axolotl", "verl", "openai", "atif", "sts"]
)
def test_every_form_of_sft_is_read_back_as_it_was_written_and_nothing_stays(
    ledger: StoredLedger, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = sorted(tmp_path.iterdir())
    proof = prove("sft", ledger, RowSettings(form=form))
    assert (proof.report.rows, proof.failed) == (1, [])
    assert dict(proof.report.left_out) == {"outcome:failure": 1}
    assert proof.findings.proven
    assert sorted(tmp_path.iterdir()) == before


def test_a_row_that_the_loader_gives_back_changed_fails_the_proof(tmp_path: Path) -> None:
    noted, form = written(tmp_path)
    noted[0] = (noted[0][0], "another row")
    findings = ProofIssues()
    loading_findings(tmp_path / "out", tmp_path / "cache", form, noted, findings)
    assert findings.failed == [
        "datasets.load_dataset gives 2 of 2 rows, 1 of them not as they were written"
    ]
    assert form.name == "trl"


def written(tmp_path: Path) -> tuple[list[Noted], Form]:
    pairs: Any = [(trajectory("a"), {}), (trajectory("b"), {})]

    def rows(tally: ExportCounts) -> Iterable[Any]:
        return sft_rows(pairs, tally)

    tally = tally_for(SFT, rows, RowSettings())
    noted = list[Noted]()
    note = partial(watched, form=tally.form, noted=noted)
    write(tally, rows, DatasetFolder(tmp_path / "out"), watched=note)
    return noted, tally.form
