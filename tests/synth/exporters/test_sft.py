"""SFT exports, read back with the library that trainers read them with."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.exporters.folder.dataset_folder import DatasetFolder
from synth.exporters.kind import RowSettings
from synth.schemas.filtering import Verdict
from synth.schemas.trajectory import Observation, SampledBy, Source, Trajectory, Turn
from tests.synth.exporters.solved import (
    FIND,
    SHIP,
    call,
    export,
    export_sft,
    load,
    result,
    trajectory,
    written,
)


def test_messages_come_back_as_the_model_saw_them_with_arguments_as_objects(tmp_path: Path) -> None:
    (row,), report = export(tmp_path, trajectory())
    expected = written(trajectory())
    expected[2]["tool_calls"][0]["function"]["arguments"] = {"q": "ß", "n": 2}
    assert row["messages"] == expected
    assert row["tools"] == [FIND, SHIP]
    assert (row["trained_turns"], row["masked_turns"]) == ([0, 1], [])
    assert (report.rows, report.trained_turns, dict(report.left_out), report.notes) == (
        1,
        2,
        {},
        (),
    )


def test_arguments_stay_the_received_text_where_that_is_asked_for(tmp_path: Path) -> None:
    (row,), _ = export(tmp_path, trajectory(), arguments="json")
    assert row["messages"] == written(trajectory())


def test_thoughts_can_be_left_out(tmp_path: Path) -> None:
    (row,), _ = export(tmp_path, trajectory(), thoughts=False, arguments="json")
    assert row["messages"] == written(trajectory(), thoughts=False)


def test_lineage_stands_in_columns(tmp_path: Path) -> None:
    branch = trajectory(
        "t2", parent_id="t1", model="m", weights_id="w", synthesizer="reflect_retry", pivot_turn=1
    )
    (row,), _ = export(tmp_path, branch)
    lineage = {key: value for key, value in row.items() if key not in ("messages", "tools")}
    assert lineage == {
        "trajectory_id": "t2",
        "task_id": "k",
        "slot_id": "slot-t2",
        "parent_id": "t1",
        "synthesizer": "reflect_retry",
        "policy": "p",
        "model": "m",
        "authorship": "model",
        "outcome": "success",
        "benchmark": None,
        "split": None,
        "evidence": "declared",
        "reward": 1.0,
        "gold_informed": False,
        "prompt_token_ids": None,
        "completion_token_ids": None,
        "logprobs": None,
        "trained_turns": [1],
        "masked_turns": [{"turn": 0, "reason": "before_pivot"}],
    }


def arguments_of(row: dict[str, Any]) -> list[Any]:
    return [c["function"]["arguments"] for m in row["messages"] for c in m.get("tool_calls", [])]


def with_arguments(identity: str, *arguments: str) -> Trajectory:
    calls = tuple(call(text, f"c{i}") for i, text in enumerate(arguments))
    results = tuple(result(call_id=c.call_id) for c in calls)
    return trajectory(identity, turns=(Turn(index=0, tool_calls=calls, observations=results),))


def test_no_row_gets_the_keys_of_another(tmp_path: Path) -> None:
    rows, _ = export(
        tmp_path,
        with_arguments("a", '{"city": "Rom"}', '{"limit": 3}'),
        with_arguments("b", '{"limit": "three", "filter": {"x": null}}', "{}"),
        trajectory("c", turns=(Turn(index=0, content="Hi"),), tools=()),
    )
    assert [arguments_of(r) for r in rows] == [
        [{"city": "Rom"}, {"limit": 3}],
        [{"limit": "three", "filter": {"x": None}}, {}],
        [],
    ]
    assert rows[2]["messages"][-1] == {"role": "assistant", "content": "Hi"}


def test_broken_arguments_stay_text_in_a_masked_turn_and_are_counted(tmp_path: Path) -> None:
    turns = (
        Turn(index=0, tool_calls=(call('{"q": '),), observations=(result("no JSON"),)),
        Turn(index=1, content="Sorry."),
    )
    (row,), report = export(tmp_path, trajectory(turns=turns))
    assert arguments_of(row) == ['{"q": ']
    assert (row["trained_turns"], row["masked_turns"]) == (
        [1],
        [{"turn": 0, "reason": "parse_error"}],
    )
    assert (report.unparsed_calls, dict(report.masked)) == (1, {"parse_error": 1})


def test_a_number_that_the_loader_would_change_stays_text_in_a_masked_turn(tmp_path: Path) -> None:
    turns = (
        Turn(index=0, tool_calls=(call('{"x": 123456789012345678901}'),), observations=(result(),)),
        Turn(index=1, content="Done."),
    )
    (row,), _ = export(tmp_path, trajectory(turns=turns))
    assert arguments_of(row) == ['{"x": 123456789012345678901}']
    assert row["masked_turns"] == [{"turn": 0, "reason": "inexact_arguments"}]


def test_what_the_policy_did_not_write_carries_no_loss(tmp_path: Path) -> None:
    turns = (
        Turn(index=0, content="Hello!", sampled_by=SampledBy.CANNED, mask="canned_greeting"),
        Turn(index=1, content="a", sampled_by=SampledBy.INJECTED),
        Turn(index=2, content="b", injected="wrong_id"),
        Turn(index=3, content="c", sampled_by=SampledBy.REPLAYED),
        Turn(index=4, content="d", mask="failed_excursion"),
        Turn(index=5, content=""),
        Turn(index=6, content="mine"),
        Turn(index=7, content="e", sampled_by=SampledBy.HUMAN),
    )
    (row,), report = export(tmp_path, trajectory(turns=turns))
    assert row["trained_turns"] == [6]
    assert [m["reason"] for m in row["masked_turns"]] == [
        "canned_greeting",
        "injected",
        "injected",
        "replayed",
        "failed_excursion",
        "empty",
        "human",
    ]
    assert any(
        note.startswith("WARNING: 1 rows have assistant messages without loss")
        for note in report.notes
    )


def test_what_users_say_after_the_last_turn_is_cut_and_nothing_else(tmp_path: Path) -> None:
    user = Observation("###STOP###", Source.USER)
    turns = (
        Turn(index=0, content="a", observations=(user,)),
        Turn(index=1, tool_calls=(call("{}"),), observations=(result(), user, user)),
    )
    (row,), _ = export(tmp_path, trajectory(turns=turns), arguments="json")
    assert row["messages"] == written(trajectory(turns=turns))[:-2]


def test_trajectories_are_drawn_shard_by_shard(tmp_path: Path) -> None:
    complete_shards: list[int] = []

    def drawn() -> Iterator[tuple[Trajectory, Mapping[str, Verdict]]]:
        for i in range(10):
            complete_shards.append(len(list(tmp_path.glob(".out.partial-*/train-*.parquet"))))
            yield trajectory(str(i)), {}

    report = export_sft(
        drawn(), DatasetFolder(tmp_path / "out"), RowSettings(rows_per_shard=3, unroll="whole")
    )
    # when a row is drawn, the shard before its own is already a file, and its own is begun only
    # after its first row
    assert complete_shards == [0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    shards = [name.rpartition("-") for name in report.written if name.endswith(".parquet")]
    assert [number for _, _, number in shards] == [f"0000{i}.parquet" for i in range(4)]
    assert len({digest for digest, _, _ in shards}) == 1
    assert [r["trajectory_id"] for r in load(tmp_path / "out", tmp_path / "cache")] == [
        str(i) for i in range(10)
    ]


utf8 = st.characters(codec="utf-8")
json_value = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(utf8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(utf8, max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
objects = st.lists(
    st.dictionaries(st.text(utf8, max_size=5), json_value, max_size=3), min_size=1, max_size=4
)


@pytest.mark.slow
@settings(max_examples=25)
@given(objects, st.text(utf8))
def test_what_a_model_wrote_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, arguments: list[dict[str, Any]], content: str
) -> None:
    texts = [json.dumps(a) for a in arguments]
    turns = (
        *with_arguments("a", *texts).turns,
        Turn(index=1, content=content),
        Turn(index=2, content="."),
    )
    (row,), _ = export(tmp_path_factory.mktemp("any"), trajectory(turns=turns))
    masked = [m["turn"] for m in row["masked_turns"] if m["reason"] == "inexact_arguments"]
    for text, read in zip(texts, arguments_of(row), strict=True):
        assert read == json.loads(text) or (read == text and masked == [0])
    assert row["messages"][-2]["content"] == content
