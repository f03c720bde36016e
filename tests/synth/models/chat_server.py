"""A loopback server that speaks /v1/chat/completions, with a deterministic model and planned misbehaviour.

In a test:           with ChatServer(brain, mishaps=[Mishap("status", status=429), None]) as server: ... server.url ... server.counts()
As a process:        python -m tests.synth.models.chat_server --port 0 --brain echo --turns 8 --latency-ms 20   (prints its URL)
What it counted:     GET /counts     -> {"total", "by_hash": {hash of messages: requests}, "answered", "in_flight", "peak_in_flight"}
More trouble later:  POST /mishaps   <- [{"kind": "status", "status": 503}, null, ...], one per coming request
"""

import argparse
import asyncio
import contextlib
import json
import signal
import threading
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from aiohttp import web

from tests.synth.models.chat_brains import Brain, called, hashed, messages_hash, named_brain, response

KINDS = (
    "status", "unauthorized", "context_length", "bad_request", "hang", "slow_bytes", "disconnect", "disconnect_before", "truncated_json",
    "malformed_json", "wrong_content_type", "empty_choices", "null_message", "broken_arguments", "duplicate_ids", "missing_ids",
    "wrong_finish_reason", "escaped_key", "endless", "announced_endless", "huge_usage", "negative_usage", "fractional_usage",
    "odd_token_ids",
)  # fmt: skip
_COUNTS = {"huge_usage": 2**70, "negative_usage": -1, "fractional_usage": 1.5}
ENDLESS = 65 * 2**20
_ERRORS = {
    "unauthorized": (401, "Incorrect API key provided: {key}", "invalid_api_key"),
    "context_length": (400, "This model's maximum context length is 4096 tokens.", "context_length_exceeded"),
    "bad_request": (400, "Invalid request: arguments must be valid JSON", "bad_request"),
}


class Mishap(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What goes wrong with one request; `delay_s` comes first (or between the bytes of `slow_bytes`)."""

    kind: str = "none"
    delay_s: float = 0.0
    status: int = 500
    retry_after: str | None = None


class ChatServer:
    """The server in a thread of its own, for as long as the `with` lasts; requests are numbered and take one mishap each."""

    def __init__(
        self,
        brain: Brain = hashed,
        *,
        mishaps: Iterable[Mishap | None] = (),
        latency_s: float = 0.0,
        port: int = 0,
        model: str = "test-model",
    ) -> None:
        self.brain = brain
        self.latency_s = latency_s
        self.port = port
        self.model = model
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self._mishaps = deque(mishaps)
        self._by_hash: Counter[str] = Counter()
        self._answered = self._in_flight = self._peak = 0

    @property
    def url(self) -> str:
        """What a client takes as its base_url."""
        return f"http://127.0.0.1:{self.port}/v1"

    def counts(self) -> dict[str, Any]:
        """What GET /counts says."""
        return {
            "total": sum(self._by_hash.values()),
            "by_hash": dict(self._by_hash),
            "answered": self._answered,
            "in_flight": self._in_flight,
            "peak_in_flight": self._peak,
        }

    def __enter__(self) -> "ChatServer":
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self.start(), self._loop).result(10)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self.stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def start(self) -> None:
        """Listens on loopback; `port` 0 becomes the port that was free."""
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/counts", self._counts)
        app.router.add_post("/mishaps", self._plan)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, backlog=4096)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Closes the connections, those that hang too."""
        await self._runner.cleanup()

    async def _models(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": self.model, "object": "model"}]})

    async def _counts(self, request: web.Request) -> web.Response:
        return web.json_response(self.counts())

    async def _plan(self, request: web.Request) -> web.Response:
        self._mishaps.extend(msgspec.json.decode(await request.read(), type=list[Mishap | None]))
        return web.json_response({"planned": len(self._mishaps)})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.bodies.append(body)
        self.headers.append(dict(request.headers))
        self._by_hash[messages_hash(body)] += 1
        mishap = (self._mishaps.popleft() if self._mishaps else None) or Mishap()
        self._in_flight += 1
        self._peak = max(self._peak, self._in_flight)
        try:
            if self.latency_s:
                await asyncio.sleep(self.latency_s)
            if mishap.delay_s and mishap.kind != "slow_bytes":
                await asyncio.sleep(mishap.delay_s)
            return await self._answer(request, body, mishap)
        finally:
            self._in_flight -= 1

    async def _answer(self, request: web.Request, body: dict[str, Any], mishap: Mishap) -> web.StreamResponse:
        kind = mishap.kind
        if kind in ("status", *_ERRORS):
            return _error(request, mishap)
        if kind == "hang":
            await asyncio.sleep(3600)
        if kind == "disconnect_before":
            _cut(request)
            return web.Response()
        payload = json.dumps(_spoilt(response(body, self.brain(body)), kind)).encode()
        if kind in ("disconnect", "slow_bytes"):
            return await _dribble(request, payload, mishap)
        if kind in ("endless", "announced_endless"):
            return await _flood(request, announced=kind == "announced_endless")
        if kind == "escaped_key":
            payload = payload.replace(b"KEY", "".join(f"\\u{ord(letter):04x}" for letter in _key(request)).encode())
        if kind == "truncated_json":
            payload = payload[: len(payload) // 2]
        elif kind == "malformed_json":
            payload = b'{"choices": [{"message": oops}]}'
        elif kind == "wrong_content_type":
            return web.Response(text="<html>gateway</html>", content_type="text/html")
        self._answered += 1
        return web.Response(body=payload, content_type="application/json")


def _error(request: web.Request, mishap: Mishap) -> web.Response:
    """An error in OpenAI's form; 401 repeats the key, as some servers do."""
    key = _key(request)
    status, text, code = _ERRORS.get(mishap.kind, (mishap.status, f"planned {mishap.status}", ""))
    headers = {"Retry-After": mishap.retry_after} if mishap.retry_after is not None else {}
    return web.json_response({"error": {"message": text.format(key=key), "code": code}}, status=status, headers=headers)


def _key(request: web.Request) -> str:
    return request.headers.get("Authorization", "").removeprefix("Bearer ")


def _spoilt(reply: dict[str, Any], kind: str) -> dict[str, Any]:
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
        calls = [called("echo", {"text": word}, call_id)["tool_calls"][0] for word in ("one", "two")]
        choice["message"] = {"role": "assistant", "content": None, "tool_calls": calls}
    elif kind in _COUNTS:
        reply["usage"]["completion_tokens"] = _COUNTS[kind]
    elif kind == "odd_token_ids":
        choice["token_ids"] = [1, -1]
    elif kind == "wrong_finish_reason":
        choice["finish_reason"] = "stop" if choice["message"].get("tool_calls") else "tool_calls"
    return reply


async def _dribble(request: web.Request, payload: bytes, mishap: Mishap) -> web.StreamResponse:
    """The whole body byte by byte, or half of it and then nothing more."""
    stream = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(payload))})
    await stream.prepare(request)
    if mishap.kind == "disconnect":
        await stream.write(payload[: len(payload) // 2])
        _cut(request)
        return stream
    for i in range(len(payload)):
        await stream.write(payload[i : i + 1])
        await asyncio.sleep(mishap.delay_s)
    return stream


async def _flood(request: web.Request, *, announced: bool) -> web.StreamResponse:
    """Spaces without end, or until the client has gone."""
    stream = web.StreamResponse(headers={"Content-Type": "application/json"} | ({"Content-Length": str(ENDLESS)} if announced else {}))
    await stream.prepare(request)
    with contextlib.suppress(ConnectionError):
        for _ in range(ENDLESS // 2**16):
            await stream.write(b" " * 2**16)
    return stream


def _cut(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.close()


def main(arguments: Iterable[str] | None = None) -> None:
    """Serves until it is terminated; the first line on stdout is the URL."""
    parser = argparse.ArgumentParser(description="A chat server for tests; its first line on stdout is its base URL.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--brain", choices=("hash", "echo", "echo-expert"), default="hash")
    parser.add_argument("--turns", type=int, default=8, help="calls that the brain echo makes before it says done")
    parser.add_argument("--latency-ms", type=float, default=0.0)
    parser.add_argument(
        "--mishaps", default="", help=f"one per request, comma-separated: ok, a status such as 503, or {', '.join(KINDS[1:])}"
    )
    options = parser.parse_args(list(arguments) if arguments is not None else None)
    mishaps = [_named(name) for name in options.mishaps.split(",") if name]
    server = ChatServer(named_brain(options.brain, options.turns), mishaps=mishaps, latency_s=options.latency_ms / 1000, port=options.port)
    asyncio.run(_serve(server))


def _named(name: str) -> Mishap | None:
    if name == "ok":
        return None
    if name.isdecimal():
        return Mishap("status", status=int(name))
    if name not in KINDS:
        raise SystemExit(f"mishap {name} is not known; known: ok, a status code, {', '.join(KINDS[1:])}")
    return Mishap(name)


async def _serve(server: ChatServer) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    await server.start()
    print(server.url, flush=True)
    await stopped.wait()
    await server.stop()


def fetch_counts(url: str) -> Mapping[str, Any]:
    """What a server in another process has counted; `url` is the base URL that it printed."""
    from urllib.request import urlopen

    with urlopen(f"{url.removesuffix('/v1')}/counts", timeout=10) as reply:
        return dict(json.load(reply))


if __name__ == "__main__":
    main()
