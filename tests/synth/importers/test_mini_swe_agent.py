"""mini-SWE-agent trajectories, written by hand after what version 2 of the program saves."""

from pathlib import Path
from typing import Any

import pytest

from synth.schemas.outcome import Fault, Termination
from synth.schemas.text.messages import to_messages
from synth.schemas.trajectory import Source, Usage
from tests.synth.importers.imports import read_document

START = [{"role": "system", "content": "S", "extra": {}}, {"role": "user", "content": "Fix it."}]
END = {
    "role": "exit",
    "content": "diff",
    "extra": {"exit_status": "Submitted", "submission": "diff"},
}


def run(
    messages: list[dict[str, Any]], status: str | None = "Submitted", **info: Any
) -> dict[str, Any]:
    config = {
        "model": {"model_name": "m-1", "model_kwargs": {"temperature": 0.0}},
        "agent": {"step_limit": 2},
        "environment": {},
    }
    about = {
        "model_stats": {"instance_cost": 0.5, "api_calls": 1},
        "config": config,
        "mini_version": "2.1.0",
        "exit_status": status,
    }
    return {
        "info": {**about, **info},
        "messages": [*START, *messages],
        "trajectory_format": "mini-swe-agent-1.1",
    }


def call(name: str) -> dict[str, Any]:
    return {
        "id": name,
        "type": "function",
        "function": {"name": "bash", "arguments": '{"command": "ls"}'},
    }


def test_in_text_format_only_the_task_and_interruptions_are_the_users(tmp_path: Path) -> None:
    messages = [
        {
            "role": "assistant",
            "content": "```bash\nls\n```",
            "extra": {"cost": 0.25, "response": {"usage": {"prompt_tokens": 7}}},
        },
        {"role": "user", "content": "a.py"},
        {
            "role": "user",
            "content": "Not so fast.",
            "extra": {"interrupt_type": "UserInterruption"},
        },
        {"role": "assistant", "content": "```bash\nsubmit\n```"},
        END,
    ]
    (found,), bad = read_document(tmp_path, run(messages))
    trajectory = found.trajectory
    assert (bad, found.task.goal, trajectory.system_prompt, trajectory.model) == (
        [],
        "Fix it.",
        "S",
        "m-1",
    )
    heard = [(o.content, o.source) for turn in trajectory.turns for o in turn.observations]
    assert heard == [
        ("a.py", Source.TOOL),
        ("Not so fast.", Source.USER),
        ("diff", Source.TOOL),
    ]
    assert trajectory.turns[0].usage == Usage(7, 0, 0, 1, 0.25)
    assert (trajectory.totals.cost_usd, trajectory.sampling, trajectory.source.split(":")[0]) == (
        0.5,
        {"temperature": 0.0},
        "mini_swe_agent",
    )  # type: ignore[union-attr]


def test_parallel_calls_and_their_results_are_one_turn_and_the_submission_answers_the_last_call(
    tmp_path: Path,
) -> None:
    messages = [
        {"role": "assistant", "content": None, "tool_calls": [call("a"), call("b")]},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": "b", "content": "2"},
        {"role": "assistant", "content": None, "tool_calls": [call("c")]},
        END,
    ]
    (found,), _ = read_document(tmp_path, run(messages))
    assert [[(o.call_id, o.content) for o in t.observations] for t in found.trajectory.turns] == [
        [("a", "1"), ("b", "2")],
        [("c", "diff")],
    ]


def test_responses_become_turns_and_encrypted_reasoning_stays_raw(tmp_path: Path) -> None:
    output = [
        {
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "in short"}],
            "encrypted_content": "eA==",
        },
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Looking."}],
        },
        {"type": "function_call", "call_id": "a", "name": "bash", "arguments": '{"command": "ls"}'},
        {"type": "function_call", "call_id": "b", "name": "bash", "arguments": "{broken"},
    ]
    messages = [
        {
            "object": "response",
            "output": output,
            "usage": {"input_tokens": 9, "output_tokens": 3},
            "extra": {"cost": 1.0},
        },
        {"type": "function_call_output", "call_id": "a", "output": "1"},
        {
            "type": "function_call_output",
            "call_id": "b",
            "output": [{"type": "input_text", "text": "2"}],
        },
    ]
    (found,), _ = read_document(tmp_path, run(messages))
    (turn,) = found.trajectory.turns
    assert (turn.content, turn.thought, turn.usage) == ("Looking.", None, Usage(9, 3, 0, 1, 1.0))
    assert [(c.call_id, c.parse_error is None) for c in turn.tool_calls] == [
        ("a", True),
        ("b", False),
    ]
    assert [(o.call_id, o.content) for o in turn.observations] == [("a", "1"), ("b", "2")]
    assert "eA==" in str(turn.raw)


@pytest.mark.parametrize(
    ("status", "calls", "termination", "fault", "outcome"),
    [
        ("Submitted", 1, Termination.AGENT_STOP, None, "unknown"),
        ("LimitsExceeded", 2, Termination.TURN_LIMIT, None, "truncated"),
        ("LimitsExceeded", 1, Termination.TOKEN_LIMIT, None, "truncated"),
        ("TimeExceeded", 1, Termination.TIME_LIMIT, None, "truncated"),
        ("RepeatedFormatError", 1, Termination.STUCK, None, "truncated"),
        ("RateLimitError", 1, Termination.FAULT, Fault.MODEL, "invalid"),
        ("CalledProcessError", 1, Termination.FAULT, Fault.INFRASTRUCTURE, "invalid"),
        ("", 1, Termination.UNREPORTED, None, "unknown"),
        (None, 1, Termination.UNREPORTED, None, "unknown"),
    ],
)
def test_how_a_run_ended_decides_the_outcome(
    tmp_path: Path,
    status: str | None,
    calls: int,
    termination: Termination,
    fault: Fault | None,
    outcome: str,
) -> None:
    value = run(
        [{"role": "assistant", "content": "x"}],
        status,
        model_stats={"instance_cost": 0.1, "api_calls": calls},
    )
    (found,), _ = read_document(tmp_path, value)
    trajectory = found.trajectory
    assert (trajectory.termination, trajectory.fault, trajectory.outcome.value) == (
        termination,
        fault,
        outcome,
    )


def test_what_the_harness_says_at_the_end_is_no_part_of_the_conversation(tmp_path: Path) -> None:
    value = run(
        [{"role": "assistant", "content": "x"}, {"role": "exit", "content": "boom", "extra": {}}],
        "IndexError",
    )
    (found,), _ = read_document(tmp_path, value)
    assert [m["role"] for m in to_messages(found.trajectory)] == ["system", "user", "assistant"]


def test_an_instance_of_swe_bench_is_stamped(tmp_path: Path) -> None:
    value = {**run([{"role": "assistant", "content": "x"}]), "instance_id": "django__django-11099"}
    (found,), _ = read_document(tmp_path, value)
    assert found.trajectory.benchmark == "swe-bench/test"


def test_a_run_without_an_answer_is_a_rejection(tmp_path: Path) -> None:
    good, bad = read_document(tmp_path, run([], "AuthenticationError"))
    assert (good, [r.reason for r in bad]) == ([], ["no_turns"])
