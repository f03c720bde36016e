"""Claude Code sessions, written by hand: no real log is at hand, and the format is described by its
readers only.
"""

import json
from pathlib import Path

from synth.importers.load import Opened, opened
from synth.importers.records import Imported
from synth.schemas.trajectory import Source, Usage
from tests.synth.importers.claude_code_lines import line, text
from tests.synth.importers.claude_code_session import SESSION
from tests.synth.importers.imports import read_lines


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
