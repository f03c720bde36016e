"""Agents that log events: OpenHands (server, SDK, evaluation), `codex exec`, SPARK with memos."""

import json
from pathlib import Path
from typing import Any

import pytest

from synth import import_trajectories
from synth.importers.streams.memos import memo_of
from synth.ledger.ledger import StoredLedger
from tests.synth.importers.imports import read_document, read_lines
from tests.synth.importers.shapes.dialogues import (
    ASKED,
    CHAT,
    FOUND,
    OUTLINE,
    SYSTEM,
    TOLD,
    outline,
)

CALL = CHAT[2]["tool_calls"][0]


def meta(response: str = "r1") -> dict[str, Any]:
    """What the server keeps of the model's call."""
    message = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    return {
        "function_name": "find_order",
        "tool_call_id": "c1",
        "model_response": {"id": response, "model": "m-1", "choices": [{"message": message}]},
    }


SERVER: list[dict[str, Any]] = [
    {"id": 0, "source": "agent", "action": "system", "args": {"content": SYSTEM, "tools": None}},
    {"id": 1, "source": "user", "action": "message", "args": {"content": ASKED}},
    {
        "id": 2,
        "source": "environment",
        "observation": "agent_state_changed",
        "content": "",
        "extras": {"agent_state": "running"},
    },
    {
        "id": 3,
        "source": "agent",
        "action": "call_tool_mcp",
        "args": {"order": 7, "thought": ""},
        "tool_call_metadata": meta(),
    },
    {
        "id": 4,
        "source": "agent",
        "observation": "mcp",
        "content": FOUND,
        "cause": 3,
        "tool_call_metadata": meta(),
        "extras": {},
    },
    {"id": 5, "source": "agent", "action": "message", "args": {"content": TOLD}},
]
ACTION = {
    "kind": "ActionEvent",
    "id": "e3",
    "source": "agent",
    "thought": [],
    "action": {"kind": "FindAction", "order": 7},
    "tool_name": "find_order",
    "tool_call_id": "c1",
    "tool_call": {
        "id": "c1",
        "name": "find_order",
        "arguments": '{"order": 7}',
        "origin": "completion",
    },
    "llm_response_id": "r1",
}
SDK: list[dict[str, Any]] = [
    {
        "kind": "SystemPromptEvent",
        "source": "agent",
        "system_prompt": {"type": "text", "text": SYSTEM},
        "tools": [],
    },
    {
        "kind": "MessageEvent",
        "source": "user",
        "llm_message": {"role": "user", "content": [{"type": "text", "text": ASKED}]},
    },
    ACTION,
    {
        "kind": "ObservationEvent",
        "source": "environment",
        "tool_name": "find_order",
        "tool_call_id": "c1",
        "action_id": "e3",
        "observation": {"content": [{"type": "text", "text": FOUND}], "is_error": False},
    },
    {
        "kind": "MessageEvent",
        "source": "agent",
        "llm_message": {"role": "assistant", "content": [{"type": "text", "text": TOLD}]},
    },
]


@pytest.mark.parametrize(
    "value",
    [
        SERVER,
        SDK,
        {"instance_id": "a__b-1", "instruction": "Fix.", "history": SERVER, "metadata": {}},
        {"instance_id": "a__b-1", "history": SDK},
        {"instance_id": "a__b-1", "history": [SERVER[:2], SERVER[2:4], SERVER[4:]]},
        {"instance_id": "a__b-1", "history": [SERVER[:4], [*SERVER[4:], None]]},
        {"id": "x", "trajectory": SERVER},
    ],
)
def test_events_of_openhands_are_one_conversation(tmp_path: Path, value: Any) -> None:
    (found,), bad = read_document(tmp_path, value)
    assert bad == []
    assert outline(found) == OUTLINE
    assert (found.trajectory.source or "").startswith("openhands:")


@pytest.mark.parametrize("events", [SERVER, SDK])
def test_events_as_lines_are_one_conversation(tmp_path: Path, events: list[Any]) -> None:
    (found,), bad = read_lines(tmp_path, events)
    assert bad == []
    assert outline(found) == OUTLINE


def test_actions_of_one_response_are_one_turn_and_an_error_answers_its_call(tmp_path: Path) -> None:
    other = {
        **ACTION,
        "id": "e4",
        "tool_call_id": "c2",
        "tool_call": {**ACTION["tool_call"], "id": "c2"},
    }  # type: ignore[dict-item]
    error = {
        "kind": "AgentErrorEvent",
        "source": "agent",
        "tool_name": "f",
        "tool_call_id": "c2",
        "error": "bad",
    }
    (found,), bad = read_document(tmp_path, [*SDK[:2], ACTION, other, SDK[3], error, SDK[4]])
    assert bad == []
    first, _ = found.trajectory.turns
    assert [call.call_id for call in first.tool_calls] == ["c1", "c2"]
    assert [(one.call_id, one.error) for one in first.observations] == [("c1", False), ("c2", True)]


@pytest.mark.parametrize(
    ("more", "outcome"),
    [
        ({"test_result": {"report": {"resolved": True}}}, "success"),
        ({"report": {"resolved": False}}, "failure"),
        ({"test_result": {"git_patch": "x"}}, "unknown"),
        ({"test_result": {"report": {"resolved": False, "error_eval": True}}}, "unknown"),
        ({"error": "AgentStuckInLoopError: stuck"}, "truncated"),
        ({"error": "connection reset"}, "invalid"),
    ],
)
def test_an_evaluation_of_openhands_has_its_verdict(
    tmp_path: Path, more: dict[str, Any], outcome: str
) -> None:
    (found,), _ = read_document(tmp_path, {"instance_id": "a__b-1", "history": SERVER, **more})
    assert found.trajectory.outcome == outcome


def command(number: int, text: str, output: str, code: int = 0) -> dict[str, Any]:
    """A command that has ended."""
    item = {"id": f"item_{number}", "type": "command_execution", "command": text}
    return {
        "type": "item.completed",
        "item": {**item, "aggregated_output": output, "exit_code": code},
    }


def words(number: int, kind: str, text: str) -> dict[str, Any]:
    """Words of the agent."""
    return {"type": "item.completed", "item": {"id": f"item_{number}", "type": kind, "text": text}}


STREAM: list[dict[str, Any]] = [
    {"type": "thread.started", "thread_id": "t"},
    {"type": "turn.started"},
    words(0, "reasoning", "Look."),
    {"type": "item.started", "item": {"id": "item_1", "type": "command_execution"}},
    command(1, "ls", "a.py"),
    words(2, "agent_message", "Once more."),
    command(3, "cat a.py", "no", 1),
    words(4, "agent_message", "Done."),
    {"type": "turn.completed", "usage": {"input_tokens": 9, "output_tokens": 4}},
]


def test_a_stream_of_codex_exec(tmp_path: Path) -> None:
    (found,), bad = read_lines(tmp_path, STREAM)
    assert bad == []
    first, second, third = found.trajectory.turns
    assert (first.thought, first.tool_calls[0].parsed()) == ("Look.", {"command": "ls"})
    assert (second.content, second.observations[0].error) == ("Once more.", True)
    assert (third.content, third.usage and third.usage.prompt_tokens) == ("Done.", 9)


MEMO = """## Exploration Memo (1 failed attempts)

### Attempts Log
- #1: read the file, wrong column

### Commands From Last Attempt
```
cat a.py
python a.py
```

### Verified Facts
- a.py exists
- column b is a date

### Current Error Pattern
It counts the header.

### Next Strategy
Skip the header.
"""


def attempt(number: int, success: bool) -> dict[str, Any]:
    """A row of SPARK."""
    return {
        "type": "execution_result",
        "attempt": number,
        "success": success,
        "reward": float(success),
        "status": "PASS" if success else "FAIL",
        "agent_stdout_full": "".join(json.dumps(one) + "\n" for one in STREAM),
        "test_summary": "FAILED:\n  ✗ test_a.py::test_one\n",
        "retry_injection": MEMO if number else "",
    }


def reflection(number: int) -> dict[str, Any]:
    return {"type": "reflect_call", "attempt": number, "memo_before": "", "memo_after": MEMO}


SNAPSHOT = {
    "type": "pdi_snapshot",
    "attempt": 0,
    "step": 0,
    "weighted_pdi": 0.5,
    "triggered": False,
}
SUMMARY = {
    "type": "task_summary",
    "task_name": "count",
    "success": True,
    "exploration_config": {"model": "m"},
}
SPARK = [
    attempt(0, False),
    reflection(0),
    SNAPSHOT,
    attempt(1, False),
    reflection(1),
    attempt(2, True),
    SUMMARY,
]


def test_attempts_of_spark_are_a_chain_with_its_memos(tmp_path: Path) -> None:
    found, bad = read_lines(tmp_path, SPARK)
    assert bad == []
    trials = [one.trajectory for one in found]
    assert [one.outcome.value for one in trials] == ["failure", "failure", "success"]
    assert [one.parent_id for one in trials] == [None, *(one.trajectory_id for one in trials[:2])]
    assert [one.guidance for one in trials] == [None, MEMO, MEMO]
    assert len({one.task_id for one in trials}) == 1
    told = [mark.detail for one in found for mark in one.marks if mark.metric == "reflection"]
    assert [one["retry"] for one in told if isinstance(one, dict)] == [
        one.trajectory_id for one in trials[1:]
    ]
    indices = [mark.value for one in found for mark in one.marks if mark.metric == "pdi"]
    assert indices == [0.5, None]


def test_the_filter_pdi_finds_the_imported_chain(tmp_path: Path) -> None:
    log = tmp_path / "trajectory.jsonl"
    log.write_text("".join(json.dumps(one) + "\n" for one in SPARK))
    run = tmp_path / "run"
    import_trajectories(log, into=run, quiet=True)
    scores = StoredLedger(str(run)).frame("scores").collect().to_dicts()
    keys = {
        json.loads(one["detail"])["key"] for one in scores if one["metric"] in ("pdi", "reflection")
    }
    assert len(keys) == 1


def test_a_memo_by_its_headings() -> None:
    memo = memo_of(MEMO, "FAILED:\n  ✗ test_a.py::test_one\nPASSED:\n  ✓ test_a.py::test_two")
    assert memo is not None
    assert memo.commands == ("cat a.py", "python a.py")
    assert memo.verified_facts == ("a.py exists", "column b is a date")
    assert (memo.next_strategy, memo.error_pattern) == ("Skip the header.", "It counts the header.")
    assert memo.failed_tests == ("test_a.py::test_one",)


@pytest.mark.parametrize("text", [None, "", 3, "no headings", "## Exploration Memo"])
def test_a_text_without_sections_is_no_memo(text: Any) -> None:
    assert memo_of(text) is None
