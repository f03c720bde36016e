"""What can go wrong with one request to the test server: in its status, in its body, or on the
way.
"""

import asyncio
import contextlib
from typing import Any

import msgspec
from aiohttp import web

from tests.synth.models.chat_brains import called

KINDS = (
    "status",
    "unauthorized",
    "context_length",
    "bad_request",
    "hang",
    "slow_bytes",
    "disconnect",
    "disconnect_before",
    "truncated_json",
    "malformed_json",
    "wrong_content_type",
    "empty_choices",
    "null_message",
    "broken_arguments",
    "duplicate_ids",
    "missing_ids",
    "wrong_finish_reason",
    "escaped_key",
    "endless",
    "announced_endless",
    "huge_usage",
    "negative_usage",
    "fractional_usage",
    "odd_token_ids",
    "logprobs_short",
)
_COUNTS = {"huge_usage": 2**70, "negative_usage": -1, "fractional_usage": 1.5}
ENDLESS = 65 * 2**20
ERRORS = {
    "unauthorized": (401, "Incorrect API key provided: {key}", "invalid_api_key"),
    "context_length": (
        400,
        "This model's maximum context length is 4096 tokens.",
        "context_length_exceeded",
    ),
    "bad_request": (400, "Invalid request: arguments must be valid JSON", "bad_request"),
}


class Mishap(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What goes wrong with one request; `delay_s` comes first (or between the bytes of
    `slow_bytes`).
    """

    kind: str = "none"
    delay_s: float = 0.0
    status: int = 500
    retry_after: str | None = None


def error(request: web.Request, mishap: Mishap) -> web.Response:
    """An error in OpenAI's form; 401 repeats the key, as some servers do."""
    bearer = key(request)
    status, text, code = ERRORS.get(mishap.kind, (mishap.status, f"planned {mishap.status}", ""))
    headers = {"Retry-After": mishap.retry_after} if mishap.retry_after is not None else {}
    return web.json_response(
        {"error": {"message": text.format(key=bearer), "code": code}},
        status=status,
        headers=headers,
    )


def key(request: web.Request) -> str:
    """The key that came with the request."""
    return request.headers.get("Authorization", "").removeprefix("Bearer ")


def spoilt(reply: dict[str, Any], kind: str) -> dict[str, Any]:
    """The reply with one thing wrong in it."""
    choice = reply["choices"][0]
    if kind == "empty_choices":
        reply["choices"] = []
    elif kind == "null_message":
        choice["message"] = None
    elif kind == "broken_arguments":
        choice["message"] = called("echo", '{"text": "never closed', "call_b")
    elif kind in ("duplicate_ids", "missing_ids"):
        call_id: Any = "call_same" if kind == "duplicate_ids" else None
        calls = [
            called("echo", {"text": word}, call_id)["tool_calls"][0] for word in ("one", "two")
        ]
        choice["message"] = {"role": "assistant", "content": None, "tool_calls": calls}
    elif kind in _COUNTS:
        reply["usage"]["completion_tokens"] = _COUNTS[kind]
    elif kind == "odd_token_ids":
        choice["token_ids"] = [1, -1]
    elif kind == "logprobs_short":
        choice["logprobs"]["content"].pop()
    elif kind == "wrong_finish_reason":
        choice["finish_reason"] = "stop" if choice["message"].get("tool_calls") else "tool_calls"
    return reply


async def dribble(request: web.Request, payload: bytes, mishap: Mishap) -> web.StreamResponse:
    """The whole body byte by byte, or half of it and then nothing more."""
    stream = web.StreamResponse(
        headers={"Content-Type": "application/json", "Content-Length": str(len(payload))}
    )
    await stream.prepare(request)
    if mishap.kind == "disconnect":
        await stream.write(payload[: len(payload) // 2])
        cut(request)
        return stream
    for i in range(len(payload)):
        await stream.write(payload[i : i + 1])
        await asyncio.sleep(mishap.delay_s)
    return stream


async def flood(request: web.Request, *, announced: bool) -> web.StreamResponse:
    """Spaces without end, or until the client has gone."""
    stream = web.StreamResponse(
        headers={"Content-Type": "application/json"}
        | ({"Content-Length": str(ENDLESS)} if announced else {})
    )
    await stream.prepare(request)
    with contextlib.suppress(ConnectionError):
        for _ in range(ENDLESS // 2**16):
            await stream.write(b" " * 2**16)
    return stream


def cut(request: web.Request) -> None:
    """Closes the connection without a word."""
    if request.transport is not None:
        request.transport.close()


def named_mishap(name: str) -> Mishap | None:
    """A mishap by what it is called on a command line: `ok`, a status, or a kind."""
    if name == "ok":
        return None
    if name.isdecimal():
        return Mishap("status", status=int(name))
    if name not in KINDS:
        raise SystemExit(
            f"mishap {name} is not known; known: ok, a status code, {', '.join(KINDS[1:])}"
        )
    return Mishap(name)
