"""The same dialogue in every dialect of chats comes in as the same turns."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.synth.importers.imports import read_document, read_lines
from tests.synth.importers.shapes.dialogues import (
    ASKED,
    CHAT,
    FOUND,
    OUTLINE,
    PARAMETERS,
    SYSTEM,
    TOLD,
    TOOL,
    outline,
)

CALL = {"name": "find_order", "arguments": {"order": 7}}


SHAREGPT = {
    "conversations": [
        {"from": "system", "value": SYSTEM},
        {"from": "human", "value": ASKED},
        {"from": "function_call", "value": json.dumps(CALL)},
        {"from": "observation", "value": FOUND},
        {"from": "gpt", "value": TOLD},
    ],
    "tools": json.dumps([TOOL["function"]]),
}


HERMES = {
    "conversations": [
        {"from": "system", "value": SYSTEM},
        {"from": "human", "value": ASKED},
        {"from": "gpt", "value": f"<tool_call>\n{json.dumps(CALL)}\n</tool_call>"},
        {"from": "tool", "value": f"<tool_response>\n{FOUND}\n</tool_response>"},
        {"from": "gpt", "value": TOLD},
    ]
}


ANTHROPIC = {
    "model": "m",
    "system": [{"type": "text", "text": SYSTEM}],
    "tools": [{"name": "find_order", "description": "Finds.", "input_schema": PARAMETERS}],
    "messages": [
        {"role": "user", "content": ASKED},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Look it up.", "signature": "s"},
                {"type": "tool_use", "id": "t1", "name": "find_order", "input": {"order": 7}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "content": [{"type": "text", "text": FOUND}],
                }
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": TOLD}]},
    ],
}


LEGACY = [
    *CHAT[:2],
    {"role": "assistant", "content": "", "function_call": {**CALL, "arguments": '{"order": 7}'}},
    {"role": "function", "name": "find_order", "content": FOUND},
    CHAT[4],
]


LANGCHAIN = {
    "messages": [
        {"type": "system", "content": SYSTEM},
        {"type": "human", "content": ASKED},
        {
            "type": "ai",
            "content": "",
            "tool_calls": [{"id": "a", "name": "find_order", "args": {"order": 7}}],
        },
        {"type": "tool", "content": FOUND, "tool_call_id": "a", "status": "success"},
        {"type": "ai", "content": TOLD, "tool_calls": [], "invalid_tool_calls": []},
    ]
}


GEMINI = {
    "system_instruction": SYSTEM,
    "messages": [
        {"role": "user", "parts": [{"text": ASKED}]},
        {
            "role": "model",
            "parts": [{"functionCall": {"name": "find_order", "args": {"order": 7}}}],
        },
        {
            "role": "function",
            "parts": [{"functionResponse": {"name": "find_order", "response": json.loads(FOUND)}}],
        },
        {"role": "model", "parts": [{"text": TOLD}]},
    ],
}


PARTS = [
    {"role": "system", "content": [{"type": "text", "text": SYSTEM}]},
    {"role": "user", "content": [{"type": "text", "text": ASKED}]},
    *CHAT[2:3],
    {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": FOUND}]},
    {"role": "assistant", "content": [{"type": "text", "text": TOLD}], "tool_calls": None},
]


SESSION = [
    {"type": "session", "harness": "h", "id": "s1"},
    *(
        {"type": "message", "message": message}
        for message in (
            *CHAT[:2],
            {
                "role": "assistant",
                "content": None,
                "toolCalls": [{"id": "c1", "function": CHAT[2]["tool_calls"][0]["function"]}],
            },
            {"role": "tool", "toolCallId": "c1", "content": FOUND},
            CHAT[4],
        )
    ),
]


@pytest.mark.parametrize(
    ("record", "format"),
    [
        (CHAT, "openai_messages"),
        ({"messages": CHAT}, "openai_messages"),
        ({"messages": json.dumps(CHAT)}, "messages"),
        ({"messages": LEGACY}, "openai_messages"),
        ({"messages": PARTS}, "openai_messages"),
        ({"conversation": CHAT, "id": 3}, "messages"),
        ({"trajectory": CHAT, "instance_id": "a__b-1", "resolved": 1}, "swe_logs"),
        (SHAREGPT, "sharegpt"),
        (HERMES, "hermes"),
        (ANTHROPIC, "anthropic_messages"),
        (LANGCHAIN, "messages"),
        (GEMINI, "openai_messages"),
    ],
)
def test_every_dialect_gives_the_same_turns(tmp_path: Path, record: Any, format: str) -> None:
    (found,), bad = read_document(tmp_path, record)
    assert bad == []
    assert outline(found) == OUTLINE
    assert (found.trajectory.source or "").split(":")[0] == format


def test_a_session_trace_is_read(tmp_path: Path) -> None:
    (found,), bad = read_lines(tmp_path, SESSION)
    assert bad == []
    assert outline(found) == OUTLINE
    assert "s1" in found.names


@pytest.mark.parametrize(
    "document",
    [
        {"data": [{"messages": CHAT}]},
        {"version": 1, "conversations": [SHAREGPT]},
        {"rows": [{"row_idx": 0, "row": {"messages": CHAT}}], "features": []},
        {"a": {"messages": CHAT}},
        {"a": CHAT},
    ],
)
def test_chats_within_one_document_are_read_each(tmp_path: Path, document: Any) -> None:
    (found,), bad = read_document(tmp_path, document)
    assert bad == []
    assert outline(found) == OUTLINE


@pytest.mark.parametrize("record", [SHAREGPT, ANTHROPIC])
def test_tool_schemas_become_openais(tmp_path: Path, record: Any) -> None:
    (found,), _ = read_document(tmp_path, record)
    assert found.trajectory.tools == (TOOL,)


def test_a_thought_with_a_signature_is_a_thought_and_stays_in_raw(tmp_path: Path) -> None:
    (found,), _ = read_document(tmp_path, ANTHROPIC)
    turn = found.trajectory.turns[0]
    assert turn.thought == "Look it up."
    messages: Any = ANTHROPIC["messages"]
    assert json.loads(turn.raw or "") == [messages[1]["content"][0]]


def test_an_inline_thought_becomes_one_and_the_text_as_written_is_kept(tmp_path: Path) -> None:
    text = "<think>\nWhere?\n</think>\n\nIn Graz."
    (found,), _ = read_document(
        tmp_path, [{"role": "user", "content": "q"}, {"role": "assistant", "content": text}]
    )
    (turn,) = found.trajectory.turns
    assert (turn.thought, turn.content, turn.raw) == ("Where?", "In Graz.", text)


def test_rows_for_geminis_tuning_are_read_with_their_system_prompt(tmp_path: Path) -> None:
    row = {
        "systemInstruction": {"role": "system", "parts": [{"text": SYSTEM}]},
        "contents": [
            {"role": "user", "parts": [{"text": ASKED}]},
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"a": 1}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"x": 1}}}]},
            {"role": "model", "parts": [{"text": TOLD}]},
        ],
        "tools": [{"functionDeclarations": [{"name": "f", "parameters": PARAMETERS}]}],
    }
    ((found,), bad) = read_lines(tmp_path, [row])
    assert bad == []
    assert outline(found) == [
        ("system", SYSTEM),
        ("user", ASKED),
        ("text", None),
        ("call", "f", {"a": 1}),
        ("tool", '{"x": 1}', 0),
        ("text", TOLD),
    ]
    assert [one["function"]["name"] for one in found.trajectory.tools] == ["f"]


def test_a_thought_that_the_prompt_opened_is_one(tmp_path: Path) -> None:
    chat = [*CHAT[:-1], CHAT[-1] | {"content": f"Graz, then.\n</think>\n\n{TOLD}"}]
    ((found,), _) = read_document(tmp_path, {"messages": chat})
    last = found.trajectory.turns[-1]
    assert (last.content, last.thought) == (TOLD, "Graz, then.")
    assert last.raw == chat[-1]["content"]


@pytest.mark.parametrize(
    "text",
    [
        "See <think>this</think> there",
        "no tags",
        "<think>broken off",
        "The tag </think> ends a thought.",
    ],
)
def test_tags_in_the_middle_of_an_answer_are_its_words(tmp_path: Path, text: str) -> None:
    ((found,), _) = read_document(
        tmp_path, {"messages": [*CHAT[:-1], CHAT[-1] | {"content": text}]}
    )
    assert (found.trajectory.turns[-1].content, found.trajectory.turns[-1].thought) == (text, None)


def test_parallel_calls_are_one_turn_and_each_answer_finds_its_own(tmp_path: Path) -> None:
    calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": {"n": n}}}
        for n in (1, 2)
    ]
    messages = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c2", "content": "two"},
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
    ]
    (found,), _ = read_document(tmp_path, messages)
    assert outline(found)[1:] == [
        ("text", None),
        ("call", "f", {"n": 1}),
        ("call", "f", {"n": 2}),
        ("tool", "two", 1),
        ("tool", "one", 0),
    ]


@pytest.mark.parametrize("written", [repr(CALL), json.dumps([CALL]), repr([CALL])])
def test_a_call_as_python_prints_it_is_a_call(tmp_path: Path, written: str) -> None:
    messages = [one | {} for one in SHAREGPT["conversations"]]
    messages[2]["value"] = written
    ((found,), _) = read_document(tmp_path, {"conversations": messages})
    assert outline(found) == OUTLINE


@pytest.mark.parametrize("written", ["I would call {f}", "{'name': find}", "[" * 9000])
def test_words_under_the_role_of_a_call_stay_words(tmp_path: Path, written: str) -> None:
    told = {"from": "function_call", "value": written}
    ((found,), _) = read_document(
        tmp_path, {"conversations": [*SHAREGPT["conversations"][:2], told]}
    )
    assert [(turn.content, turn.tool_calls) for turn in found.trajectory.turns] == [(written, ())]
