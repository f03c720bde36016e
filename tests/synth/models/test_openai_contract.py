"""The `openai` package's own types hold for what is sent, and what they hold is read."""

from typing import Any

import msgspec
from openai.types.chat import ChatCompletion
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from pydantic import TypeAdapter

from synth.models.replies.reply import read_replies
from synth.models.servers.chat_request import request_body
from synth.schemas.model import Message, Sampling

SENT: TypeAdapter[Any] = TypeAdapter(CompletionCreateParamsNonStreaming)
TOOL = {
    "type": "function",
    "function": {
        "name": "look_up",
        "description": "Look an order up.",
        "parameters": {"type": "object", "properties": {"order": {"type": "string"}}},
    },
}
CALL = {
    "id": "call_0_0",
    "type": "function",
    "function": {"name": "look_up", "arguments": '{"order": "O-1"}'},
}
CHAT: list[Message] = [
    {"role": "system", "content": "You look orders up."},
    {"role": "user", "content": "Where is O-1?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_0_0", "content": "on its way"},
]


def test_a_request_is_one_that_the_package_would_send() -> None:
    sampling = Sampling(temperature=0.5, top_p=0.9, max_tokens=64, seed=3, stop=("END",))
    body = msgspec.json.decode(request_body("m", CHAT, [TOOL], sampling))
    valid = SENT.validate_python(body)
    assert valid["model"] == "m"
    assert [message["role"] for message in valid["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
    ]
    kinds = CompletionCreateParamsNonStreaming
    assert body.keys() <= kinds.__required_keys__ | kinds.__optional_keys__


def test_a_completion_of_the_package_is_read_to_the_letter() -> None:
    completion = ChatCompletion.model_validate(
        {
            "id": "c1",
            "object": "chat.completion",
            "created": 1,
            "model": "m-2026",
            "system_fingerprint": "fp",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "tool_calls",
                    "message": {"role": "assistant", "content": None, "tool_calls": [CALL]},
                }
            ],
            "usage": {"prompt_tokens": 30, "completion_tokens": 8, "total_tokens": 38},
        }
    )
    (read,) = read_replies(completion.model_dump_json().encode(), CHAT[:2])
    assert (read.model, read.weights_id, read.finish_reason) == ("m-2026", "fp", "tool_calls")
    assert [(call.call_id, call.name, call.arguments) for call in read.tool_calls] == [
        ("call_0_0", "look_up", '{"order": "O-1"}')
    ]
    assert (read.usage.prompt_tokens, read.usage.completion_tokens) == (30, 8)
    assert read.repairs == ()
