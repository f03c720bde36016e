"""A loopback server that speaks /v1/chat/completions, with a deterministic model and planned
misbehaviour.

In a test:           with ChatServer(brain, mishaps=[Mishap("status", status=429), None]) as server:
... server.url ... server.counts()
As a process:        python -m tests.synth.models.chat_server --port 0 --brain echo --turns 8
--latency-ms 20   (prints its URL)
What it counted:     GET /counts     -> {"total", "by_hash": {hash of messages: requests},
"answered", "in_flight", "peak_in_flight"}
More trouble later:  POST /mishaps   <- [{"kind": "status", "status": 503}, null, ...], one per
coming request
"""

import argparse
import asyncio
import json
import signal
import threading
from collections import Counter, deque
from collections.abc import Iterable
from typing import Any

import msgspec
from aiohttp import web

from tests.synth.models.chat_brains import Brain, hashed, messages_hash, named_brain, response
from tests.synth.models.chat_mishaps import (
    ERRORS,
    KINDS,
    Mishap,
    cut,
    dribble,
    error,
    flood,
    key,
    named_mishap,
    spoilt,
)
from tests.synth.models.chat_tokens import logprob, rank, rendered


class ChatServer:
    """The server in a thread of its own, for as long as the `with` lasts; requests are numbered and
    take one mishap each.

    As vLLM does, it names the `root` of its weights, works on `slots` requests at a time (further
    ones wait, or where there is no
    `queue` are turned away with 429), shows /health and /metrics, and scores prompts (`dies_after`
    so many of them). `latency_s` may be
    changed while it runs.
    """

    def __init__(
        self,
        brain: Brain = hashed,
        *,
        mishaps: Iterable[Mishap | None] = (),
        latency_s: float = 0.0,
        port: int = 0,
        model: str = "test-model",
        root: str | None = None,
        fingerprint: str | None = "fp_test",
        slots: int = 1_000_000,
        queue: bool = True,
    ) -> None:
        self.brain = brain
        self.latency_s = latency_s
        self.port = port
        self.model = model
        self.root = root
        self.fingerprint = fingerprint
        self.slots = slots
        self.queue = queue
        self.healthy = self.renders_tools = self.shows_queue = True
        self.forgetful = False
        self.context = 10_000
        self.listed = self.scored = 0
        self.dies_after: int | None = None
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self._mishaps = deque(mishaps)
        self._by_hash: Counter[str] = Counter()
        self._answered = self._in_flight = self._peak = self._turned_away = 0

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
            "turned_away": self._turned_away,
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
        app.router.add_post("/v1/completions", self._score)
        app.router.add_post("/tokenize", self._tokenize)
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/health", self._health)
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get("/counts", self._counts)
        app.router.add_post("/mishaps", self._plan)
        self._room = asyncio.Semaphore(self.slots)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, backlog=4096)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Closes the connections, and ends the requests that hang."""
        await self._runner.cleanup()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _models(self, request: web.Request) -> web.Response:
        self.listed += 1
        return web.json_response(
            {
                "object": "list",
                "data": [{"id": self.model, "object": "model", "root": self.root, "parent": None}],
            }
        )

    async def _tokenize(self, request: web.Request) -> web.Response:
        body = await request.json()
        tools = body.get("tools") if self.renders_tools else None
        tokens = rendered(
            body["messages"], tools, answer=body["add_generation_prompt"], forgetful=self.forgetful
        )
        return web.json_response({"count": len(tokens), "tokens": tokens})

    async def _score(self, request: web.Request) -> web.Response:
        """`prompt_logprobs` as vLLM sends them: the first token has none, keys are strings."""
        prompt = (await request.json())["prompt"]
        if len(prompt) > self.context:
            return error(request, Mishap("context_length"))
        if (
            self.dies_after is not None
            and self.scored >= self.dies_after
            and request.transport is not None
        ):
            request.transport.abort()
            return web.Response(status=503)
        self.scored += 1
        scores = [
            {
                str(token): {
                    "logprob": logprob(token),
                    "rank": rank(token),
                    "decoded_token": chr(token),
                }
            }
            for token in prompt[1:]
        ]
        return web.json_response({"choices": [{"text": "", "prompt_logprobs": [None, *scores]}]})

    async def _health(self, request: web.Request) -> web.Response:
        return web.Response(status=200 if self.healthy else 503)

    async def _metrics(self, request: web.Request) -> web.Response:
        if not self.shows_queue:
            return web.Response(status=404)
        running = min(self._in_flight, self.slots)
        gauges = {"running": running, "waiting": self._in_flight - running}
        return web.Response(
            text="".join(
                f'vllm:num_requests_{k}{{engine="0",model_name="m"}} {v:.1f}\n'
                for k, v in gauges.items()
            )
        )

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
        if self._in_flight >= self.slots and not self.queue:
            self._turned_away += 1
            return error(request, Mishap("status", status=429))
        self._in_flight += 1
        self._peak = max(self._peak, self._in_flight)
        try:
            async with self._room:
                if self.latency_s:
                    await asyncio.sleep(self.latency_s)
                if mishap.delay_s and mishap.kind != "slow_bytes":
                    await asyncio.sleep(mishap.delay_s)
            return await self._answer(request, body, mishap)
        finally:
            self._in_flight -= 1

    async def _answer(
        self, request: web.Request, body: dict[str, Any], mishap: Mishap
    ) -> web.StreamResponse:
        kind = mishap.kind
        if kind in ("status", *ERRORS):
            return error(request, mishap)
        if kind == "hang":
            await asyncio.sleep(3600)
        if kind == "disconnect_before":
            cut(request)
            return web.Response()
        payload = json.dumps(
            spoilt(response({**body, "fingerprint": self.fingerprint}, self.brain(body)), kind)
        ).encode()
        if kind in ("disconnect", "slow_bytes"):
            return await dribble(request, payload, mishap)
        if kind in ("endless", "announced_endless"):
            return await flood(request, announced=kind == "announced_endless")
        if kind == "escaped_key":
            payload = payload.replace(
                b"KEY", "".join(f"\\u{ord(letter):04x}" for letter in key(request)).encode()
            )
        if kind == "truncated_json":
            payload = payload[: len(payload) // 2]
        elif kind == "malformed_json":
            payload = b'{"choices": [{"message": oops}]}'
        elif kind == "wrong_content_type":
            return web.Response(text="<html>gateway</html>", content_type="text/html")
        self._answered += 1
        return web.Response(body=payload, content_type="application/json")


def main(arguments: Iterable[str] | None = None) -> None:
    """Serves until it is terminated; the first line on stdout is the URL."""
    parser = argparse.ArgumentParser(
        description="A chat server for tests; its first line on stdout is its base URL."
    )
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--brain", choices=("hash", "echo", "echo-expert"), default="hash")
    parser.add_argument(
        "--turns", type=int, default=8, help="calls that the brain echo makes before it says done"
    )
    parser.add_argument("--latency-ms", type=float, default=0.0)
    parser.add_argument(
        "--mishaps",
        default="",
        help="one per request, comma-separated: ok, a status such as 503, or "
        f"{', '.join(KINDS[1:])}",
    )
    options = parser.parse_args(list(arguments) if arguments is not None else None)
    mishaps = [named_mishap(name) for name in options.mishaps.split(",") if name]
    server = ChatServer(
        named_brain(options.brain, options.turns),
        mishaps=mishaps,
        latency_s=options.latency_ms / 1000,
        port=options.port,
    )
    asyncio.run(_serve(server))


async def _serve(server: ChatServer) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    await server.start()
    print(server.url, flush=True)
    await stopped.wait()
    await server.stop()


if __name__ == "__main__":
    main()
