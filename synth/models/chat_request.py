"""The body of a /chat/completions request, and what of it a server may have in its prefix cache
already.
"""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from synth.models.server_error import ServerError
from synth.schemas.canonical import canonical_json
from synth.schemas.model import Message, Sampling
from synth.schemas.trajectory import ToolSchema

_ENCODER = msgspec.json.Encoder()


def request_body(
    model: str,
    messages: Sequence[Message],
    tools: Sequence[ToolSchema],
    sampling: Sampling,
    also: Mapping[str, Any] | None = None,
) -> bytes:
    """The request as JSON; what `sampling` leaves open is left to the server, `also` gives way to
    it.

    Raises `ServerError` for text that is no UTF-8.
    """
    body: dict[str, Any] = {"model": model, "messages": messages, **(also or {})}
    if tools:
        body["tools"] = tools
    for field in ("temperature", "top_p", "max_tokens", "seed"):
        value = getattr(sampling, field)
        if value is not None:
            body[field] = value
    if sampling.stop:
        body["stop"] = sampling.stop
    body.update(sampling.extra)
    return encoded(model, body)


def encoded(model: str, body: Mapping[str, Any]) -> bytes:
    """A request's body as JSON. Raises `ServerError` for text that is no UTF-8."""
    try:
        return _ENCODER.encode(body)
    except UnicodeEncodeError as error:
        raise ServerError(f"model {model}: the messages cannot be sent: {error}") from error


def thoughts_under_both_names(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages with every past thought as `reasoning_content` and as `reasoning`.

    vLLM reads `reasoning`. Its chat endpoint also takes `reasoning_content` for it, /tokenize
    leaves that out without a word (0.32).
    """
    if not any("reasoning_content" in message for message in messages):
        return messages
    return [
        {**message, "reasoning": message["reasoning_content"]}
        if "reasoning_content" in message
        else message
        for message in messages
    ]


def opening_key(messages: Sequence[Message]) -> bytes:
    """8 bytes by which conversations with one opening are told from others: all up to the first
    user message.

    All turns of a trajectory, all trials of its task and all further attempts begin alike, and so
    share what a server keeps of it.
    """
    end = next(
        (i for i, message in enumerate(messages) if message.get("role") == "user"), len(messages)
    )
    return blake2b(canonical_json(messages[: end + 1]), digest_size=8).digest()
