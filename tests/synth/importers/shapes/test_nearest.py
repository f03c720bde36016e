"""A wrong file gets a line that names its shape and what would read it."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import Dataset, DatasetDict

from synth import import_trajectories
from synth.importers.records import Imported, Rejection
from synth.schemas.errors import ConfigError
from tests.synth.importers.imports import imported, read_document
from tests.synth.importers.shapes.dialogues import CHAT, OUTLINE, TOOL, outline


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"resolved_ids": ["a"], "unresolved_ids": []}, "--labels"),
        ({"a__b-1": {"resolved": True}}, "--labels"),
        ({"trial_name": "t", "verifier_result": {"rewards": {"reward": 1}}}, "--labels"),
        ({"instance_id": "a", "resolved": True}, "--labels"),
        ({"id": 1, "dialog_turns": CHAT}, "--column messages=dialog_turns"),
        ({"id": 1, "data": {"talk": CHAT}}, "--column messages=data.talk"),
        ({"mesages": [1]}, "--column messages=mesages"),
        ({"instruction": "a", "output": "b"}, "Alpaca"),
        ({"custom_id": "1", "response": {"body": {}}}, "file of their requests"),
        ({"custom_id": "1", "result": {"message": {}}}, "file of their requests"),
        (
            {"custom_id": "1", "result": {"type": "succeeded", "message": {"content": "x"}}},
            "file of their requests",
        ),
        ({"custom_id": "1", "result": "pass"}, "--labels"),
        ({"text": "words"}, "plain text"),
        ({"text": "### Human: hi\n### Assistant: yo"}, "speakers in them"),
        ({"chosen": "\n\nHuman: hi", "rejected": "\n\nHuman: no"}, "speakers in them"),
        ({"prompt": CHAT[:2], "reward_model": {}}, "asks and nothing answers"),
        ({"object": "response", "output": [CHAT[-1]]}, "without what was sent"),
        (
            {"object": "list", "data": [{"object": "chat.completion", "choices": [1]}]},
            "without what was sent",
        ),
        ({"question": "a", "answer": "b"}, "question and an answer"),
        ({"messages": [{"sender_id": 1}]}, "list of object with 'sender_id', no messages"),
        ({"conversations": ["a", "b"]}, "list of JSON str, no messages"),
        ({"messages": []}, "an empty list, no messages"),
        ({"steps": [{"act": 1}]}, "--column messages=steps"),
        ({"a": 1, "b": "x"}, "--column messages=KEY"),
        ({"steps": [1, 2]}, "--column messages=KEY"),
    ],
)
def test_a_record_that_nobody_reads_says_what_would(tmp_path: Path, record: Any, said: str) -> None:
    found, (bad,) = read_document(tmp_path, record)
    assert found == []
    assert bad.reason == "unknown_format"
    assert bad.detail.startswith("object with ")
    assert said in bad.detail


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a.md", "Markdown"),
        ("a.yaml", "convert it to JSON"),
        ("a.pkl", "pickle"),
        ("a.csv", "column"),
    ],
)
def test_a_file_that_is_no_json_says_what_it_is(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / name).write_text("x,y\n1,2\n")
    (bad,) = imported([tmp_path / name])
    assert isinstance(bad, Rejection)
    assert said in bad.detail


def test_requests_of_a_batch_alone_say_what_is_missing(tmp_path: Path) -> None:
    line = {"custom_id": "1", "method": "POST", "url": "/", "body": {"messages": CHAT}}
    found, (bad,) = read_document(tmp_path, line)
    assert (found, bad.reason) == ([], "description")
    assert "output file" in bad.detail


def test_a_record_without_the_messages_of_the_others_says_where_its_chat_stands(
    tmp_path: Path,
) -> None:
    rows = [{"messages": CHAT}, {"talk": CHAT}]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    _, bad = imported([tmp_path / "x.jsonl"])
    assert isinstance(bad, Rejection)
    assert bad.detail.endswith("a chat stands under 'talk': --column messages=talk")


def test_a_named_column_that_no_record_has_is_told(tmp_path: Path) -> None:
    rows = [{"talk": CHAT, "ok": "yes"}, {"talk": CHAT, "fns": [TOOL]}]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    columns = ["messages=talk", "tools=fns", "success=okay", "reward=scores.r"]
    tally = import_trajectories(
        tmp_path / "x.jsonl", into=tmp_path / "run", columns=columns, quiet=True
    )
    assert tally.unfound == ("--column success=okay: no record that was read has it",)


def test_a_column_is_named_by_its_path(tmp_path: Path) -> None:
    rows = [{"id": 1, "data": {"talk": CHAT, "fns": [TOOL]}, "ok": "yes"}]
    (tmp_path / "x.jsonl").write_text(json.dumps(rows[0]) + "\n")
    columns = ["messages=data.talk", "tools=data.fns", "success=ok"]
    tally = import_trajectories(
        tmp_path / "x.jsonl", into=tmp_path / "run", columns=columns, quiet=True
    )
    assert tally.formats["messages"]["success"] == 1
    assert list(tally.seen) == ["messages: JSON lines; object with 'id', 'data', 'ok'"]


@pytest.mark.parametrize("column", ["message=x", "messages", "messages="])
def test_a_column_of_no_known_name_is_told_with_the_names_there_are(
    tmp_path: Path, column: str
) -> None:
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(ConfigError, match=r"--column .*NAME is one of messages, tools"):
        import_trajectories(tmp_path / "x.json", into=tmp_path / "r", columns=[column], quiet=True)


def test_a_key_that_is_no_pattern_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(ConfigError, match="--label-key"):
        import_trajectories(tmp_path / "x.json", into=tmp_path / "r", label_key="(", quiet=True)


ROW = {"messages": CHAT, "tools": [TOOL], "resolved": True}


def saved(folder: Path, form: str) -> Path:
    """A data set of one row, as a form."""
    data = Dataset.from_list([ROW], on_mixed_types="use_json")
    if form == "parquet":
        data.to_parquet(folder / "x.parquet")
        return folder / "x.parquet"
    if form == "structs":
        pq.write_table(pa.Table.from_pylist([ROW]), folder / "x.parquet")
        return folder / "x.parquet"
    if form == "text":
        texts = {key: json.dumps(value) for key, value in ROW.items()}
        pq.write_table(pa.Table.from_pylist([texts]), folder / "x.parquet")
        return folder / "x.parquet"
    if form == "split":
        DatasetDict({"train": data}).save_to_disk(folder / "disk")
    else:
        data.save_to_disk(folder / "disk")
    return folder / "disk"


@pytest.mark.parametrize("form", ["parquet", "structs", "text", "disk", "split"])
def test_a_data_set_in_any_form_is_read_and_its_descriptions_are_told_apart(
    tmp_path: Path, form: str
) -> None:
    entries = list(imported([saved(tmp_path, form)]))
    (found,) = (one for one in entries if isinstance(one, Imported))
    assert outline(found) == OUTLINE
    assert found.trajectory.tools == (TOOL,)
    assert found.trajectory.outcome == "success"
    assert {one.reason for one in entries if isinstance(one, Rejection)} <= {"description"}
