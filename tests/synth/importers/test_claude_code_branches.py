"""Sub-agents, branches, replies of the program and broken lines in sessions of Claude Code."""

import json
from pathlib import Path
from typing import Any

from synth.importers.records import Imported, Rejection
from synth.schemas.outcome import Fault
from synth.schemas.text.messages import to_messages
from synth.schemas.trajectory import SampledBy
from tests.synth.importers.claude_code_lines import line, text
from tests.synth.importers.claude_code_session import SESSION, result
from tests.synth.importers.imports import imported, read_lines


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
