"""Messages of chat interfaces (Vercel AI SDK) come in as one turn per call of the model."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.importers.conversation import UNREAD_MASK
from synth.importers.frameworks.ui_messages import in_steps
from tests.synth.importers.imports import read_document
from tests.synth.importers.shapes.dialogues import ASKED, FOUND, TOLD, outline

GIVEN = json.loads(FOUND)
LEARNT = [
    ("user", ASKED),
    ("text", "I look."),
    ("call", "find_order", {"order": 7}),
    ("tool", FOUND, 0),
    ("text", TOLD),
]
INVOCATION = {
    "state": "result",
    "toolCallId": "c1",
    "toolName": "find_order",
    "args": {"order": 7},
    "result": GIVEN,
}
PARTS = {
    "v4": [
        {"type": "step-start"},
        {"type": "text", "text": "I look."},
        {"type": "tool-invocation", "toolInvocation": INVOCATION},
        {"type": "step-start"},
        {"type": "text", "text": TOLD},
    ],
    "v5": [
        {"type": "step-start"},
        {"type": "text", "text": "I look.", "state": "done"},
        {
            "type": "tool-find_order",
            "toolCallId": "c1",
            "state": "output-available",
            "input": {"order": 7},
            "output": GIVEN,
        },
        {"type": "step-start"},
        {"type": "text", "text": TOLD},
    ],
    "dynamic, no marks of steps": [
        {"type": "text", "text": "I look."},
        {
            "type": "dynamic-tool",
            "toolName": "find_order",
            "toolCallId": "c1",
            "state": "output-available",
            "input": {"order": 7},
            "output": GIVEN,
        },
        {"type": "text", "text": TOLD},
    ],
}


def _chat(*messages: Any) -> dict[str, Any]:
    asked = {"role": "user", "content": ASKED, "parts": [{"type": "text", "text": ASKED}]}
    return {"id": "chat-1", "messages": [asked, *messages]}


@pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("beside", [{}, {"content": "I look." + TOLD}, {"content": ""}])
def test_the_steps_of_a_reply_are_turns_of_their_own(
    tmp_path: Path, parts: list[Any], beside: dict[str, Any]
) -> None:
    reply = {"id": "m1", "role": "assistant", "parts": parts} | beside
    found, rejected = read_document(tmp_path, _chat(reply))
    assert (outline(found[0]), rejected) == (LEARNT, [])
    assert (found[0].trajectory.source or "").startswith("ai_sdk:")


def test_invocations_that_repeat_the_parts_are_counted_once(tmp_path: Path) -> None:
    reply = {"role": "assistant", "content": "", "parts": PARTS["v4"]}
    found, _ = read_document(tmp_path, _chat(reply | {"toolInvocations": [INVOCATION]}))
    assert outline(found[0]) == LEARNT


def test_the_oldest_form_has_invocations_alone(tmp_path: Path) -> None:
    reply = {"role": "assistant", "content": TOLD, "toolInvocations": [INVOCATION]}
    found, _ = read_document(tmp_path, _chat(reply))
    assert outline(found[0]) == [LEARNT[0], ("text", None), *LEARNT[2:]]


def test_a_call_that_failed_is_answered_by_an_error(tmp_path: Path) -> None:
    failed = PARTS["v5"][2] | {"state": "output-error", "errorText": "503"}
    del failed["output"]
    found, _ = read_document(tmp_path, _chat({"role": "assistant", "parts": [failed]}))
    told = found[0].trajectory.turns[0].observations[0]
    assert (told.content, told.error) == ("503", True)


def test_parallel_calls_of_one_step_are_one_turn(tmp_path: Path) -> None:
    second = PARTS["v5"][2] | {"toolCallId": "c2", "input": {"order": 8}}
    reply = {"role": "assistant", "parts": [PARTS["v5"][2], second]}
    found, _ = read_document(tmp_path, _chat(reply))
    assert [len(turn.tool_calls) for turn in found[0].trajectory.turns] == [2]
    assert [one.call_id for one in found[0].trajectory.turns[0].observations] == ["c1", "c2"]


def test_messages_for_a_model_have_calls_and_results_in_parts(tmp_path: Path) -> None:
    call = {"type": "tool-call", "toolCallId": "c1", "toolName": "find_order"}
    result = {"type": "tool-result", "toolCallId": "c1", "toolName": "find_order"}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": ASKED}]},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "I look."}, call | {"input": {"order": 7}}],
        },
        {"role": "tool", "content": [result | {"output": {"type": "json", "value": GIVEN}}]},
        {"role": "assistant", "content": [{"type": "text", "text": TOLD}]},
    ]
    found, _ = read_document(tmp_path, {"chatId": "c", "messages": messages})
    assert outline(found[0]) == LEARNT


UNKNOWN: list[tuple[dict[str, Any], str]] = [
    ({"content": [{"type": "text", "text": "a"}, {"type": "holo_call", "x": 1}]}, "holo_call"),
    ({"content": [{"hologram": {"x": 1}}]}, "hologram"),
    ({"content": "a", "toolUses": [{"toolName": "find", "input": {"x": 1}}]}, "toolUses"),
    ({"content": "", "invocation": {"name": "find", "arguments": {"x": 1}}}, "invocation"),
]


@pytest.mark.parametrize(("said", "kind"), UNKNOWN)
def test_what_is_not_understood_in_an_answer_is_noted_kept_and_no_example(
    tmp_path: Path, said: dict[str, Any], kind: str
) -> None:
    found, _ = read_document(tmp_path, _chat({"role": "assistant"} | said))
    turn = found[0].trajectory.turns[0]
    assert turn.mask == UNREAD_MASK
    assert f"[{kind} left out on import]" in turn.content
    assert kind in (turn.raw or "")


@pytest.mark.parametrize(
    "beside",
    [
        {"tools": [{"name": "find", "parameters": {"type": "object"}, "description": "Finds."}]},
        {"annotations": []},
        {"usage": {"input": 3, "output": 4}, "name": "helper"},
    ],
)
def test_what_stands_beside_an_answer_and_is_no_call_leaves_it_as_it_is(
    tmp_path: Path, beside: dict[str, Any]
) -> None:
    found, _ = read_document(tmp_path, _chat({"role": "assistant", "content": "a"} | beside))
    assert (found[0].trajectory.turns[0].content, found[0].trajectory.turns[0].mask) == ("a", None)


def test_text_in_an_object_of_its_own_is_text(tmp_path: Path) -> None:
    part = {"type": "text", "text": {"value": "a", "annotations": []}}
    found, _ = read_document(tmp_path, _chat({"role": "assistant", "content": [part]}))
    assert found[0].trajectory.turns[0].content == "a"


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
_TYPES = st.sampled_from(
    ["text", "step-start", "reasoning", "tool-x", "dynamic-tool", "tool-invocation", "file"]
)
_PART = st.fixed_dictionaries(
    {"type": _TYPES},
    optional={
        key: _VALUES
        for key in ("text", "toolCallId", "toolName", "input", "output", "toolInvocation", "state")
    },
)


@pytest.mark.slow
@given(st.lists(_PART | _VALUES, max_size=6))
@settings(max_examples=100, deadline=None)
def test_no_part_is_lost_between_the_steps(parts: list[Any]) -> None:
    marks = [one for one in parts if one == {"type": "step-start"}]
    message = {"role": "assistant", "parts": parts}
    steps = in_steps(message)
    if steps == [message]:
        return
    kept = sum(len(step["content"]) for step in steps if step["role"] == "assistant")
    begins = [one for one in parts if isinstance(one, dict) and one.get("type") == "step-start"]
    assert kept == len(parts) - len(begins) >= 0
    assert len(marks) <= len(begins)


def test_the_import_counts_what_was_not_understood(tmp_path: Path) -> None:
    from synth import import_trajectories

    path = tmp_path / "chat.json"
    path.write_text(json.dumps(_chat({"role": "assistant"} | UNKNOWN[0][0])), encoding="utf-8")
    tally = import_trajectories(path, into=tmp_path / "run", quiet=True)
    assert tally.unread == {"holo_call": 1}
