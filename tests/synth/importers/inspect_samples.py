"""Samples of Inspect."""

from typing import Any

TOOL = {
    "name": "add",
    "description": "attachment://d1",
    "parameters": {"type": "object", "properties": {}},
}


ANSWER = {"id": "m2", "role": "assistant", "content": "4", "source": "generate", "model": "m-1"}


def sample(**fields: Any) -> dict[str, Any]:
    """A made-up sample: one call, one answer."""
    messages = [
        {"id": "m0", "role": "user", "content": "2+2?", "source": "input"},
        {
            "id": "m1",
            "role": "assistant",
            "content": [
                {"type": "reasoning", "reasoning": "Add.", "signature": "c2ln"},
                {"type": "text", "text": "Adding."},
            ],
            "tool_calls": [
                {"id": "c1", "function": "add", "arguments": {"x": 2}, "type": "function"}
            ],
        },
        {
            "id": "m3",
            "role": "tool",
            "content": "",
            "tool_call_id": "c1",
            "function": "add",
            "error": {"type": "timeout", "message": "slow"},
        },
        ANSWER,
    ]
    usage = {"input_tokens": 10, "output_tokens": 2, "input_tokens_cache_read": 4}
    event = {
        "event": "model",
        "model": "m-1",
        "input": [],
        "tools": [TOOL],
        "output": {"choices": [{"message": ANSWER}], "usage": usage},
    }
    base = {
        "id": 1,
        "epoch": 1,
        "input": "2+2?",
        "target": "4",
        "messages": messages,
        "events": [event],
        "attachments": {"d1": "Adds."},
    }
    return {**base, "scores": {"match": {"value": "C"}}, **fields}


def log(*samples: Any, **fields: Any) -> dict[str, Any]:
    about = {
        "task": "inspect_evals/sums",
        "model": "m-1",
        "task_args": {"split": "dev"},
        "model_generate_config": {"temperature": 0.5, "seed": None},
    }
    return {"version": 2, "status": "success", "eval": about, "samples": list(samples), **fields}
