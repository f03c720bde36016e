"""What reads badly in rows of foreign chats: told, taken out, or left out."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from synth.exporters.folder.dataset_folder import DatasetFolder
from synth.exporters.kind import RowSettings
from synth.exporters.kinds.readable import is_json_object, marks, outside, readable
from synth.schemas.trajectory import Observation, Source, Trajectory
from tests.synth.exporters.solved import export, export_sft, result, trajectory


def thinking() -> Trajectory:
    opening = (Observation("<think>I want it all.</think>\nWhere is it?", Source.USER),)
    return trajectory("thinks", opening=opening)


def ending() -> Trajectory:
    """Ends in a call that was answered, and a user's word behind it."""
    one = trajectory("ends")
    first = one.turns[0]
    said = Observation("Bye.", Source.USER)
    return replace(one, turns=(replace(first, observations=(result(), said)),))


def test_what_a_simulator_thought_is_taken_out_or_its_row_left_out(tmp_path: Path) -> None:
    (row,), report = export(tmp_path / "strip", thinking(), user_thoughts="strip")
    assert [m["content"] for m in row["messages"] if m["role"] == "user"] == ["Where is it?"]
    both = (thinking(), trajectory("plain"))
    (row,), report = export(tmp_path / "drop", *both, user_thoughts="drop")
    assert (row["trajectory_id"], report.left_out) == ("plain", {"private_thoughts": 1})


def test_thoughts_that_stay_are_told_of(tmp_path: Path) -> None:
    _, report = export(tmp_path, thinking(), control_tokens="keep")
    assert any("1 of 1 rows hold what a user's simulator thought" in one for one in report.notes)


def test_an_answer_of_a_tool_at_the_end_is_told_of_and_taken_away(tmp_path: Path) -> None:
    (row,), report = export(tmp_path / "keep", ending())
    assert row["messages"][-1]["role"] == "tool"
    assert any(note.startswith("1 of 1 rows end in an answer of a tool") for note in report.notes)
    (row,), report = export(tmp_path / "strip", ending(), tool_endings="strip")
    assert row["messages"][-1]["role"] == "assistant"
    assert not any("answer of a tool" in note for note in report.notes)
    _, report = export(tmp_path / "drop", ending(), trajectory("plain"), tool_endings="drop")
    assert report.left_out == {"ends_in_tool_answer": 1}


def test_a_chat_without_a_system_prompt_is_told_of_and_left_out_where_one_is_needed(
    tmp_path: Path,
) -> None:
    bare = trajectory("bare", system_prompt=None)
    _, report = export(tmp_path / "kept", bare, trajectory("whole"))
    assert any(note.startswith("1 of 2 rows have no system prompt") for note in report.notes)
    rows, report = export(tmp_path / "left", bare, trajectory("whole"), require_prompt=True)
    assert [row["trajectory_id"] for row in rows] == ["whole"]
    assert report.left_out == {"no_system_prompt": 1}


def test_tools_stand_in_only_where_the_source_recorded_none() -> None:
    tools = ({"type": "function", "function": {"name": "find", "description": "Inferred"}},)
    bare, whole = trajectory("bare", tools=()), trajectory("whole")
    settings = RowSettings(infer_tools=True)
    assert readable(bare, settings, {("e", "Help."): tools}).tools == tools
    assert readable(whole, settings, {("e", "Help."): tools}).tools == whole.tools
    assert readable(bare, RowSettings(), {("e", "Help."): tools}).tools == ()


BEGIN, END = marks()[0]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"a{BEGIN}b{END}c", "ac"),
        (f"{BEGIN}b{END}c{BEGIN}d{END}", "c"),
        (f"thought by itself{END}c", "c"),
        (f"c\n{BEGIN}never ended", "c\n"),
        (f"What is {BEGIN} in my page?", f"What is {BEGIN} in my page?"),
        ("c", "c"),
    ],
)
def test_what_stands_outside_thoughts(text: str, left: str) -> None:
    assert outside(text, BEGIN, END) == left


@given(st.lists(st.sampled_from([BEGIN, END, "x", " "]), max_size=30))
def test_no_thought_that_ends_is_left(parts: list[str]) -> None:
    assert END not in outside("".join(parts), BEGIN, END).partition(BEGIN)[2]


@pytest.mark.parametrize(
    "said",
    [
        "<Thinking>\nvague\n</Thinking>\n\nWhere is it?",
        "<reasoning>vague</reasoning>Where is it?",
        "Thought:\nI must not reveal it.\n\nUser Response:\nWhere is it?",
    ],
)
def test_thoughts_are_known_by_other_marks_too(tmp_path: Path, said: str) -> None:
    one = trajectory("t", opening=(Observation(said, Source.USER),))
    (row,), _ = export(tmp_path / "strip", one, user_thoughts="strip")
    assert [m["content"] for m in row["messages"] if m["role"] == "user"] == ["Where is it?"]
    _, report = export(tmp_path / "keep", one)
    assert any("1 of 1 rows hold what a user's simulator thought" in one for one in report.notes)


def test_a_word_about_a_mark_is_no_thought_and_stays(tmp_path: Path) -> None:
    asked = Observation(f"What is {BEGIN} in my page?", Source.USER)
    one = trajectory("t", opening=(asked,))
    (row,), _ = export(tmp_path, one, user_thoughts="strip", control_tokens="keep")
    assert [m["content"] for m in row["messages"] if m["role"] == "user"] == [asked.content]


def test_thoughts_among_what_tokenizers_read_are_told_with_their_setting(tmp_path: Path) -> None:
    _, report = export(tmp_path, thinking(), trajectory("plain"))
    (note,) = (note for note in report.notes if note.startswith("Left out: 1 as `control_tokens"))
    assert "user_thoughts: strip takes out what a user's simulator thought" in note


def test_thoughts_that_leave_no_row_are_told_with_their_setting(tmp_path: Path) -> None:
    report = export_sft([(thinking(), {})], DatasetFolder(tmp_path / "out"))
    assert "user_thoughts: strip takes out what a user's simulator thought" in str(report.empty)


def test_an_empty_system_prompt_is_none(tmp_path: Path) -> None:
    bare = trajectory("bare", system_prompt=" ")
    _, report = export(tmp_path / "kept", bare, trajectory("whole"))
    assert any(note.startswith("1 of 2 rows have no system prompt") for note in report.notes)
    rows, _ = export(tmp_path / "left", bare, trajectory("whole"), require_prompt=True)
    assert [row["trajectory_id"] for row in rows] == ["whole"]


def test_words_in_a_json_envelope_are_told_of(tmp_path: Path) -> None:
    one = trajectory("wrapped")
    *before, last = one.turns
    wrapped = replace(last, content='{"message": "It is here."}')
    _, report = export(tmp_path, replace(one, turns=(*before, wrapped)), trajectory("plain"))
    (note,) = (note for note in report.notes if "JSON object" in note)
    assert note.startswith("1 of 2 rows")


@given(st.text(max_size=40))
def test_only_an_object_is_one(text: str) -> None:
    assert not is_json_object(f"[{text}]")
    assert is_json_object(json.dumps({"a": text}))
