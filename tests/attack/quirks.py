"""What servers answer that is odd and yet the agent's reply."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from random import Random
from typing import Any

from tests.attack.lies import Reply


def _changed(change: Callable[[Reply, Random], None]) -> Callable[[Reply, Random], Reply]:
    def quirk(reply: Reply, draw: Random) -> Reply:
        reply = deepcopy(reply)
        change(reply, draw)
        return reply

    return quirk


def _choice(name: str, *values: Any) -> Callable[[Reply, Random], None]:
    return lambda reply, draw: reply["choices"][0].update({name: draw.choice(values)})


def _field(name: str, *values: Any) -> Callable[[Reply, Random], None]:
    return lambda reply, draw: reply.update({name: draw.choice(values)})


def _calls_again(reply: Reply, draw: Random) -> None:
    message = reply["choices"][0]["message"]
    message["tool_calls"] = [
        call for call in message.get("tool_calls", ()) for _ in range(draw.randint(2, 4))
    ]


def _ids(value: Any) -> Callable[[Reply, Random], None]:
    def change(reply: Reply, draw: Random) -> None:
        for call in reply["choices"][0]["message"].get("tool_calls", ()):
            call["id"] = value

    return change


def _old_form(reply: Reply, draw: Random) -> None:
    choice = reply["choices"][0]
    if choice["message"].get("tool_calls"):
        choice["message"]["function_call"] = choice["message"].pop("tool_calls")[0]["function"]
        choice["finish_reason"] = "function_call"


QUIRKS: Mapping[str, Callable[[Reply, Random], Reply]] = {
    name: _changed(change)
    for name, change in {
        "calls that end by stop": _choice("finish_reason", "stop"),
        "no word of the end": _choice("finish_reason", None),
        "one call sent several times": _calls_again,
        "a call id of an earlier turn": _ids("call_0"),
        "no call id": _ids(None),
        "an empty call id": _ids(""),
        "a call in its old form": _old_form,
        "no usage": _field("usage", None, {}),
        "usage of zeros": _field(
            "usage", {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
        ),
        "no error": _field("error", None, "", {}, False),
        "no error in the choice": _choice("error", None, {}),
        "fields that nobody knows": _field(
            "extra", {"choices": [], "error": "no", "finish_reason": "error"}
        ),
        "another name of the model": _field("model", "test-2026-01-01", "provider/test", None),
        "an id that is none": _field("id", None, 7, "", "chatcmpl-1"),
        "another number of the choice": _choice("index", None, 3),
        "no time": _field("created", None, -1, 10**12, "now"),
        "an empty refusal": lambda reply, draw: reply["choices"][0]["message"].update(refusal=None),
        "no role": lambda reply, draw: reply["choices"][0]["message"].pop("role"),
        "token ids of nothing": _choice("token_ids", []),
        "log-probabilities of nothing": _choice(
            "logprobs", None, {"content": None}, {"content": []}, {"content": [{"logprob": 3.5}]}
        ),
    }.items()
}
