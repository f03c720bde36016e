"""Calls of models as logs hold them."""

import json
from typing import Any

from tests.synth.importers.shapes.dialogues import (
    ASKED,
    CHAT,
    FOUND,
    SYSTEM,
    TOLD,
    TOOL,
)

USAGE = {"prompt_tokens": 10, "completion_tokens": 3}


FIRST = {"model": "m", "temperature": 0.5, "tools": [TOOL], "messages": CHAT[:2]}


SECOND = {**FIRST, "messages": CHAT[:4]}


def completion(message: dict[str, Any]) -> dict[str, Any]:
    """A response of Chat Completions."""
    return {
        "id": "r",
        "object": "chat.completion",
        "model": "m-1",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": USAGE,
    }


def pair(request: Any, response: Any) -> dict[str, Any]:
    """A line of a log."""
    return {"request": request, "response": response}


CALL_BLOCK = {"type": "tool_use", "id": "c1", "name": "find_order", "input": {"order": 7}}


RESULT_BLOCK = {"type": "tool_result", "tool_use_id": "c1", "content": FOUND}


BLOCKS: list[dict[str, Any]] = [
    {"role": "user", "content": ASKED},
    {"role": "assistant", "content": [CALL_BLOCK]},
    {"role": "user", "content": [RESULT_BLOCK]},
]


def message(content: Any) -> dict[str, Any]:
    """A response of Anthropic's API."""
    return {
        "type": "message",
        "role": "assistant",
        "model": "m-1",
        "content": content,
        "stop_reason": "x",
    }


ASK = {"model": "m", "system": SYSTEM, "max_tokens": 9}


CALL_ITEM = {
    "type": "function_call",
    "id": "fc",
    "call_id": "c1",
    "name": "find_order",
    "arguments": '{"order": 7}',
}


RESULT_ITEM = {"type": "function_call_output", "call_id": "c1", "output": FOUND}


TEXT_ITEM = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": TOLD}],
}


FLAT_TOOL = {"type": "function", **TOOL["function"]}  # type: ignore[dict-item]


def response(*output: Any, **more: Any) -> dict[str, Any]:
    """A response of the Responses API."""
    return {"object": "response", "model": "m-1", "output": list(output), **more}


ITEMS = {"model": "m", "instructions": SYSTEM, "tools": [FLAT_TOOL]}


USER_ITEM = {"role": "user", "content": [{"type": "input_text", "text": ASKED}]}


LOGS = {
    "request and response": [pair(FIRST, completion(CHAT[2])), pair(SECOND, completion(CHAT[4]))],
    "bodies": [
        pair({"body": FIRST}, {"status_code": 200, "body": completion(CHAT[2])}),
        pair({"body": SECOND}, {"status_code": 200, "body": completion(CHAT[4])}),
    ],
    "bodies as text": [
        {"request": json.dumps(FIRST), "response": json.dumps(completion(CHAT[2]))},
        {"request": json.dumps(SECOND), "response": json.dumps(completion(CHAT[4]))},
    ],
    "beside": [
        {**FIRST, "response": completion(CHAT[2])},
        {**SECOND, "response": completion(CHAT[4])},
    ],
    "choices beside": [{**FIRST, **completion(CHAT[2])}, {**SECOND, **completion(CHAT[4])}],
    "input and output": [
        {"input": FIRST, "output": completion(CHAT[2])},
        {"input": SECOND, "output": completion(CHAT[4])},
    ],
    "only the last": [pair(SECOND, completion(CHAT[4]))],
    "anthropic": [
        pair({**ASK, "messages": BLOCKS[:1]}, message([CALL_BLOCK])),
        pair({**ASK, "messages": BLOCKS}, message([{"type": "text", "text": TOLD}])),
    ],
    "responses": [
        pair({**ITEMS, "input": ASKED}, response(CALL_ITEM)),
        pair({**ITEMS, "input": [USER_ITEM, CALL_ITEM, RESULT_ITEM]}, response(TEXT_ITEM)),
    ],
    "responses by id": [
        pair({**ITEMS, "input": ASKED}, response(CALL_ITEM, id="r1")),
        pair(
            {**ITEMS, "input": [RESULT_ITEM], "previous_response_id": "r1"},
            response(TEXT_ITEM, id="r2"),
        ),
    ],
    "plain answers": [
        {"model": "m-1", "messages": CHAT[:2], "response": CHAT[2]},
        {"model": "m-1", "messages": CHAT[:4], "response": TOLD},
    ],
    "stored responses": [
        {**ITEMS, **response(CALL_ITEM, id="r1"), "input": [USER_ITEM]},
        {**ITEMS, **response(TEXT_ITEM), "input": [USER_ITEM, CALL_ITEM, RESULT_ITEM]},
    ],
}
