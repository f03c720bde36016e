"""A value of a table that nothing stands for costs its own row at most."""

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth.importers.records import Imported, Rejection
from tests.synth.importers.imports import imported

CHAT = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([10**15, 1, 2], pa.timestamp("s")),
        pa.array([2**62, 1, 2], pa.duration("s")),
        pa.array([2**62, 1, 2], pa.time64("us")),
        pa.array([10**9, 1, 2], pa.date32()),
    ],
    ids=["timestamp", "duration", "time", "date"],
)
def test_a_time_that_python_has_no_value_for_costs_no_row(tmp_path: Path, column: pa.Array) -> None:
    pq.write_table(pa.table({"messages": [CHAT] * 3, "at": column}), tmp_path / "a.parquet")
    found = list(imported([tmp_path / "a.parquet"]))
    assert [type(one) for one in found] == [Imported] * 3


@pytest.mark.parametrize(("speaker", "words"), [("role", "content"), ("from", "value")])
def test_messages_that_lie_in_columns_of_their_own_are_messages(
    tmp_path: Path, speaker: str, words: str
) -> None:
    stored = {speaker: ["user", "assistant"], words: ["Hi.", "Hello."], "name": [None, "bot"]}
    pq.write_table(pa.table({"messages": pa.array([stored])}), tmp_path / "a.parquet")
    (found,) = imported([tmp_path / "a.parquet"])
    assert isinstance(found, Imported)
    assert [one.content for one in found.trajectory.opening] == ["Hi."]
    assert [one.content for one in found.trajectory.turns] == ["Hello."]


def test_a_text_that_is_none_costs_its_own_row_alone(tmp_path: Path) -> None:
    broken = pa.array([b"fine", b"\xff\xfe", b"fine"]).view(pa.string())
    table = pa.table({"messages": [CHAT] * 3, "note": broken})
    pq.write_table(table, tmp_path / "a.parquet")
    first, second, third = imported([tmp_path / "a.parquet"])
    assert isinstance(first, Imported)
    assert isinstance(third, Imported)
    assert isinstance(second, Rejection)
    assert (second.reason, second.locator) == ("bad_record", "row1")
    assert second.detail.startswith("UnicodeDecodeError")


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("data/test-00000-of-00001.parquet", "test"),
        ("data/validation-00001-of-00002-0123456789abcdef.parquet", "validation"),
        ("data/test_sft-00000-of-00001.parquet", "test_sft"),
        ("default/test/0000.parquet", "test"),
        ("test/data-00000-of-00001.arrow", "test"),
        ("train/data-00000-of-00001.arrow", None),
        ("data/train_sft-00000-of-00001.parquet", None),
        ("data/tool-00000-of-00001.parquet", None),
        ("test/mine.parquet", None),
        ("testimony-00000-of-00001.parquet", None),
    ],
)
def test_a_file_that_a_data_set_holds_out_is_held_out(
    tmp_path: Path, name: str, split: str | None
) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"messages": [CHAT]}), path)
    (found,) = imported([tmp_path])
    assert isinstance(found, Imported)
    assert found.task.split == split


def test_a_column_says_more_than_the_place_of_a_file(tmp_path: Path) -> None:
    table = pa.table({"messages": [CHAT], "split": ["train"]})
    pq.write_table(table, tmp_path / "test-00000-of-00001.parquet")
    (found,) = imported([tmp_path])
    assert isinstance(found, Imported)
    assert found.task.split == "train"


def test_messages_that_pandas_printed_into_a_csv_are_read(tmp_path: Path) -> None:
    rows = [("1", str(CHAT)), ("2", json.dumps(CHAT)), ("3", "[{'role': 'user', broken")]
    with (tmp_path / "a.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("id", "messages"), *rows])
    first, second, third = imported([tmp_path / "a.csv"])
    assert isinstance(first, Imported)
    assert isinstance(second, Imported)
    assert first.trajectory.turns == second.trajectory.turns
    assert isinstance(third, Rejection)
    assert third.reason == "bad_record"
