"""SFT exports, read back with the library that trainers read them with."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from schemas.errors import ConfigError
from schemas.messages import to_messages
from schemas.outcome import Fault, Outcome, Termination
from schemas.trajectory import Authorship, Observation, SampledBy, Source, ToolCall, Trajectory, Turn
from schemas.verdict import Verdict
from synth.exporters.sft import ExportReport, export_sft
from synth.exporters.sft_rows import SftSettings

FIND = {"type": "function", "function": {"name": "find", "parameters": {"type": "object", "properties": {"limit": {"maximum": 0.3}}}}}
SHIP = {"type": "function", "function": {"name": "ship", "description": "Versand – 📦", "parameters": {}}}
Pairs = list[tuple[Trajectory, Mapping[str, Verdict]]]


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def call(arguments: str, call_id: str = "c1", name: str = "find") -> ToolCall:
    return ToolCall.received(call_id, name, arguments)


def trajectory(identity: str = "t1", **fields: Any) -> Trajectory:
    """A solved trajectory with one call and one answer."""
    turns = (
        Turn(index=0, content=None, thought="look first", tool_calls=(call('{"q": "ß", "n": 2}'),), observations=(result(),)),
        Turn(index=1, content="Here it is."),
    )
    defaults: dict[str, Any] = {
        "trajectory_id": identity,
        "slot_id": f"slot-{identity}",
        "attempt": 0,
        "task_id": "k",
        "env": "e",
        "trial": 0,
        "synthesizer": "rollout",
        "policy": "p",
        "outcome": Outcome.SUCCESS,
        "termination": Termination.DONE,
        "system_prompt": "Help.",
        "tools": (FIND, SHIP),
        "opening": (Observation("Where is it?", Source.USER),),
        "turns": turns,
        "reward": 1.0,
    }
    return Trajectory(**{**defaults, **fields})


def result(content: str = "row", call_id: str = "c1") -> Observation:
    return Observation(content, Source.TOOL, call_id, "find")


def load(folder: Path, cache: Path) -> list[dict[str, Any]]:
    """The rows as `datasets` gives them to a trainer."""
    import datasets

    datasets.disable_progress_bars()
    return list(datasets.load_dataset(str(folder), split="train", cache_dir=str(cache)))


def export(tmp_path: Path, *trajectories: Trajectory, **chosen: Any) -> tuple[list[dict[str, Any]], ExportReport]:
    report = export_sft([(t, {}) for t in trajectories], tmp_path / "out", SftSettings(**{"keep_masked": True, **chosen}))
    return load(tmp_path / "out", tmp_path / "cache"), report


def test_messages_come_back_as_the_model_saw_them_with_arguments_as_objects(tmp_path: Path) -> None:
    (row,), report = export(tmp_path, trajectory())
    expected = to_messages(trajectory())
    expected[2]["tool_calls"][0]["function"]["arguments"] = {"q": "ß", "n": 2}
    assert row["messages"] == expected
    assert row["tools"] == [FIND, SHIP]
    assert (row["trained_turns"], row["masked_turns"]) == ([0, 1], [])
    assert (report.rows, report.trained_turns, dict(report.left_out), report.notes) == (1, 2, {}, ())


def test_arguments_stay_the_received_text_where_that_is_asked_for(tmp_path: Path) -> None:
    (row,), _ = export(tmp_path, trajectory(), arguments="json")
    assert row["messages"] == to_messages(trajectory())


def test_thoughts_can_be_left_out(tmp_path: Path) -> None:
    (row,), _ = export(tmp_path, trajectory(), thoughts=False, arguments="json")
    assert row["messages"] == to_messages(trajectory(), thoughts=False)


def test_lineage_stands_in_columns(tmp_path: Path) -> None:
    branch = trajectory("t2", parent_id="t1", model="m", weights_id="w", synthesizer="reflect_retry", pivot_turn=1)
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
        "reward": 1.0,
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
    assert [arguments_of(r) for r in rows] == [[{"city": "Rom"}, {"limit": 3}], [{"limit": "three", "filter": {"x": None}}, {}], []]
    assert rows[2]["messages"][-1] == {"role": "assistant", "content": "Hi"}


def test_broken_arguments_stay_text_in_a_masked_turn_and_are_counted(tmp_path: Path) -> None:
    turns = (Turn(index=0, tool_calls=(call('{"q": '),), observations=(result("no JSON"),)), Turn(index=1, content="Sorry."))
    (row,), report = export(tmp_path, trajectory(turns=turns))
    assert arguments_of(row) == ['{"q": ']
    assert (row["trained_turns"], row["masked_turns"]) == ([1], [{"turn": 0, "reason": "parse_error"}])
    assert (report.unparsed_calls, dict(report.masked)) == (1, {"parse_error": 1})


def test_a_number_that_the_loader_would_change_stays_text_in_a_masked_turn(tmp_path: Path) -> None:
    turns = (Turn(index=0, tool_calls=(call('{"x": 123456789012345678901}'),)), Turn(index=1, content="Done."))
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
    assert any(note.startswith("WARNING: 1 rows have assistant messages without loss") for note in report.notes)


def test_what_users_say_after_the_last_turn_is_cut_and_nothing_else(tmp_path: Path) -> None:
    user = Observation("###STOP###", Source.USER)
    turns = (Turn(index=0, content="a", observations=(user,)), Turn(index=1, tool_calls=(call("{}"),), observations=(result(), user, user)))
    (row,), _ = export(tmp_path, trajectory(turns=turns), arguments="json")
    assert row["messages"] == to_messages(trajectory(turns=turns))[:-2]


def test_each_trajectory_that_is_left_out_is_counted_by_its_reason(tmp_path: Path) -> None:
    kept = Verdict(True, "solved")
    pairs: Pairs = [
        (trajectory("ok"), {"solved": kept, "pdi": Verdict(None, "undefined")}),
        (trajectory("f", outcome=Outcome.FAILURE, reward=0.0), {}),
        (trajectory("u", outcome=Outcome.UNKNOWN, reward=None), {}),
        (trajectory("l", outcome=Outcome.TRUNCATED, termination=Termination.TURN_LIMIT), {}),
        (trajectory("i", outcome=Outcome.INVALID, termination=Termination.FAULT, fault=Fault.MODEL, reward=None), {}),
        (trajectory("s", authorship=Authorship.SCRIPTED), {}),
        (trajectory("b", benchmark="tau-bench/retail"), {}),
        (trajectory("v", tools=(FIND,)), {"solved": kept, "secrets": Verdict(False, "email")}),
        (trajectory("n", tools=()), {}),
        (trajectory("x", tools=({"maximum": 10**30},)), {}),
        (trajectory("m", turns=(Turn(index=0, content="x", mask="m"),)), {}),
        (trajectory("e", turns=()), {}),
    ]
    report = export_sft(pairs, tmp_path / "out", SftSettings(require_tools=True))
    assert report.left_out == {
        "outcome:failure": 1,
        "outcome:unknown": 1,
        "outcome:truncated": 1,
        "outcome:invalid": 1,
        "scripted": 1,
        "benchmark": 1,
        "secrets:email": 1,
        "no_tool_schemas": 1,
        "inexact_tool_schemas": 1,
        "no_trained_turn": 2,
    }
    assert report.rows + report.left_out.total() == len(pairs)
    assert [row["trajectory_id"] for row in load(tmp_path / "out", tmp_path / "cache")] == ["ok"]


def first_line_after_metadata(folder: Path) -> str:
    return (folder / "README.md").read_text().split("\n---\n", 1)[1].splitlines()[0]


@pytest.mark.parametrize(
    ("chosen", "fields", "warning"),
    [
        ({"include_scripted": True}, {"authorship": Authorship.SCRIPTED}, "WARNING: 1 of 1 rows were written by scripts"),
        ({"allow_benchmark": True}, {"benchmark": "tau-bench/retail"}, "WARNING: 1 of 1 rows are attempts at public benchmarks"),
        ({"outcomes": ("failure",)}, {"outcome": Outcome.FAILURE, "reward": 0.0}, "WARNING: 1 of 1 rows are no successes"),
        ({}, {"tools": ()}, "WARNING: 1 of 1 rows call tools whose schemas their source did not record"),
    ],
)
def test_what_is_taken_in_against_the_default_is_the_first_line_of_the_card(
    tmp_path: Path, chosen: dict[str, Any], fields: dict[str, Any], warning: str
) -> None:
    rows, _ = export(tmp_path, trajectory(**fields), **chosen)
    assert len(rows) == 1
    assert first_line_after_metadata(tmp_path / "out").startswith(warning)


def test_rows_whose_masks_the_form_cannot_say_are_left_out_unless_asked_for(tmp_path: Path) -> None:
    broken = (Turn(index=0, tool_calls=(ToolCall.received("c0", "find", "{oops"),)), Turn(index=1, content="Done."))
    report = export_sft([(trajectory(), {}), (trajectory("b", turns=broken), {})], tmp_path / "out")
    assert (report.rows, dict(report.left_out)) == (1, {"masked_turns": 1})
    assert [row["masked_turns"] for row in load(tmp_path / "out", tmp_path / "cache")] == [[]]


def test_faults_cannot_be_asked_for_and_unknown_settings_are_errors() -> None:
    with pytest.raises(ValidationError, match="a fault is no label"):
        SftSettings(outcomes=(Outcome.INVALID,))
    with pytest.raises(ValidationError, match="Extra inputs"):
        SftSettings.model_validate({"outcome": "success"})
    with pytest.raises(ConfigError, match="form 'yaml' is not known for kind sft; allowed: trl"):
        export_sft([], Path("unused"), SftSettings(form="yaml"))


def test_an_export_without_rows_is_a_typed_shard_and_says_so(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    report = export_sft([(trajectory(authorship=Authorship.SCRIPTED), {})], tmp_path / "out")
    table = pq.read_table(tmp_path / "out" / "train-00000.parquet")
    assert (table.num_rows, table.schema.names[:2]) == (0, ["messages", "tools"])
    assert report.notes[0].startswith("No row is left")
    assert "include_scripted" in report.notes[1]


def test_trajectories_are_drawn_shard_by_shard(tmp_path: Path) -> None:
    complete_shards: list[int] = []

    def drawn() -> Iterator[tuple[Trajectory, Mapping[str, Verdict]]]:
        for i in range(10):
            complete_shards.append(len(list(tmp_path.glob(".out.partial-*/train-*.parquet"))))
            yield trajectory(str(i)), {}

    report = export_sft(drawn(), tmp_path / "out", SftSettings(rows_per_shard=3))
    # when a row is drawn, the shard before its own is already a file, and its own is begun only after its first row
    assert complete_shards == [0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert [p.name for p in report.written if p.suffix == ".parquet"] == [f"train-0000{i}.parquet" for i in range(4)]
    assert [r["trajectory_id"] for r in load(tmp_path / "out", tmp_path / "cache")] == [str(i) for i in range(10)]


utf8 = st.characters(codec="utf-8")
json_value = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(utf8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(utf8, max_size=5), inner, max_size=3),
    max_leaves=8,
)
objects = st.lists(st.dictionaries(st.text(utf8, max_size=5), json_value, max_size=3), min_size=1, max_size=4)


@settings(max_examples=25, deadline=None)
@given(objects, st.text(utf8))
def test_what_a_model_wrote_is_read_back(tmp_path_factory: pytest.TempPathFactory, arguments: list[dict[str, Any]], content: str) -> None:
    texts = [json.dumps(a) for a in arguments]
    turns = (*with_arguments("a", *texts).turns, Turn(index=1, content=content), Turn(index=2, content="."))
    (row,), _ = export(tmp_path_factory.mktemp("any"), trajectory(turns=turns))
    masked = [m["turn"] for m in row["masked_turns"] if m["reason"] == "inexact_arguments"]
    for text, read in zip(texts, arguments_of(row), strict=True):
        assert read == json.loads(text) or (read == text and masked == [0])
    assert row["messages"][-2]["content"] == content
