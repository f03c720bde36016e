"""Chats in OpenAI's form, as lines or lists, with what they claim about how they went."""

import json
from pathlib import Path
from typing import Any

import pytest

from synth.importers.records import Imported, ImportSettings, Rejection
from synth.schemas.text.messages import to_messages
from tests.synth.importers.imports import imported

CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q": "ß"}'}}
MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "Help."},
    {"role": "user", "content": "Where?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "content": "here", "tool_call_id": "c1", "name": "find"},
    {"role": "assistant", "content": "Here."},
]
TOOL = {
    "type": "function",
    "function": {"name": "find", "parameters": {"type": "object", "properties": {}}},
}


def load(tmp_path: Path, *chats: Any) -> list[Imported]:
    path = tmp_path / "chats"
    path.write_text("\n".join(json.dumps(chat) for chat in chats))
    found = list(imported([path]))
    assert [f for f in found if isinstance(f, Rejection)] == []
    return [f for f in found if isinstance(f, Imported)]


def test_a_chat_keeps_its_messages_tools_and_claims(tmp_path: Path) -> None:
    (found,) = load(
        tmp_path,
        {
            "messages": MESSAGES,
            "tools": [TOOL],
            "model": "m-1",
            "benchmark": "tau-bench/retail",
            "extra": {"a": 1},
        },
    )
    assert to_messages(found.trajectory) == MESSAGES
    assert found.trajectory.tools == (TOOL,)
    assert (found.trajectory.model, found.trajectory.benchmark, found.task.benchmark) == (
        "m-1",
        "tau-bench/retail",
        "tau-bench/retail",
    )
    assert (found.task.goal, found.trajectory.task_id) == ("Where?", found.task.task_id)


def test_a_bare_list_of_messages_is_a_chat(tmp_path: Path) -> None:
    bare, with_tools = load(tmp_path, MESSAGES, {"messages": MESSAGES, "tools": json.dumps([TOOL])})
    assert to_messages(bare.trajectory) == to_messages(with_tools.trajectory) == MESSAGES
    assert (bare.trajectory.tools, with_tools.trajectory.tools) == ((), (TOOL,))


@pytest.mark.parametrize(
    ("claims", "outcome"),
    [
        ({}, "unknown"),
        ({"reward": 1.0}, "success"),
        ({"reward": 0.5}, "failure"),
        ({"success": True}, "success"),
        ({"success": False, "reward": 1.0}, "failure"),
        ({"outcome": "failure", "success": True}, "failure"),
        ({"outcome": "unknown", "reward": 1}, "unknown"),
        ({"outcome": "Resolved"}, "success"),
        ({"reward": True}, "success"),
        ({"reward": "0.5"}, "failure"),
        ({"is_correct": True}, "success"),
        ({"correct": False, "reward": 1}, "failure"),
        ({"correct": "B"}, "unknown"),
        ({"label": True}, "unknown"),
        ({"outcome": "pass", "reward": 0}, "success"),
        ({"outcome": "escalated", "reward": 1}, "success"),
        ({"outcome": "booked"}, "unknown"),
        ({"outcome": "truncated"}, "truncated"),
        ({"outcome": "invalid", "reward": 1}, "invalid"),
    ],
)
def test_the_outcome_is_what_the_record_claims_or_unknown(
    tmp_path: Path, claims: dict[str, Any], outcome: str
) -> None:
    (found,) = load(tmp_path, {"messages": MESSAGES, **claims})
    assert found.trajectory.outcome == outcome


def test_the_same_question_under_another_system_prompt_is_another_task(tmp_path: Path) -> None:
    other = [{"role": "system", "content": "Be brief."}, *MESSAGES[1:]]
    first, second, third = load(tmp_path, MESSAGES, other, MESSAGES)
    assert first.task == third.task != second.task
    assert [f.trajectory.trial for f in (first, second, third)] == [0, 0, 1]


@pytest.mark.parametrize("half", [0xD800, 0xDC00])
def test_lone_surrogates_in_a_file_become_replacement_characters(tmp_path: Path, half: int) -> None:
    (found,) = load(
        tmp_path,
        [{"role": "user", "content": f"a{chr(half)}"}, {"role": "assistant", "content": "😀"}],
    )
    assert (found.task.goal, found.trajectory.turns[0].content) == ("a\ufffd", "😀")


@pytest.mark.parametrize(
    "text",
    ['{"messages": "xxxxxxxxxxxxxxxxxxxx"}\n%s\n', '{"messages": "xxxxxxxxxxxxxxxxxxxx"} \n\n%s'],
)
def test_a_line_beyond_the_limit_is_refused_and_the_next_one_is_read(
    tmp_path: Path, text: str
) -> None:
    path = tmp_path / "chats"
    line = json.dumps([{"role": "assistant", "content": "a"}])
    path.write_text(line + "\n" + text.replace("xx", "x" * 100) % line)
    found = list(imported([path], settings=ImportSettings(max_record_bytes=100)))
    assert [f.reason if isinstance(f, Rejection) else "in" for f in found] == [
        "in",
        "record_too_large",
        "in",
    ]


@pytest.mark.parametrize(
    ("key", "weight", "mask"),
    [
        *[
            ("weight", 0, "zero_weight"),
            ("weight", 0.0, "zero_weight"),
            ("weight", 1, None),
            ("weight", None, None),
        ],
        *[("training", False, "not_trained"), ("training", True, None)],
    ],
)
def test_an_answer_without_loss_is_a_masked_turn(
    tmp_path: Path, key: str, weight: Any, mask: str | None
) -> None:
    (found,) = load(tmp_path, [*MESSAGES[:4], MESSAGES[4] | {key: weight}])
    assert [turn.mask for turn in found.trajectory.turns] == [None, mask]


def test_a_greeting_without_weight_stays_a_greeting(tmp_path: Path) -> None:
    greeting, user = (
        {"role": "assistant", "content": "Hi.", "weight": 0},
        {"role": "user", "content": "q"},
    )
    (found,) = load(tmp_path, [greeting, user, {"role": "assistant", "content": "a", "weight": 1}])
    assert [turn.mask for turn in found.trajectory.turns] == ["canned_greeting", None]


def test_rows_that_name_their_masked_turns_keep_the_reasons(tmp_path: Path) -> None:
    weighted = [*MESSAGES[:4], MESSAGES[4] | {"weight": 0}]
    (found,) = load(
        tmp_path, {"messages": weighted, "masked_turns": [{"turn": 1, "reason": "before_pivot"}]}
    )
    assert [turn.mask for turn in found.trajectory.turns] == [None, "before_pivot"]


@pytest.mark.parametrize("counted", [{"trained_turns": 2}, {"masked_turns": 1}])
def test_numbers_of_turns_name_none_of_them(tmp_path: Path, counted: dict[str, int]) -> None:
    (found,) = load(tmp_path, {"messages": MESSAGES, **counted})
    assert [turn.mask for turn in found.trajectory.turns] == [None, None]


@pytest.mark.parametrize(
    ("claim", "detail"),
    [
        (
            {"messages": [*MESSAGES[:4], MESSAGES[4] | {"weight": 0.5}]},
            "message 4: weight 0.5 is neither 0 nor 1",
        ),
        (
            {"messages": [*MESSAGES[:4], MESSAGES[4] | {"weight": "0"}]},
            "message 4: weight '0' is neither 0 nor 1",
        ),
        (
            {"messages": MESSAGES, "masked_turns": [{"turn": 2, "reason": "x"}]},
            "masked_turns names turn 2, the chat has 2 turns",
        ),
        (
            {"messages": MESSAGES, "trained_turns": [1, 2]},
            "trained_turns names turn 2, the chat has 2 turns",
        ),
        ({"messages": MESSAGES, "masked_turns": [0]}, "masked_turns is no list of {turn, reason}"),
    ],
)
def test_loss_that_cannot_be_told_is_a_rejection_that_says_where(
    tmp_path: Path, claim: dict[str, Any], detail: str
) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(claim))
    (found,) = imported([path])
    assert isinstance(found, Rejection)
    assert found.reason == "bad_record"
    assert detail in found.detail


@pytest.mark.parametrize(
    ("split", "held_out"),
    [("test", True), ("held_out", True), ("train", False), (None, False), (3, False)],
)
def test_a_chat_of_another_split_than_train_is_held_out(
    tmp_path: Path, split: Any, held_out: bool
) -> None:
    path = tmp_path / "x.json"
    path.write_text(
        json.dumps(
            {
                "messages": [
                    {"role": "user", "content": "q"},
                    {"role": "assistant", "content": "a"},
                ],
                "split": split,
            }
        )
    )
    (found,) = imported([path])
    assert isinstance(found, Imported)
    assert found.trajectory.held_out is held_out
