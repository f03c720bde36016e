"""What a source says of its chats: what carries loss, verdicts, labels, comparisons."""

from pathlib import Path
from typing import Any

import pytest

from tests.synth.importers.imports import read_document
from tests.synth.importers.shapes.dialogues import (
    ASKED,
    CHAT,
    OUTLINE,
    SYSTEM,
    TOLD,
    outline,
)


@pytest.mark.parametrize(
    ("key", "value", "mask"),
    [
        ("mask", True, "not_trained"),
        ("mask", False, None),
        ("loss", False, "not_trained"),
        ("loss", 0.0, None),  # a measured one
        ("loss", True, None),
        ("train", False, "not_trained"),
        ("trainable", False, "not_trained"),
        ("mask", "x", None),
    ],
)
def test_an_answer_that_its_source_does_not_train_on_carries_no_loss(
    tmp_path: Path, key: str, value: Any, mask: str | None
) -> None:
    chat = [*CHAT[:-1], CHAT[-1] | {key: value}]
    ((found,), _) = read_document(tmp_path, {"messages": chat})
    assert [turn.mask for turn in found.trajectory.turns] == [None, mask]
    assert outline(found) == OUTLINE


@pytest.mark.parametrize(
    ("key", "thought", "kept"),
    [
        ("thought", "I look it up.", None),
        ("thought", "I look it up. Then I tell.", "I look it up. Then I tell."),
        ("reasoning_content", "I look it up.", "I look it up."),
    ],
)
def test_a_thought_that_the_answer_says_too_is_said_once(
    tmp_path: Path, key: str, thought: str, kept: str | None
) -> None:
    chat = [*CHAT[:2], CHAT[2] | {"content": "I look it up.\n", key: thought}, *CHAT[3:]]
    ((found,), _) = read_document(tmp_path, {"messages": chat})
    assert (found.trajectory.turns[0].content, found.trajectory.turns[0].thought) == (
        "I look it up.\n",
        kept,
    )


def test_arguments_that_are_no_json_are_kept_to_the_byte(tmp_path: Path) -> None:
    call = {"id": "c", "function": {"name": "f", "arguments": '{"a": 1'}}
    (found,), _ = read_document(
        tmp_path, [{"role": "user", "content": "q"}, {"role": "assistant", "tool_calls": [call]}]
    )
    (made,) = found.trajectory.turns[0].tool_calls
    assert made.arguments == '{"a": 1'
    assert made.parse_error is not None


def test_an_image_leaves_a_note_and_masks_what_follows(tmp_path: Path) -> None:
    parts = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": "x"}},
    ]
    (found,), _ = read_document(
        tmp_path, [{"role": "user", "content": parts}, {"role": "assistant", "content": "A cat."}]
    )
    assert found.trajectory.opening[0].content == "What is this?\n[image_url left out on import]"
    assert found.trajectory.turns[0].mask == "after_unseen_content"


@pytest.mark.parametrize("target", ["Graz", 1, True, {"at": "Graz"}])
def test_a_target_of_another_chat_is_no_verdict_and_refuses_nothing(
    tmp_path: Path, target: Any
) -> None:
    (found,), bad = read_document(tmp_path, {"messages": CHAT, "target": target})
    assert bad == []
    assert found.trajectory.outcome == "unknown"


@pytest.mark.parametrize(
    ("claims", "outcome"),
    [
        ({"resolved": True}, "success"),
        ({"resolved": 0}, "failure"),
        ({"target": "False"}, "failure"),
        ({"exit_status": "submitted", "resolved": "resolved"}, "success"),
        ({"exit_status": "exit_context", "resolved": False}, "truncated"),
        ({"exit_status": "submitted (exit_cost)"}, "truncated"),
        ({"model_patch": "x"}, "unknown"),
        ({"test_result": {"report": {"resolved": True}}}, "success"),
        ({"report": {"resolved": False}}, "failure"),
        ({"report": {"resolved": False, "error_eval": True}}, "unknown"),
        ({"stop_reason": "max_turns", "resolved": False}, "truncated"),
        ({"stop_reason": "end_turn", "resolved": True}, "success"),
        ({"exit_status": "RuntimeError", "resolved": False}, "invalid"),
    ],
)
def test_a_swe_log_has_its_own_verdict(
    tmp_path: Path, claims: dict[str, Any], outcome: str
) -> None:
    record = {"instance_id": "a__b-1", "trajectory": CHAT, "patch": "", **claims}
    (found,), bad = read_document(tmp_path, record)
    assert bad == []
    assert found.trajectory.outcome == outcome


def test_an_old_swe_agent_log_of_texts(tmp_path: Path) -> None:
    record = {
        "instance_id": "a__b-1",
        "model_name": "m",
        "target": True,
        "trajectory": [
            {"role": "system", "system_prompt": SYSTEM, "text": None, "mask": False},
            {"role": "user", "text": ASKED, "mask": False},
            {"role": "ai", "text": TOLD, "mask": True},
        ],
    }
    (found,), bad = read_document(tmp_path, record)
    assert bad == []
    assert outline(found) == [("system", SYSTEM), ("user", ASKED), ("text", TOLD)]
    assert found.trajectory.model == "m"


def test_labelled_steps_are_turns_with_labels(tmp_path: Path) -> None:
    record = {
        "prompt": "rendered",
        "completions": ["rendered"],
        "labels": [True],
        "prompt_messages": CHAT[:4],
        "step_messages": CHAT[4:],
    }
    (found,), bad = read_document(tmp_path, record)
    assert bad == []
    assert outline(found) == OUTLINE
    assert [(mark.metric, mark.value, mark.turn) for mark in found.marks] == [
        ("step_label", 1.0, 1)
    ]


def test_both_sides_of_a_comparison_come_in_and_say_which_was_preferred(tmp_path: Path) -> None:
    record = {
        "prompt": CHAT[:4],
        "chosen": [{"role": "assistant", "content": TOLD}],
        "rejected": [{"role": "assistant", "content": "No idea."}],
    }
    (chosen, rejected), bad = read_document(tmp_path, record)
    assert bad == []
    assert outline(chosen) == OUTLINE
    assert rejected.trajectory.turns[-1].content == "No idea."
    assert [one.marks[0].value for one in (chosen, rejected)] == [1.0, 0.0]
    assert [turn.mask for turn in chosen.trajectory.turns] == ["not_trained", None]
    assert chosen.trajectory.outcome == "unknown"


@pytest.mark.parametrize(
    ("flag", "mask"),
    [
        ({"loss": False}, "not_trained"),
        ({"train": False}, "not_trained"),
        ({"masked": True}, "not_trained"),
        ({"loss": True}, None),
        ({"loss": 0.0}, None),  # what a trainer measured
        ({"masked": False}, None),
    ],
)
def test_an_answer_that_a_trainer_leaves_out_carries_no_loss(
    tmp_path: Path, flag: dict[str, Any], mask: str | None
) -> None:
    asked = [{"from": "human", "value": "Be an agent."}, {"from": "gpt", "value": "OK."} | flag]
    after = [{"from": "human", "value": "Go."}, {"from": "gpt", "value": "Gone."}]
    (found,), _ = read_document(tmp_path, {"conversations": asked + after})
    assert [turn.mask for turn in found.trajectory.turns] == [mask, None]
