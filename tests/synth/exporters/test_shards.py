"""Folders of shards: put in place whole, repeatable, and never over something else."""

from pathlib import Path
from typing import Any

import pytest

from schemas.errors import ConfigError
from synth.exporters.shards import DatasetFolder
from synth.exporters.trl import sft_schema

ROW: dict[str, Any] = {
    **{name: None for name in sft_schema().names},
    "trajectory_id": "t",
    "messages": ['{"role":"user","content":"?"}'],
    "tools": [],
    "trained_turns": [0],
    "masked_turns": [],
}


def write(out: Path, rows: int = 1, *, overwrite: bool = False) -> tuple[Path, ...]:
    with DatasetFolder(out, overwrite=overwrite) as folder:
        folder.write_shards([ROW] * rows, sft_schema(), 2)
        folder.write_text("README.md", "card")
        return folder.commit({"kind": "sft"})


def test_the_same_content_again_changes_nothing(tmp_path: Path) -> None:
    written = write(tmp_path / "out", 3)
    before = [(p.stat().st_ino, p.stat().st_mtime_ns) for p in written]
    assert write(tmp_path / "out", 3) == written
    assert [(p.stat().st_ino, p.stat().st_mtime_ns) for p in written] == before


def test_other_content_is_refused_unless_it_may_overwrite(tmp_path: Path) -> None:
    write(tmp_path / "out", 5)
    with pytest.raises(ConfigError, match="holds another data set; choose another folder, or set overwrite: true"):
        write(tmp_path / "out", 1)
    assert len(list((tmp_path / "out").glob("*.parquet"))) == 3
    write(tmp_path / "out", 1, overwrite=True)
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["README.md", "manifest.json", "train-00000.parquet"]


@pytest.mark.parametrize("foreign", ["notes.txt", "manifest.json", "train-00000.parquet"])
def test_a_folder_of_somebody_else_is_never_touched(tmp_path: Path, foreign: str) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / foreign).write_text('{"name": "theirs"}')
    with pytest.raises(ConfigError, match="is no data set written by synth"):
        write(tmp_path / "out", overwrite=True)
    assert (tmp_path / "out" / foreign).read_text() == '{"name": "theirs"}'


def test_a_file_that_was_added_by_hand_is_not_swept_away(tmp_path: Path) -> None:
    write(tmp_path / "out")
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(ConfigError, match="holds files that synth did not write"):
        write(tmp_path / "out", 2, overwrite=True)
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(ConfigError, match="choose another folder"):
        write(tmp_path / "out")


def test_a_broken_off_export_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="drawn"), DatasetFolder(tmp_path / "out") as folder:
        folder.write_shards(_failing(), sft_schema(), 2)
    assert list(tmp_path.iterdir()) == []


def _failing() -> Any:
    yield ROW
    raise RuntimeError("while rows are drawn")


def test_the_files_carry_the_features_for_the_hub(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    (parquet,) = (p for p in write(tmp_path / "out") if p.suffix == ".parquet")
    assert b'"_type": "Json"' in pq.read_schema(parquet).metadata[b"huggingface"]
