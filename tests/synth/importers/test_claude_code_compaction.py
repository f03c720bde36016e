"""Sessions of Claude Code that were compacted, cleared or printed as a stream."""

from pathlib import Path
from typing import Any

from synth.schemas.trajectory import Source
from tests.synth.importers.claude_code_lines import line, text
from tests.synth.importers.imports import read_lines


def kept_lines() -> list[dict[str, Any]]:
    """A session that was compacted, with its last two messages kept beside the summary."""
    segment = {"headUuid": "u2", "anchorUuid": "s", "tailUuid": "a2"}
    return [
        line("user", "u1", None, "First?"),
        line("assistant", "a1", "u1", [text("One.")], id="m1"),
        line("user", "u2", "a1", "Second?"),
        line("assistant", "a2", "u2", [text("Two.")], id="m2"),
        line(
            "system",
            "b",
            None,
            subtype="compact_boundary",
            logicalParentUuid="a2",
            compactMetadata={"trigger": "auto", "preservedSegment": segment},
        ),
        line("user", "s", "b", "Summary.", isCompactSummary=True),
        line("user", "u3", "a2", "Third?"),
        line("assistant", "a3", "u3", [text("Three.")], id="m3"),
    ]


def test_messages_that_a_compaction_kept_stand_behind_its_summary(tmp_path: Path) -> None:
    (before, after), rejected = read_lines(tmp_path, kept_lines())
    assert rejected == []
    assert [turn.content for turn in before.trajectory.turns] == ["One.", "Two."]
    assert [one.content for one in after.trajectory.opening] == ["Summary.", "Second?"]
    assert [(turn.content, turn.mask) for turn in after.trajectory.turns] == [
        ("Two.", "copied_context"),
        ("Three.", None),
    ]
    assert after.trajectory.env == "claude_code/continued"


def test_a_kept_message_that_is_written_again_is_a_copy(tmp_path: Path) -> None:
    lines = kept_lines()
    again = lines.pop(3) | {"parentUuid": "s"}  # it stands behind the summary alone
    (_, after), _ = read_lines(tmp_path, [*lines[:5], again, *lines[5:]])
    masks = [(turn.content, turn.mask) for turn in after.trajectory.turns]
    assert masks == [("Two.", "copied_context"), ("Three.", None)]


def test_results_that_were_cleared_are_not_shown_to_what_came_next(tmp_path: Path) -> None:
    def call(name: str) -> dict[str, Any]:
        return {"type": "tool_use", "id": name, "name": "Read", "input": {}}

    def gave(name: str, words: str) -> list[dict[str, Any]]:
        return [{"type": "tool_result", "tool_use_id": name, "content": words}]

    metadata = {"trigger": "auto", "compactedToolIds": ["t1"], "tokensSaved": 9}
    lines = [
        line("user", "u1", None, "Read both."),
        line("assistant", "a1", "u1", [call("t1")], id="m1"),
        line("user", "r1", "a1", gave("t1", "old")),
        line("assistant", "a2", "r1", [call("t2")], id="m2"),
        line("user", "r2", "a2", gave("t2", "new")),
        line(
            "system",
            "b",
            "r2",
            subtype="microcompact_boundary",
            microcompactMetadata=metadata,
        ),
        line("assistant", "a3", "b", [text("Done.")], id="m3"),
    ]
    (before, after), _ = read_lines(tmp_path, lines)
    results = [[one.content for one in turn.observations] for turn in before.trajectory.turns]
    assert results == [["old"], ["new"]]
    results = [[one.content for one in turn.observations] for turn in after.trajectory.turns]
    assert results == [["[Old tool result content cleared]"], ["new"], []]
    masks = [turn.mask for turn in after.trajectory.turns]
    assert masks == ["copied_context", "copied_context", None]


def test_parts_of_what_a_user_said_are_one_message(tmp_path: Path) -> None:
    image = {"type": "image", "source": {"type": "base64", "data": "aGk="}}
    reminder = text("<system-reminder>Be kind.</system-reminder>")
    lines = [
        line("user", "u1", None, [text("What is"), image, reminder]),
        line("assistant", "a1", "u1", [text("A cat.")], id="m1"),
    ]
    ((found,), _) = read_lines(tmp_path, lines)
    assert [(one.source, one.content) for one in found.trajectory.opening] == [
        (Source.USER, "What is\n[image left out on import]"),
        (Source.ENVIRONMENT, "<system-reminder>Be kind.</system-reminder>"),
    ]


def streamed(kind: str, content: Any, parent: str | None = None, **more: Any) -> dict[str, Any]:
    """A line of what the program prints as it runs."""
    message = {"role": kind, "content": content, **({"id": more.pop("id")} if "id" in more else {})}
    about = {"session_id": more.pop("session", "s1"), "parent_tool_use_id": parent}
    return {"type": kind, "message": message, **about, **more}


def test_the_stream_that_the_program_prints_is_a_session_too(tmp_path: Path) -> None:
    def call(name: str, tool: str) -> dict[str, Any]:
        return {"type": "tool_use", "id": name, "name": tool, "input": {}}

    def gave(name: str, words: str) -> list[dict[str, Any]]:
        return [{"type": "tool_result", "tool_use_id": name, "content": words}]

    boundary = {"type": "system", "subtype": "compact_boundary", "session_id": "s1"}
    lines = [
        {"type": "system", "subtype": "init", "session_id": "s1", "tools": ["Task"]},
        streamed("user", "Count."),
        streamed("assistant", [text("I ask.")], id="m1"),
        streamed("assistant", [call("t1", "Task")], id="m1"),
        streamed("user", "count", "t1"),
        streamed("assistant", [call("t2", "Bash")], "t1", id="m2"),
        streamed("user", gave("t2", "3"), "t1"),
        streamed("user", gave("t1", "3 files")),
        boundary | {"compact_metadata": {"trigger": "auto"}},
        streamed("user", "Summary.", isSynthetic=True),
        streamed("assistant", [text("Three.")], id="m3"),
        {"type": "result", "subtype": "success", "session_id": "s1", "result": "Three."},
        {"type": "system", "subtype": "init", "session_id": "s2", "tools": []},
        streamed("user", "Another?", session="s2"),
        streamed("assistant", [text("Yes.")], session="s2", id="m4"),
    ]
    found, rejected = read_lines(tmp_path, lines)
    assert rejected == []
    told = [
        (
            one.trajectory.env,
            [(heard.source, heard.content) for heard in one.trajectory.opening],
            [turn.content for turn in one.trajectory.turns],
        )
        for one in found
    ]
    assert told == [
        ("claude_code", [(Source.USER, "Count.")], ["I ask."]),
        ("claude_code/continued", [(Source.ENVIRONMENT, "Summary.")], ["Three."]),
        ("claude_code/subagent", [(Source.USER, "count")], [None]),
        ("claude_code", [(Source.USER, "Another?")], ["Yes."]),
    ]
    assert [call.name for call in found[0].trajectory.turns[0].tool_calls] == ["Task"]
    assert [one.content for one in found[2].trajectory.turns[0].observations] == ["3"]


def test_a_summary_in_a_line_of_its_own_kind_opens_the_stretch(tmp_path: Path) -> None:
    lines = kept_lines()
    lines[4] = line("system", "b", None, subtype="compact_boundary", logicalParentUuid="a2")
    lines[5] = line("user", "s", "b", "Summary.") | {"type": "summary"}
    lines[6] |= {"parentUuid": "s"}
    (_, after), _ = read_lines(tmp_path, lines)
    assert [one.content for one in after.trajectory.opening] == ["Summary.", "Third?"]
