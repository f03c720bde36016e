"""Claude Code sessions, written by hand: no real log is at hand, and the format is described by its
readers only.
"""

import json
from pathlib import Path
from typing import Any

from synth.importers.load import Opened, opened
from synth.importers.records import Imported, Rejection
from synth.schemas.messages import to_messages
from synth.schemas.outcome import Fault
from synth.schemas.trajectory import SampledBy, Source, Usage
from tests.synth.importers.imports import imported, read_lines


def line(
    kind: str, uuid: str, parent: str | None, content: Any = None, **fields: Any
) -> dict[str, Any]:
    """A line of a session; `reply`, `model` and `usage` go into its message."""
    inside = {key: fields.pop(key) for key in ("id", "model", "usage") if key in fields}
    message = (
        {"message": {"role": kind, "content": content, **inside}}
        if kind in ("user", "assistant")
        else {}
    )
    shared = {
        "isSidechain": False,
        "sessionId": "s1",
        "cwd": "/work",
        "version": "2.0.1",
        "timestamp": "2026-03-01T10:00:00.000Z",
    }
    return {"type": kind, "uuid": uuid, "parentUuid": parent, **shared, **message, **fields}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def use(name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": "Read", "input": given}


def result(name: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": name, "content": content, **fields}


USAGE = {
    "input_tokens": 3,
    "cache_creation_input_tokens": 20,
    "cache_read_input_tokens": 100,
    "output_tokens": 1,
}
SESSION = [
    {"type": "summary", "summary": "Reading files", "leafUuid": "z"},
    {"type": "file-history-snapshot", "messageId": "u1", "snapshot": {}},
    line("user", "u0", None, "Caveat: the messages below ...", isMeta=True),
    line("user", "u1", "u0", "What is in a and b?"),
    line(
        "assistant",
        "a1",
        "u1",
        [{"type": "thinking", "thinking": "Two files.", "signature": "c2ln"}],
        id="m1",
        model="m-1",
        usage=USAGE,
    ),
    line("assistant", "a2", "a1", [text("Reading.")], id="m1", model="m-1", usage=USAGE),
    line("assistant", "a3", "a2", [use("t1", path="a")], id="m1", model="m-1", usage=USAGE),
    line("user", "r1", "a3", [result("t1", "A")], toolUseResult={"file": "a"}),
    line(
        "assistant",
        "a4",
        "a3",
        [use("t2", path="b")],
        id="m1",
        model="m-1",
        usage={**USAGE, "output_tokens": 40},
    ),
    line("user", "r2", "a4", [result("t2", [text("no such file")], is_error=True)]),
    line("assistant", "a5", "r2", [text("A, and no b.")], id="m2", model="m-1", usage=USAGE),
    line("system", "s1", "a5", subtype="turn_duration"),
]


def test_lines_of_one_reply_are_one_turn_with_parallel_calls_although_results_stand_between_them(
    tmp_path: Path,
) -> None:
    (found,), bad = read_lines(tmp_path, SESSION)
    trajectory = found.trajectory
    first, second = trajectory.turns
    assert (bad, found.task.goal, trajectory.model) == ([], "What is in a and b?", "m-1")
    assert (first.content, first.thought, second.content) == (
        "Reading.",
        "Two files.",
        "A, and no b.",
    )
    assert [(c.call_id, c.name, c.arguments) for c in first.tool_calls] == [
        ("t1", "Read", '{"path": "a"}'),
        ("t2", "Read", '{"path": "b"}'),
    ]
    assert [(o.call_id, o.content, o.error) for o in first.observations] == [
        ("t1", "A", False),
        ("t2", "no such file", True),
    ]
    assert json.loads(str(first.raw)) == [
        {"type": "thinking", "thinking": "Two files.", "signature": "c2ln"}
    ]
    assert (trajectory.outcome.value, trajectory.system_prompt, trajectory.tools) == (
        "unknown",
        None,
        (),
    )


def test_a_reply_is_counted_once_with_its_last_usage(tmp_path: Path) -> None:
    (found,), _ = read_lines(tmp_path, SESSION)
    assert found.trajectory.turns[0].usage == Usage(123, 40, 100, 1)
    assert found.trajectory.totals == Usage(246, 41, 200, 2)


def test_what_the_program_says_in_the_users_name_is_the_environments(tmp_path: Path) -> None:
    lines = [
        line("user", "u1", None, "Caveat: ...", isMeta=True),
        line("user", "u2", "u1", "<local-command-stdout>ok</local-command-stdout>"),
        line("user", "u3", "u2", "Go on."),
        line("assistant", "a1", "u3", [text("Well,")], id="m1"),
        line("user", "u4", "a1", [text("[Request interrupted by user]")]),
    ]
    (found,), _ = read_lines(tmp_path, lines)
    assert [o.source for o in found.trajectory.opening] == [
        Source.ENVIRONMENT,
        Source.ENVIRONMENT,
        Source.USER,
    ]
    assert [o.source for o in found.trajectory.turns[0].observations] == [Source.ENVIRONMENT]


def test_a_compaction_begins_a_stretch_that_opens_with_the_summary(tmp_path: Path) -> None:
    lines = [
        *SESSION,
        line("system", "b1", None, subtype="compact_boundary", logicalParentUuid="s1"),
        line(
            "user",
            "u9",
            "b1",
            "This session continues: the user asked ...",
            isCompactSummary=True,
            isVisibleInTranscriptOnly=True,
        ),
        line("user", "u10", "u9", "And c?"),
        line("assistant", "a10", "u10", [text("No c.")], id="m9", model="m-2"),
    ]
    (before, after), bad = read_lines(tmp_path, lines)
    assert (bad, [str(f.trajectory.source).split(":")[2] for f in (before, after)]) == (
        [],
        ["main/0", "main/1"],
    )
    assert (len(before.trajectory.turns), len(after.trajectory.turns), after.trajectory.model) == (
        2,
        1,
        "m-2",
    )
    assert [(o.source, o.content[:12]) for o in after.trajectory.opening] == [
        (Source.ENVIRONMENT, "This session"),
        (Source.USER, "And c?"),
    ]
    assert after.task.goal == "And c?"


def test_a_stretch_that_was_compacted_before_the_model_answered_is_named(tmp_path: Path) -> None:
    lines = [
        *SESSION,
        line("system", "b1", None, subtype="compact_boundary", logicalParentUuid="s1"),
        line("user", "u9", "b1", "Summary.", isCompactSummary=True),
        line("system", "b2", None, subtype="compact_boundary", logicalParentUuid="u9"),
        line("user", "u10", "b2", "Shorter.", isCompactSummary=True),
        line("assistant", "a10", "u10", [text("Yes.")], id="m9"),
    ]
    good, bad = read_lines(tmp_path, lines)
    assert ([len(f.trajectory.turns) for f in good], [(r.locator, r.reason) for r in bad]) == (
        [2, 1],
        [("main/1", "no_turns")],
    )
    assert [o.content for o in good[1].trajectory.opening] == ["Shorter."]


def test_a_session_that_grew_keeps_the_ids_of_stretches_that_were_closed(tmp_path: Path) -> None:
    lines = [
        *SESSION,
        line("system", "b1", None, subtype="compact_boundary", logicalParentUuid="s1"),
        line("user", "u9", "b1", "Summary.", isCompactSummary=True),
        line("assistant", "a9", "u9", [text("Yes.")], id="m9"),
    ]
    (before,), _ = read_lines(tmp_path, SESSION)
    (first,) = [file.file for file in opened([tmp_path]) if isinstance(file, Opened)]
    read_lines(tmp_path, lines)
    (grown,) = [
        file
        for file in opened([tmp_path], known={(first.size, first.sha)})
        if isinstance(file, Opened)
    ]
    closed, _ = [entry.trajectory for entry in grown.entries if isinstance(entry, Imported)]
    assert closed.trajectory_id == before.trajectory.trajectory_id


def test_sub_agents_are_trajectories_of_their_own(tmp_path: Path) -> None:
    def side(
        kind: str, uuid: str, parent: str | None, content: Any, agent: str | None, **fields: Any
    ) -> dict[str, Any]:
        return line(
            kind,
            uuid,
            parent,
            content,
            isSidechain=True,
            **({"agentId": agent} if agent else {}),
            **fields,
        )

    lines = [
        *SESSION[:7],
        side("user", "x1", None, "Look for c.", None),
        side("assistant", "x2", "x1", [text("No c.")], None, id="n1"),
        side("user", "y1", None, "Look for d.", "k7"),
        side("assistant", "y2", "y1", [text("No d.")], "k7", id="n2"),
        *SESSION[7:],
    ]
    good, bad = read_lines(tmp_path, lines)
    assert bad == []
    assert [
        (str(f.trajectory.source).split(":")[2], f.task.env, f.task.goal, len(f.trajectory.turns))
        for f in good
    ] == [
        ("main/0", "claude_code", "What is in a and b?", 2),
        ("subagents/x1/0", "claude_code/subagent", "Look for c.", 1),
        ("subagents/k7/0", "claude_code/subagent", "Look for d.", 1),
    ]


def test_a_branch_that_the_user_went_back_on_is_a_rejection(tmp_path: Path) -> None:
    lines = [
        *SESSION,
        line("user", "v1", "a5", "Delete a."),
        line("assistant", "v2", "v1", [text("Deleted.")], id="m3"),
        line("user", "w1", "a5", "Keep a."),
        line("assistant", "w2", "w1", [text("Kept.")], id="m4"),
    ]
    (found,), bad = read_lines(tmp_path, lines)
    assert [t.content for t in found.trajectory.turns] == ["Reading.", "A, and no b.", "Kept."]
    assert [(r.locator, r.reason, r.detail) for r in bad] == [
        ("line13", "abandoned_branch", "2 messages that the user went back on")
    ]


def test_a_conversation_begun_anew_in_the_same_file_is_another_trajectory(tmp_path: Path) -> None:
    lines = [
        *SESSION,
        line("user", "v1", None, "Something else."),
        line("assistant", "v2", "v1", [text("Sure.")], id="m3"),
    ]
    good, _ = read_lines(tmp_path, lines)
    assert [(str(f.trajectory.source).split(":")[2], f.task.goal) for f in good] == [
        ("main/0", "What is in a and b?"),
        ("main.1/0", "Something else."),
    ]


def test_a_parent_that_is_not_in_the_file_does_not_lose_what_came_before(tmp_path: Path) -> None:
    lines = [
        *SESSION,
        line("user", "v1", "phantom", "And c?"),
        line("assistant", "v2", "v1", [text("No c.")], id="m3"),
    ]
    (found,), bad = read_lines(tmp_path, lines)
    assert (bad, len(found.trajectory.turns)) == ([], 3)


def test_lines_that_stand_twice_are_counted_and_read_once(tmp_path: Path) -> None:
    (found,), bad = read_lines(tmp_path, [*SESSION, *SESSION[2:4]])
    assert (len(found.trajectory.turns), [r.reason for r in bad]) == (
        2,
        ["repeated_line", "repeated_line"],
    )


def test_replies_of_the_program_carry_no_loss_and_a_session_that_an_api_error_ends_is_invalid(
    tmp_path: Path,
) -> None:
    error = line(
        "assistant",
        "e1",
        "a5",
        [text("API Error: 529 overloaded")],
        id="m3",
        model="<synthetic>",
        isApiErrorMessage=True,
    )
    (found,), _ = read_lines(tmp_path, [*SESSION, error])
    trajectory = found.trajectory
    assert (trajectory.outcome.value, trajectory.fault, trajectory.fault_detail) == (
        "invalid",
        Fault.MODEL,
        "API Error: 529 overloaded",
    )
    assert (trajectory.turns[2].mask, trajectory.turns[2].sampled_by, trajectory.model) == (
        "written_by_harness",
        SampledBy.CANNED,
        "m-1",
    )
    (found,), _ = read_lines(
        tmp_path,
        [
            *SESSION,
            error,
            line("user", "u9", "e1", "Again."),
            line("assistant", "a9", "u9", [text("Yes.")]),
        ],
    )
    assert (found.trajectory.outcome.value, [t.mask for t in found.trajectory.turns]) == (
        "unknown",
        [None, None, "written_by_harness", None],
    )


def test_turns_after_a_screenshot_carry_no_loss(tmp_path: Path) -> None:
    shot = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "AA=="},
    }
    lines = [
        *SESSION[:7],
        line("user", "r1", "a3", [result("t1", [text("done"), shot])]),
        line("assistant", "a9", "r1", [text("I see.")], id="m9"),
    ]
    (found,), _ = read_lines(tmp_path, lines)
    assert [t.mask for t in found.trajectory.turns] == [None, "after_unseen_content"]
    assert to_messages(found.trajectory)[-2]["content"] == "done\n[image left out on import]"


def test_a_broken_or_unknown_line_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "log"
    odd = [
        {"type": "telepathy", "uuid": "q"},
        {"type": "user", "uuid": "q2", "message": None},
        {"type": "user", "uuid": "q3", "message": 7},
    ]
    rows = [json.dumps(one) for one in [*SESSION, *odd]]
    path.write_text("\n".join([*rows, rows[3][:40]]), encoding="utf-8")
    found = list(imported([path]))
    good = [f for f in found if isinstance(f, Imported)]
    bad = [(f.locator, f.reason) for f in found if isinstance(f, Rejection)]
    assert [len(f.trajectory.turns) for f in good] == [2]
    assert bad == [
        ("line13", "unknown_line"),
        ("line14", "bad_record"),
        ("line15", "bad_record"),
        ("line16", "not_json"),
    ]


def test_a_session_without_a_reply_is_one_rejection(tmp_path: Path) -> None:
    for lines in (SESSION[:2], SESSION[:4]):
        good, bad = read_lines(tmp_path, lines)
        assert (good, [r.reason for r in bad]) == ([], ["no_turns"])


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
