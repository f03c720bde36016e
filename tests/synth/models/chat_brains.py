"""What the test server's model says: functions of the request body, so that the same request always
gets the same reply.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from synth.schemas.canonical import content_hash
from tests.synth.models.chat_tokens import logprob, rendered, written

Body = Mapping[str, Any]
Brain = Callable[[Body], dict[str, Any]]
"""Request body -> the assistant message of the reply."""


def messages_hash(body: Body) -> str:
    """By what requests are counted: the content hash of their messages."""
    return content_hash(body.get("messages"))


def hashed(body: Body) -> dict[str, Any]:
    """Says the hash of what it was asked."""
    return {"role": "assistant", "content": f"reply {messages_hash(body)}"}


def echo(turns: int) -> Brain:
    """Calls `echo` with the text of the last user message in each of `turns` turns, then says
    "done".
    """

    def brain(body: Body) -> dict[str, Any]:
        done = _turns_done(body)
        if done >= turns:
            return {"role": "assistant", "content": "done"}
        return called("echo", {"text": _last_user(body)}, f"call_{done}")

    return brain


def echo_expert(body: Body) -> dict[str, Any]:
    """Solves a task of the echo world: echoes the words after the goal's colon one by one, calls
    `finish`, then says "done".
    """
    done = _turns_done(body)
    first = next((m["content"] for m in body["messages"] if m["role"] == "user"), "")
    words = first.rpartition(": ")[2].split()
    if done < len(words):
        return called("echo", {"text": words[done]}, f"call_{done}")
    if done == len(words):
        return called("finish", {}, f"call_{done}")
    return {"role": "assistant", "content": "done"}


def called(name: str, arguments: Any, call_id: str = "call_0") -> dict[str, Any]:
    """An assistant message with one tool call; arguments given as a string are sent as they are."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def named_brain(name: str, turns: int) -> Brain:
    """A brain by the name that the command line knows it by. Raises `KeyError`."""
    return {"hash": hashed, "echo": echo(turns), "echo-expert": echo_expert}[name]


def response(body: Body, message: Mapping[str, Any]) -> dict[str, Any]:
    """A /chat/completions response around a message; tokens are counted as characters / 4.

    As vLLM does on demand: `n` choices that number their contents, token ids (chat_tokens),
    log-probabilities.
    """
    prompt, completion = len(json.dumps(body.get("messages"))) // 4, len(json.dumps(message)) // 4
    n = body.get("n", 1)
    choices = []
    for i in range(n):
        said = {**message, "content": f"{message['content']} {i}"} if n > 1 else dict(message)
        choice: dict[str, Any] = {
            "index": i,
            "message": said,
            "finish_reason": "tool_calls" if said.get("tool_calls") else "stop",
        }
        ids = written(said)
        if body.get("return_token_ids"):
            choice["token_ids"] = ids
        if body.get("logprobs"):
            choice["logprobs"] = {
                "content": [{"token": chr(token), "logprob": logprob(token)} for token in ids]
            }
        choices.append(choice)
    return {
        "id": f"chatcmpl-{messages_hash(body)}",
        "object": "chat.completion",
        "created": 0,
        "model": body.get("model"),
        "system_fingerprint": body.get("fingerprint", "fp_test"),
        "choices": choices,
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": {"cached_tokens": prompt // 2},
        },
        **(
            {"prompt_token_ids": rendered(body["messages"], body.get("tools"))}
            if body.get("return_token_ids")
            else {}
        ),
    }


def _turns_done(body: Body) -> int:
    return sum(1 for m in body["messages"] if m["role"] == "assistant" and m.get("tool_calls"))


def _last_user(body: Body) -> str:
    return next((m["content"] for m in reversed(body["messages"]) if m["role"] == "user"), "")
