"""`datasets.load_dataset` gives the rows that lie in the folder, whatever its cache holds."""

from pathlib import Path

import datasets
import pytest

from synth.exporters.folder.dataset_folder import DatasetFolder
from synth.exporters.kind import RowSettings
from tests.synth.exporters.solved import export_sft, load, trajectory


def write(out: Path, *identities: str) -> None:
    export_sft(
        [(trajectory(i), {}) for i in identities],
        DatasetFolder(out, replace="written"),
        RowSettings(rows_per_shard=2),
    )


def loaded(out: Path, cache: Path) -> list[str]:
    return [row["trajectory_id"] for row in load(out, cache)]


def test_two_exports_in_folders_of_one_name_give_their_own_rows_from_one_cache(
    tmp_path: Path,
) -> None:
    write(tmp_path / "a" / "sft", "a1", "a2")
    write(tmp_path / "b" / "sft", "b1")
    assert loaded(tmp_path / "a" / "sft", tmp_path / "cache") == ["a1", "a2"]
    assert loaded(tmp_path / "b" / "sft", tmp_path / "cache") == ["b1"]
    assert loaded(tmp_path / "a" / "sft", tmp_path / "cache") == ["a1", "a2"]


def test_an_export_in_place_of_another_gives_the_new_rows(tmp_path: Path) -> None:
    write(tmp_path / "sft", "old")
    assert loaded(tmp_path / "sft", tmp_path / "cache") == ["old"]
    write(tmp_path / "sft", "new")
    assert loaded(tmp_path / "sft", tmp_path / "cache") == ["new"]


def test_a_shard_that_is_lost_is_an_error_and_not_fewer_rows(tmp_path: Path) -> None:
    write(tmp_path / "sft", "1", "2", "3")
    assert loaded(tmp_path / "sft", tmp_path / "cache") == ["1", "2", "3"]
    next((tmp_path / "sft").glob("train-*-00001.parquet")).unlink()
    with pytest.raises(
        (FileNotFoundError, datasets.exceptions.DatasetNotFoundError), match="train-"
    ):
        loaded(tmp_path / "sft", tmp_path / "other_cache")
