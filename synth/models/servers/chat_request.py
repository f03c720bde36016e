"""A request to a model's server: its body, its tries, and what came back of it."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import msgspec

from synth.models.server_error import ServerError
from synth.schemas import Messages, Sampling, ToolSchemas, canonical_json

_ENCODER = msgspec.json.Encoder()


class Post(msgspec.Struct):
    """One request over all its tries: where it goes (`beside` the base path, or below it), its
    body, the conversation in it, and the URLs of the servers that have failed it so far.
    """

    path: str
    body: bytes
    messages: Messages
    beside: bool = False
    failed_at: set[str] = msgspec.field(default_factory=set)


class Received(msgspec.Struct, frozen=True):
    """The body of an answer, and the weights behind it where the transport knows them better than
    the answer; whether a key was taken out of the body, and how long the answer took.
    """

    body: bytes
    weights_id: str | None = None
    key_removed: bool = False
    latency_ms: float = 0.0


def request_body(
    model: str,
    messages: Messages,
    tools: ToolSchemas,
    sampling: Sampling,
    also: Mapping[str, Any] | None = None,
) -> bytes:
    """A /chat/completions request as JSON; what `sampling` leaves open is left to the server,
    `also` gives way to it.

    Raises `ServerError` for text that is no UTF-8.
    """
    asked = {
        "tools": tools or None,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "max_tokens": sampling.max_tokens,
        "seed": sampling.seed,
        "stop": sampling.stop or None,
    }
    given = {name: value for name, value in asked.items() if value is not None}
    body = {"model": model, "messages": messages, **(also or {}), **given, **sampling.extra}
    return encoded(model, body)


def encoded(model: str, body: Mapping[str, Any]) -> bytes:
    """A request's body as JSON. Raises `ServerError` for text that is no UTF-8."""
    try:
        return _ENCODER.encode(body)
    except UnicodeEncodeError as error:
        raise ServerError(f"model {model}: the messages cannot be sent: {error}") from error


def opening_key(messages: Messages) -> bytes:
    """8 bytes by which conversations with one opening are told from others: all up to the first
    user message.

    All turns of a trajectory, all trials of its task and all further attempts begin alike, and so
    share what a server keeps of it.
    """
    users = (i for i, message in enumerate(messages) if message.get("role") == "user")
    opening = messages[: next(users, len(messages)) + 1]
    return blake2b(canonical_json(opening), digest_size=8).digest()
