"""Answers that were logged as they streamed in are the answers that they add up to."""

import json
from pathlib import Path
from typing import Any

import pytest

from synth.importers.records import Imported
from synth.importers.traces.chunks import assembled
from tests.synth.importers.imports import read_lines

ASKED = {"model": "m", "messages": [{"role": "user", "content": "Rain?"}], "stream": True}


def chunk(delta: dict[str, Any], end: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": end}
    return {"id": "r", "object": "chat.completion.chunk", "model": "m-1", "choices": [choice]}


def piece(**function: str) -> dict[str, Any]:
    return {"tool_calls": [{"index": 0, "function": function}]}


CHAT = [
    chunk({"role": "assistant", "content": "Let "}),
    chunk({"content": "me see."}),
    chunk({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "rain"}}]}),
    chunk(piece(arguments='{"city":')),
    chunk(piece(arguments=' "Ulm"}')),
    chunk({}, "tool_calls"),
]
BLOCKS: list[dict[str, Any]] = [
    {"type": "message_start", "message": {"role": "assistant", "content": [], "model": "m-1"}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Let "}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "me see."}},
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "tool_use", "id": "c1", "name": "rain", "input": {}},
    },
    *(
        {"type": "content_block_delta", "index": 1, "delta": {"partial_json": text}}
        for text in ('{"city":', ' "Ulm"}')
    ),
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    {"type": "message_stop"},
]
PARTS = [{"text": "Let me see."}, {"functionCall": {"name": "rain", "args": {"city": "Ulm"}}}]
GEMINI = [{"candidates": [{"content": {"role": "model", "parts": [part]}}]} for part in PARTS]
TEXT = {"type": "output_text", "text": "Let me see."}
ITEMS = {
    "object": "response",
    "model": "m-1",
    "output": [
        {"type": "message", "role": "assistant", "content": [TEXT]},
        {"type": "function_call", "call_id": "c1", "name": "rain", "arguments": '{"city": "Ulm"}'},
    ],
}
EVENTS = [
    {"type": "response.created", "response": {"object": "response", "output": []}},
    {"type": "response.output_text.delta", "delta": "Let"},
    {"type": "response.completed", "response": ITEMS},
]
STREAMS = {
    "chat": (ASKED, CHAT),
    "anthropic": (ASKED, BLOCKS),
    "gemini": ({"contents": [{"role": "user", "parts": [{"text": "Rain?"}]}]}, GEMINI),
    "responses": ({"model": "m", "input": "Rain?"}, EVENTS),
}


def as_events(chunks: list[dict[str, Any]]) -> str:
    """Server-sent events, as a proxy keeps a body."""
    sent = "".join(f"event: x\ndata: {json.dumps(one)}\n\n" for one in chunks)
    return f"{sent}data: [DONE]\n\n"


@pytest.mark.parametrize("as_text", [False, True], ids=["chunks", "events"])
@pytest.mark.parametrize("api", STREAMS)
def test_a_stream_is_the_answer_that_it_adds_up_to(tmp_path: Path, api: str, as_text: bool) -> None:
    request, chunks = STREAMS[api]
    response = as_events(chunks) if as_text else chunks
    (found,), bad = read_lines(tmp_path, [{"request": request, "response": response}])
    assert bad == []
    assert isinstance(found, Imported)
    (turn,) = found.trajectory.turns
    assert turn.content == "Let me see."
    assert [(call.name, call.parsed()) for call in turn.tool_calls] == [("rain", {"city": "Ulm"})]


def test_a_stream_that_breaks_off_is_no_answer(tmp_path: Path) -> None:
    request, _ = STREAMS["responses"]
    good, bad = read_lines(tmp_path, [{"request": request, "response": EVENTS[:2]}])
    assert good == []
    assert len(bad) == 1


@pytest.mark.parametrize("value", ["data of mine", "data: {broken", [], [1], {"a": 1}, None])
def test_what_is_no_stream_stays_as_it_is(value: Any) -> None:
    assert assembled(value) == value


def test_what_a_client_sent_last_holds_the_answers_before(tmp_path: Path) -> None:
    items = [
        {"role": "user", "content": "Rain?"},
        {"type": "function_call", "call_id": "c", "name": "rain", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "yes"},
        {"role": "assistant", "content": "Yes."},
    ]
    request = {"model": "m", "instructions": "Be brief.", "input": items}
    (found,), bad = read_lines(tmp_path, [request])
    assert bad == []
    assert isinstance(found, Imported)
    assert (found.trajectory.system_prompt, len(found.trajectory.turns)) == ("Be brief.", 2)
    assert found.trajectory.turns[0].observations[0].content == "yes"


def test_a_proxy_keeps_tools_and_sampling_apart_from_the_messages(tmp_path: Path) -> None:
    tool = {"type": "function", "function": {"name": "rain", "parameters": {}}}
    answer = {"choices": [{"message": {"role": "assistant", "content": "No."}}]}
    apart = {"tools": [tool], "temperature": 0.5}
    line = {"messages": ASKED["messages"], "model_parameters": apart, "response": answer}
    (found,), _ = read_lines(tmp_path, [line])
    assert isinstance(found, Imported)
    assert len(found.trajectory.tools) == 1
    assert found.trajectory.sampling["temperature"] == 0.5


def test_a_stream_without_its_beginning_is_no_answer_in_one_line() -> None:
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}}
    with pytest.raises(ValueError, match="without its beginning"):
        assembled([{"type": "message_start", "message": {"id": "m"}}, block])
