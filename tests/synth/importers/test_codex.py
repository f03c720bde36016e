"""Codex sessions, written by hand after the program's own types: no real log is at hand."""

import json
from pathlib import Path
from typing import Any

import pytest

from synth.schemas.text.messages import to_messages
from synth.schemas.trajectory import Source, Usage
from tests.synth.importers.imports import read_lines


def line(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-03-01T10:00:00.000Z", "type": kind, "payload": payload}


def item(kind: str, **fields: Any) -> dict[str, Any]:
    return line("response_item", type=kind, **fields)


def said(role: str, words: str) -> dict[str, Any]:
    return item(
        "message",
        role=role,
        content=[{"type": "output_text" if role == "assistant" else "input_text", "text": words}],
    )


def tokens(sent: int, given: int) -> dict[str, Any]:
    usage = {
        "input_tokens": sent,
        "cached_input_tokens": 1,
        "output_tokens": given,
        "total_tokens": sent + given,
    }
    return line(
        "event_msg",
        type="token_count",
        info={"last_token_usage": usage, "total_token_usage": {"total_tokens": sent * 1000}},
    )


SESSION = [
    line(
        "session_meta",
        id="s1",
        cwd="/work",
        cli_version="0.90.0",
        source="cli",
        base_instructions={"text": "You are a coder."},
    ),
    said("developer", "<permissions instructions>read only</permissions instructions>"),
    said("user", "<environment_context>\n<cwd>/work</cwd>\n</environment_context>"),
    line("turn_context", model="m-1", effort="high", cwd="/work", approval_policy="never"),
    said("user", "What is in a and b?"),
    line("event_msg", type="user_message", message="What is in a and b?"),
    item(
        "reasoning",
        summary=[{"type": "summary_text", "text": "Two files"}],
        encrypted_content="eA==",
    ),
    said("assistant", "Reading."),
    item("function_call", name="shell", arguments='{"command": ["cat", "a"]}', call_id="c1"),
    item(
        "custom_tool_call",
        name="apply_patch",
        input="*** Begin Patch",
        call_id="c2",
        status="completed",
    ),
    item(
        "local_shell_call",
        call_id="c3",
        status="completed",
        action={"type": "exec", "command": ["ls"]},
    ),
    tokens(100, 20),
    item("function_call_output", call_id="c1", output="A"),
    item(
        "custom_tool_call_output", call_id="c2", output=[{"type": "input_text", "text": "patched"}]
    ),
    item("function_call_output", call_id="c3", output={"content": "denied", "success": False}),
    item("ghost_snapshot", ghost_commit={}),
    item("reasoning", summary=[], content=[{"type": "reasoning_text", "text": "So it is A."}]),
    said("assistant", "A, and no b."),
    tokens(200, 5),
    tokens(200, 5),
]


def test_what_the_model_gave_before_the_world_answered_is_one_turn(tmp_path: Path) -> None:
    (found,), bad = read_lines(tmp_path, SESSION)
    trajectory = found.trajectory
    first, second = trajectory.turns
    assert (bad, found.task.goal, trajectory.model, trajectory.sampling) == (
        [],
        "What is in a and b?",
        "m-1",
        {"reasoning_effort": "high"},
    )
    assert (trajectory.system_prompt, trajectory.outcome.value, trajectory.tools) == (
        "You are a coder.",
        "unknown",
        (),
    )
    assert [(c.call_id, c.name, c.arguments) for c in first.tool_calls] == [
        ("c1", "shell", '{"command": ["cat", "a"]}'),
        ("c2", "apply_patch", '{"input": "*** Begin Patch"}'),
        ("c3", "local_shell", '{"type": "exec", "command": ["ls"]}'),
    ]
    assert [(o.call_id, o.content, o.error) for o in first.observations] == [
        ("c1", "A", False),
        ("c2", "patched", False),
        ("c3", "denied", True),
    ]
    assert (first.content, second.content) == ("Reading.", "A, and no b.")


def test_summaries_and_encrypted_reasoning_are_no_thoughts(tmp_path: Path) -> None:
    (found,), _ = read_lines(tmp_path, SESSION)
    first, second = found.trajectory.turns
    assert (first.thought, second.thought) == (None, "So it is A.")
    assert json.loads(str(first.raw))[0]["encrypted_content"] == "eA=="


def test_what_the_program_says_in_the_users_name_is_the_environments(tmp_path: Path) -> None:
    (found,), _ = read_lines(tmp_path, SESSION)
    assert [(o.source, o.name) for o in found.trajectory.opening] == [
        (Source.ENVIRONMENT, "system"),
        (Source.ENVIRONMENT, None),
        (Source.USER, None),
    ]


def test_token_counts_belong_to_the_call_before_them_and_repeats_count_once(tmp_path: Path) -> None:
    (found,), _ = read_lines(tmp_path, SESSION)
    assert [t.usage for t in found.trajectory.turns] == [Usage(100, 20, 1, 1), Usage(200, 5, 1, 1)]
    assert found.trajectory.totals == Usage(300, 25, 2, 2)


def test_a_compaction_begins_a_stretch_that_opens_with_what_replaced_the_history(
    tmp_path: Path,
) -> None:
    history = [
        said("user", "What is in a and b?")["payload"],
        said("user", "Summary: A.")["payload"],
        said("assistant", "Kept words.")["payload"],
    ]
    lines = [
        *SESSION,
        line("compacted", message="Summary: A.", replacement_history=history),
        said("user", "And c?"),
        said("assistant", "No c."),
    ]
    (before, after), bad = read_lines(tmp_path, lines)
    assert (bad, [str(f.trajectory.source).split(":")[2] for f in (before, after)]) == (
        [],
        ["main/0", "main/1"],
    )
    assert [o.content for o in after.trajectory.opening] == ["What is in a and b?", "Summary: A."]
    assert [(t.content, t.mask) for t in after.trajectory.turns] == [
        ("Kept words.", "copied_context"),
        ("No c.", None),
    ]
    (_, after), _ = read_lines(
        tmp_path,
        [
            *SESSION,
            line("compacted", message="Summary: A."),
            said("user", "And c?"),
            said("assistant", "No c."),
        ],
    )
    # what the user had asked stays beside the summary
    assert [(o.source, o.content) for o in after.trajectory.opening] == [
        (Source.USER, "What is in a and b?"),
        (Source.ENVIRONMENT, "Summary: A."),
        (Source.USER, "And c?"),
    ]


def test_turns_that_rest_on_an_encrypted_summary_or_a_providers_tool_carry_no_loss(
    tmp_path: Path,
) -> None:
    history = [said("user", "Hi.")["payload"], {"type": "compaction", "encrypted_content": "eA=="}]
    search = item("web_search_call", status="completed", action={"type": "search", "query": "c"})
    (before, after), _ = read_lines(
        tmp_path,
        [
            *SESSION,
            search,
            line("compacted", message="", replacement_history=history),
            said("assistant", "C."),
        ],
    )
    assert [t.mask for t in before.trajectory.turns] == [None, "provider_run"]
    assert [t.mask for t in after.trajectory.turns] == ["after_unseen_content"]


def test_rounds_that_the_user_took_back_are_left_out_and_counted(tmp_path: Path) -> None:
    lines = [
        *SESSION,
        said("user", "Delete a."),
        said("assistant", "Deleted."),
        line("event_msg", type="thread_rolled_back", num_turns=1),
    ]
    (found,), _ = read_lines(
        tmp_path, [*lines, said("user", "Keep a."), said("assistant", "Kept.")]
    )
    assert [t.content for t in found.trajectory.turns] == ["Reading.", "A, and no b.", "Kept."]
    assert [(m.metric, m.value) for m in found.marks] == [("rolled_back_messages", 2.0)]


def test_the_older_form_with_bare_items_is_read(tmp_path: Path) -> None:
    first = {"id": "s1", "timestamp": "2025-07-01T10:00:00Z", "instructions": None}
    bare = [one["payload"] for one in SESSION if one["type"] == "response_item"]
    (found,), bad = read_lines(tmp_path, [first, {"record_type": "state"}, *bare])
    (newer,), _ = read_lines(tmp_path, SESSION[1:])
    assert bad == []
    assert to_messages(found.trajectory) == to_messages(newer.trajectory)


def test_a_sub_agents_session_is_told_from_a_users(tmp_path: Path) -> None:
    meta = line(
        "session_meta", id="s2", source={"subagent": {"thread_spawn": {"parent_thread_id": "s1"}}}
    )
    (found,), _ = read_lines(tmp_path, [meta, *SESSION[1:]])
    assert found.task.env == "codex/subagent"


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (item("telepathy"), "unknown_line"),
        ({"type": "telepathy", "payload": {}}, "unknown_line"),
        ({"type": "response_item", "payload": 7}, "bad_record"),
        (item("message", role="user", content=7), "bad_record"),
        (line("event_msg", type="thread_rolled_back"), "bad_record"),
        ([1], "bad_record"),
    ],
)
def test_a_line_that_cannot_be_used_is_named_and_the_others_are_read(
    tmp_path: Path, odd: Any, reason: str
) -> None:
    (found,), bad = read_lines(tmp_path, [*SESSION, odd])
    assert (len(found.trajectory.turns), [(r.locator, r.reason) for r in bad]) == (
        2,
        [("line21", reason)],
    )


def test_a_session_without_an_answer_is_one_rejection(tmp_path: Path) -> None:
    good, bad = read_lines(tmp_path, SESSION[:6])
    assert (good, [(r.locator, r.reason) for r in bad]) == ([], [("file", "no_turns")])
