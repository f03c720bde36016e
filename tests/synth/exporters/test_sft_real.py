"""SFT rows of real trajectories, read back with `datasets`."""

from pathlib import Path

import pytest

from synth.exporters.folder.dataset_folder import DatasetFolder
from synth.exporters.kind import RowSettings
from synth.importers.records import Imported
from synth.schemas.outcome import Outcome
from tests.synth.exporters.solved import export_sft, written
from tests.synth.importers.imports import imported

pytestmark = pytest.mark.slow  # real trajectories

DATA = Path(__file__).parents[4] / "shared" / "data"
needs_real_data = pytest.mark.skipif(
    not DATA.is_dir(), reason="real trajectories absent: ../shared/data"
)


@needs_real_data
def test_real_trajectories_come_back_message_by_message(tmp_path: Path) -> None:
    import datasets

    found = [
        f.trajectory
        for f in imported([DATA / "tau1", DATA / "tau1_retail"])
        if isinstance(f, Imported)
    ]
    chosen = {
        "allow_benchmark": True,
        "keep_masked": True,
        "arguments": "json",
        "rows_per_shard": 30,
    }
    report = export_sft(
        [(t, {}) for t in found],
        DatasetFolder(tmp_path / "out"),
        RowSettings.model_validate(chosen),
    )
    datasets.disable_progress_bars()
    rows = list(
        datasets.load_dataset(
            str(tmp_path / "out"), split="train", cache_dir=str(tmp_path / "cache")
        )
    )
    solved = [t for t in found if t.outcome is Outcome.SUCCESS]
    assert (report.rows, report.left_out) == (34 + 36 + 33, {"outcome:failure": 62 + 8 + 19})
    for row, source in zip(rows, solved, strict=True):
        expected = written(source)
        while expected[-1]["role"] == "user":
            expected.pop()
        assert row["messages"] == expected
    assert (
        "public benchmarks"
        in (tmp_path / "out" / "README.md").read_text().split("\n---\n", 1)[1].splitlines()[0]
    )
