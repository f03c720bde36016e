"""A chat server on bare sockets that lies now and then: in its bodies, in HTTP itself, in the
connection. The same seed, the same lies.
"""

import asyncio
import gzip
import json
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from random import Random
from typing import Any

from tests.attack.lies import BODY_LIES, CANARY, LIES, body_of, lied, lying_body
from tests.attack.quirks import QUIRKS
from tests.synth.models.chat_brains import Brain, messages_hash, response

Writer = asyncio.StreamWriter
Lie = Callable[[bytes, "Writer", Random], Awaitable[None]]
"""Says something in the place of an answer; its connection is closed then."""


def head(status: str = "200 OK", **headers: str) -> bytes:
    """The first lines of an answer."""
    lines = [
        f"HTTP/1.1 {status}",
        *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def whole(body: bytes, status: str = "200 OK", **headers: str) -> bytes:
    """An answer with the length of its body."""
    return head(status, Content_Length=str(len(body)), **headers) + body


def _sends(make: Callable[[bytes, Random], bytes]) -> Lie:
    async def lie(body: bytes, writer: Writer, draw: Random) -> None:
        writer.write(make(body, draw))

    return lie


async def _reset(body: bytes, writer: Writer, draw: Random) -> None:
    writer.write(head(Content_Length=str(len(body))) + body[: len(body) // 2])
    writer.transport.abort()


async def _dribbles(body: bytes, writer: Writer, draw: Random) -> None:
    writer.write(head(Content_Length=str(len(body))))
    for at in range(6):
        writer.write(body[at : at + 1])
        await asyncio.sleep(0.1)


async def _says_nothing(body: bytes, writer: Writer, draw: Random) -> None:
    await asyncio.sleep(0.6)


def _chunked(body: bytes, *, end: bytes) -> bytes:
    half = len(body) // 2
    return (
        head(Transfer_Encoding="chunked")
        + b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:half], body[half:]))
        + end
    )


RETRY_AFTER = ("31536000", "-1", "nan", "0", "1e400", "Fri, 31 Dec 9999 23:59:59 GMT", "soon", "")
WIRE_LIES: Mapping[str, Lie] = {
    "a length that is too long": _sends(
        lambda body, draw: head(Content_Length=str(len(body) + 7)) + body
    ),
    "a length that is too short": _sends(
        lambda body, draw: head(Content_Length=str(len(body) // 2)) + body
    ),
    "a length that is none": _sends(
        lambda body, draw: head(Content_Length=draw.choice(["-5", "x", "1e3", "0x10"])) + body
    ),
    "chunks that end too early": _sends(
        lambda body, draw: _chunked(body[: len(body) // 2], end=b"")
    ),
    "chunks of no length": _sends(
        lambda body, draw: head(Transfer_Encoding="chunked") + b"zz\r\n" + body
    ),
    "gzip that is cut off": _sends(
        lambda body, draw: whole(gzip.compress(body)[: len(body) // 4], Content_Encoding="gzip")
    ),
    "gzip that is none": _sends(lambda body, draw: whole(body, Content_Encoding="gzip")),
    "no answer": _sends(lambda body, draw: b""),
    "no HTTP": _sends(
        lambda body, draw: draw.choice(
            [b"hello\r\n\r\n", b"HTTP/9.9 abc\r\n\r\n", b"\x16\x03\x01\x02\x00\x01"]
        )
    ),
    "a header without end": _sends(
        lambda body, draw: b"HTTP/1.1 200 OK\r\nX: " + b"a" * 70_000 + b"\r\n\r\n" + body
    ),
    "a header that is cut off": _sends(lambda body, draw: b"HTTP/1.1 200 OK\r\nContent-Le"),
    "a reset": _reset,
    "byte by byte, too late": _dribbles,
    "silence": _says_nothing,
    "another success": _sends(
        lambda body, draw: whole(
            body, draw.choice(["201 Created", "202 Accepted", "206 Partial Content"])
        )
    ),
    "no content": _sends(
        lambda body, draw: whole(b"", draw.choice(["204 No Content", "205 Reset Content"]))
    ),
    "a server error": _sends(
        lambda body, draw: whole(
            body, draw.choice(["500 Oh", "502 Bad", "503 Busy", "504 Late", "529 Full"])
        )
    ),
    "too many requests": _sends(
        lambda body, draw: whole(body, "429 Slow", Retry_After=draw.choice(RETRY_AFTER))
    ),
    "a refusal that passes": _sends(
        lambda body, draw: whole(
            body, draw.choice(["400 Bad", "401 No", "403 No", "404 No", "418 Tea", "422 No"])
        )
    ),
}
ALL_LIES = (*LIES, *BODY_LIES, *WIRE_LIES, "sent elsewhere", "the reply of another conversation")


class HostileServer:
    """Answers as its brain does, with a lie in the place of a share of the answers and an oddity in
    that of another.

    `told` counts lies by kind, `replies` holds for each request by its messages what it was told,
    in order. What is sent elsewhere
    comes to `elsewhere`, a second port: nothing of ours may ever arrive there.
    """

    def __init__(
        self,
        brain: Brain,
        seed: str,
        *,
        lies: float = 0.4,
        quirks: float = 0.3,
        kinds: tuple[str, ...] = ALL_LIES,
    ) -> None:
        self._brain, self._lies, self._quirks, self._kinds = brain, lies, quirks, kinds
        self._draw = Random(seed)
        self._deck: list[str] = []
        self._tries: Counter[str] = Counter()
        self._past: list[tuple[str, bytes]] = []
        self.told: Counter[str] = Counter()
        self.replies: dict[str, list[str]] = {}
        self.elsewhere = 0

    @property
    def url(self) -> str:
        """What a client takes as its base_url."""
        return f"http://127.0.0.1:{self._port}/v1"

    def __enter__(self) -> "HostileServer":
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(10)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _start(self) -> None:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self._other = await asyncio.start_server(self._strayed, "127.0.0.1", 0)
        self._port = self._server.sockets[0].getsockname()[1]
        self._other_port = self._other.sockets[0].getsockname()[1]

    async def _stop(self) -> None:
        self._server.close()
        self._other.close()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _strayed(self, reader: asyncio.StreamReader, writer: Writer) -> None:
        self.elsewhere += 1
        writer.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: Writer) -> None:
        try:
            while await self._answered(reader, writer):
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            return
        finally:
            writer.close()

    async def _answered(self, reader: asyncio.StreamReader, writer: Writer) -> bool:
        """Whether the connection may go on."""
        lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        sizes = [
            int(line.partition(":")[2])
            for line in lines
            if line.lower().startswith("content-length:")
        ]
        sent = await reader.readexactly(sizes[0]) if sizes else b""
        if "/chat/completions" not in lines[0]:
            cards = json.dumps(
                {"object": "list", "data": [{"id": "test", "object": "model", "root": "weights"}]}
            ).encode()
            found = "/models" in lines[0]
            writer.write(whole(cards, "200 OK" if found else "404 Not Found"))
            return True
        return await self._replied(json.loads(sent), writer)

    async def _replied(self, body: dict[str, Any], writer: Writer) -> bool:
        asked = messages_hash(body)
        self._tries[asked] += 1
        honest = {
            **response(body, self._brain(body)),
            "id": f"chatcmpl-{self._draw.getrandbits(64):x}",
            "created": 1_700_000_000,
        }
        drawn = self._draw.random()
        if drawn < self._lies:
            self._deck = self._deck or self._draw.sample(self._kinds, len(self._kinds))
            kind = self._deck.pop()
            self.told[kind] += 1
            self.replies.setdefault(asked, []).append(kind)
            return await self._lie(kind, asked, honest, writer)
        if drawn < self._lies + self._quirks:
            honest = QUIRKS[self._draw.choice(list(QUIRKS))](honest, self._draw)
        self.replies.setdefault(asked, []).append("")
        payload = body_of(honest)
        self._past.append((asked, payload))
        writer.write(
            whole(payload, Content_Type=self._draw.choice(["application/json", "text/html"]))
        )
        return True

    async def _lie(self, kind: str, asked: str, honest: dict[str, Any], writer: Writer) -> bool:
        others = [payload for messages, payload in self._past if messages != asked]
        if kind == "the reply of another conversation" and others:
            payload = self._draw.choice(others[-20:])
        elif kind == "sent elsewhere":
            to, status = (
                f"http://127.0.0.1:{self._other_port}/v1/chat/completions",
                self._draw.choice(["301", "302", "303", "307", "308"]),
            )
            writer.write(head(f"{status} Moved", Location=to, Content_Length="0"))
            return True
        elif kind in WIRE_LIES:
            await WIRE_LIES[kind](body_of(lied(honest)), writer, self._draw)
            return False
        else:
            payload = lying_body(
                kind if kind in LIES or kind in BODY_LIES else "cut off", honest, self._draw
            )
        writer.write(whole(payload, Content_Type="application/json"))
        return True


__all__ = ["ALL_LIES", "CANARY", "HostileServer"]
