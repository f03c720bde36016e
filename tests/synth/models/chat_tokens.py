"""The test server's template and tokenizer: a token per byte, and two special ones around every
message.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

BEGIN, END = 256, 257


def rendered(
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]] | None,
    *,
    answer: bool = True,
    forgetful: bool = False,
) -> list[int]:
    """A conversation as token ids, with the header of an answer at its end; `forgetful`: only the
    last assistant message is shown.
    """
    tokens = [*_message("tools", json.dumps(tools).encode())] if tools else []
    last = max(
        (i for i, message in enumerate(messages) if message["role"] == "assistant"), default=-1
    )
    for i, message in enumerate(messages):
        if not (forgetful and message["role"] == "assistant" and i != last):
            tokens += _message(message["role"], bytes(written(message)))
    return [*tokens, BEGIN, *b"assistant:"] if answer else tokens


def written(message: Mapping[str, Any]) -> list[int]:
    """What a message says, calls as JSON after the words."""
    calls = message.get("tool_calls")
    return [
        *(message.get("content") or "").encode(),
        *(json.dumps(calls).encode() if calls else b""),
    ]


def logprob(token: int) -> float:
    """The same for a token wherever it stands; no two letters share it."""
    return -(1 + token) / 64


def rank(token: int) -> int:
    """1 for even tokens, 7 for odd ones."""
    return 7 if token % 2 else 1


def _message(role: str, said: bytes) -> list[int]:
    return [BEGIN, *role.encode(), *b":", *said, END]
