"""Agents that log events: OpenHands (server, SDK, evaluation), `codex exec`, SPARK with memos."""

from pathlib import Path
from typing import Any

import pytest

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
from tests.synth.importers.shapes.stream_records import STREAM

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


def test_a_stream_of_codex_exec(tmp_path: Path) -> None:
    (found,), bad = read_lines(tmp_path, STREAM)
    assert bad == []
    first, second, third = found.trajectory.turns
    assert (first.thought, first.tool_calls[0].parsed()) == ("Look.", {"command": "ls"})
    assert (second.content, second.observations[0].error) == ("Once more.", True)
    assert (third.content, third.usage and third.usage.prompt_tokens) == ("Done.", 9)
