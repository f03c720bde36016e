"""A chat server that costs next to nothing: plays the echo world's expert after a known delay. In a
process of its own.

Run: `python -m benchmarks.fixed_latency_server --latency-ms 300 [--slow-share 10] [--error-every
50]`; its first line is its base URL.
"""

import argparse
import asyncio
import signal
from collections.abc import Callable
from zlib import crc32

import msgspec

MODEL = "benchmark"
SLOWER = 10
"""Times that a slow reply takes longer."""
_PADDING = "x" * 700
"""Brings a response to about the 1.2 KB that real ones have."""


class _Message(msgspec.Struct):
    role: str
    content: str | None = None


class _Body(msgspec.Struct):
    messages: list[_Message]


_BODY = msgspec.json.Decoder(_Body)
_ENCODE = msgspec.json.Encoder().encode


def is_slow(goal: str, turn: int, one_in: int) -> bool:
    """Whether the reply to this turn of a task is one of the slow ones: the same in every run."""
    return one_in > 0 and crc32(f"{goal}|{turn}".encode()) % one_in == 0


def reply(body: bytes) -> tuple[bytes, str, int]:
    """The response to a request, the task's goal, and the turn: one call per word of the goal, then
    `finish`.
    """
    messages = _BODY.decode(body).messages
    goal = next(message.content or "" for message in messages if message.role == "user")
    turn = sum(message.role == "assistant" for message in messages)
    words = goal.rpartition(": ")[2].split()
    name, arguments = (
        ("echo", f'{{"text": "{words[turn]}"}}') if turn < len(words) else ("finish", "{}")
    )
    call = {
        "id": f"call_{turn}",
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    response = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "choices": [
            {"index": 0, "message": message, "finish_reason": "tool_calls", "padding": _PADDING}
        ],
        "usage": {
            "prompt_tokens": len(body) // 4,
            "completion_tokens": 20,
            "total_tokens": len(body) // 4 + 20,
        },
    }
    return _ENCODE(response), goal, turn


class _Connection(asyncio.Protocol):
    """One connection: requests come one after the other."""

    asked = 0

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, rest = self._received.partition(b"\r\n\r\n")
        if not found:
            return
        marker = head.lower().find(b"content-length:")
        length = int(head[marker + 15 :].split(b"\r\n", 1)[0]) if marker >= 0 else 0
        if len(rest) < length:
            return
        self._received = rest[length:]
        self._answer(head.split(b" ", 2)[1], rest[:length])

    def _answer(self, path: bytes, body: bytes) -> None:
        if path == b"/v1/models":
            self._send(_ENCODE({"data": [{"id": MODEL, "root": "weights"}]}))
            return
        if not path.endswith(b"/chat/completions"):
            self._send(b"", b"404 Not Found")
            return
        _Connection.asked += 1
        payload, goal, turn = reply(body)
        slow = is_slow(goal, turn, self._options.slow_share)
        delay_s = self._options.latency_ms / 1000 * (SLOWER if slow else 1)
        every, status = self._options.error_every, b"200 OK"
        if every and _Connection.asked % every == 0:
            status = b"500 Internal Server Error"
            delay_s *= crc32(b"%d" % _Connection.asked) / 2**32
        asyncio.get_running_loop().call_later(delay_s, self._send, payload, status)

    def _send(self, payload: bytes, status: bytes = b"200 OK") -> None:
        self._transport.write(
            b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
            % (status, len(payload), payload)
        )


async def serve(connection: Callable[[], asyncio.Protocol]) -> None:
    """Serves on a free port of loopback, whose base URL it prints, until it is terminated."""
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    server = await loop.create_server(connection, "127.0.0.1", 0, backlog=4096)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await stopped.wait()


def main() -> None:
    """Serves until it is terminated."""
    parser = argparse.ArgumentParser(
        description="A chat server with a known latency; its first line on stdout is its base URL."
    )
    parser.add_argument("--latency-ms", type=float, required=True)
    parser.add_argument(
        "--slow-share", type=int, default=0, help="one reply in so many takes ten times as long"
    )
    parser.add_argument(
        "--error-every",
        type=int,
        default=0,
        help="every so many requests one ends in HTTP 500, somewhere on its way",
    )
    options = parser.parse_args()
    asyncio.run(serve(lambda: _Connection(options)))


if __name__ == "__main__":
    main()
