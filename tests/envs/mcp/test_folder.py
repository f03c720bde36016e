"""A folder as state: its facts, its bytes and back, and the goal that its difference makes."""

import tempfile
from pathlib import Path
from random import Random
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.envs.echo_check import state_verdicts
from synth.envs.mcp.goals import write_goal
from synth.envs.mcp.proposing import proposed
from synth.envs.mcp.settings import McpConfig, McpSettings
from synth.envs.mcp.state.folder import facts_of, packed, start_digest, unpacked
from synth.envs.mcp.state.walk import emptied
from synth.envs.mcp.world import make_tasks
from synth.schemas.check import Check, Facts, RowPredicate
from synth.schemas.environment import Opening
from synth.schemas.errors import ConfigError
from synth.schemas.reverse import Draft, NoGoal, Window

IGNORE = McpConfig().ignore
TOOL = {
    "type": "function",
    "function": {
        "name": "write",
        "parameters": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "many": {"type": "integer"}},
            "required": ["path"],
        },
    },
}


def window(start: Facts, end: Facts) -> Window:
    return Window("mcp", {}, 0, Opening(None, (), ()), (), (), start, end)


def test_files_folders_and_records_are_facts_whose_paths_have_three_parts(tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    (tmp_path / "a b" / "c.txt").write_text("hi\n")
    (tmp_path / "bin").write_bytes(b"\0\xff")
    (tmp_path / "m.jsonl").write_text(
        '{"name": "Ada", "tags": ["x"]}\n\n{"name": "Bob"}\n{"name": "Bob"}\n'
    )
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("x")
    facts = facts_of(tmp_path, IGNORE)
    assert facts["folder/a%20b/is"] == "there"
    assert facts["file/a%20b%2Fc.txt/content"] == "hi\n"
    assert "file/bin/digest" in facts
    records = [
        (path.rpartition("/")[2], value)
        for path, value in facts.items()
        if path.startswith("record/")
    ]
    assert sorted(str(value) for column, value in records if column != "@file") == [
        "Ada",
        "Bob",
        "Bob",
        '["x"]',
    ]
    assert not any("git" in path for path in facts)
    assert all(len(path.split("/")) == 3 for path in facts)


def test_lines_in_another_order_are_the_same_facts_and_a_file_that_is_no_json_lines_is_text(
    tmp_path: Path,
) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text('{"n": 1}\n{"n": 2}\n')
    before = facts_of(tmp_path, ())
    path.write_text('{"n": 2}\n{"n": 1}\n')
    assert facts_of(tmp_path, ()) == before
    path.write_text('{"n": 2}\nnot json')
    assert facts_of(tmp_path, ()) == {
        "file/m.jsonl/content": '{"n": 2}\nnot json',
        "file/m.jsonl/@path": "m.jsonl",
    }


@settings(max_examples=20)  # each makes and removes folders
@given(
    st.dictionaries(
        st.text(alphabet="abcXYZ .-_%", min_size=1, max_size=8).filter(lambda n: n.strip(". ")),
        st.binary(max_size=40),
        max_size=5,
    )
)
def test_a_folder_put_aside_comes_back_the_same(files: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as place:
        one, other = Path(place, "one"), Path(place, "other")
        one.mkdir()
        other.mkdir()
        for name, blob in files.items():
            (one / name).write_bytes(blob)
        (other / "left over").write_text("x")
        unpacked(packed(one), other)
        assert facts_of(other, ()) == facts_of(one, ())
        assert packed(other) == packed(one)
        emptied(one)
        assert facts_of(one, ()) == {}


def test_a_goal_tells_every_row_that_differs_and_nothing_of_how_it_was_done() -> None:
    start: Facts = {
        "file/old.txt/content": "x",
        "file/a.txt/content": "1",
        f"record/{quote('m.jsonl')}:k/name": "Ada",
    }
    end: Facts = {
        "file/a.txt/content": '2 "two"',
        "folder/new/is": "there",
        f"record/{quote('m.jsonl')}:l/name": "Bob",
    }
    draft = write_goal(window(start, end))
    assert isinstance(draft, Draft)
    assert draft.goal == (
        r'The file a.txt is to hold exactly this text, given as a JSON string: "2 \"two\"". The '
        r"file old.txt is to be gone. "
        'There is to be a folder new. The record with name "Ada" is to be gone from m.jsonl. '
        'In m.jsonl there is to be a record with name "Bob".'
    )
    assert "a.txt" not in draft.structure
    assert write_goal(window(start, start)) == NoGoal("undone_again")
    assert write_goal(window({}, {"file/x/digest": "ff"})) == NoGoal("content_not_tellable")


def test_a_check_on_a_folder_counts_records_whatever_their_keys() -> None:
    check = Check(required=(RowPredicate("record", {"name": "Ada"}, 2),))
    two: Facts = {"record/m:a/name": "Ada", "record/m:b/name": "Ada"}
    assert all(part.passed for part in state_verdicts(check, {}, two))
    assert not state_verdicts(check, {}, {"record/m:a/name": "Ada"})[0].passed
    assert not state_verdicts(check, {}, {**two, "file/x/content": "more"})[1].passed


def test_calls_are_drawn_from_the_schema_and_from_what_is_there() -> None:
    facts: Facts = {"file/a.txt/content": "x", "folder/sub/is": "there"}
    calls = [call for seed in range(20) for call in proposed([TOOL], facts, Random(seed))]
    assert proposed([TOOL], facts, Random(1)) == proposed([TOOL], facts, Random(1))
    assert all(
        call.parse_error is None and isinstance(call.parsed()["path"], str) for call in calls
    )
    assert {"/world/a.txt", "/world/sub"} & {call.parsed()["path"] for call in calls}
    assert all(isinstance(call.parsed().get("many", 1), int) for call in calls)


def test_a_command_given_as_one_text_and_a_folder_that_is_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="give a list"):
        McpSettings.model_validate({"command": "npx server"})
    with pytest.raises(ConfigError, match="is no folder"):
        _ = McpSettings(command=("x",), folder=str(tmp_path / "nothing")).start


def test_own_tasks_come_from_a_file_and_are_pinned_to_the_start_folder(tmp_path: Path) -> None:
    (tmp_path / "start").mkdir()
    (tmp_path / "start" / "a").write_text("x")
    tasks = tmp_path / "tasks.yaml"
    tasks.write_text(
        '- goal: Make b.\n  check: {required: [{table: file, where: {id: b, content: "y"}}]}\n'
    )
    own = McpSettings(command=("x",), folder=str(tmp_path / "start"), task_file=str(tasks))
    (task,) = make_tasks(own, {}, 1, 10)
    assert (task.goal, task.env_config["digest"]) == ("Make b.", start_digest(tmp_path / "start"))
    assert make_tasks(own, {}, 1, 10) == make_tasks(own, {}, 1, 10)
    tasks.write_text("- goal: 3\n")
    with pytest.raises(ConfigError, match="is no list of goals"):
        make_tasks(own, {}, 1, 1)
    assert make_tasks(McpSettings(command=("x",)), {}, 1, 10) == ()
