"""The benchmarks' chat server, with a watch on it: when the first call came and the last reply
went, how many were under way at most.

Run: `python -m benchmarks.peers.observed_server --latency-ms 300`; its first line is its base URL.
`GET /observed` tells what it saw.
"""

import argparse
import asyncio
import time

import msgspec

from benchmarks.fixed_latency_server import MODEL, _Connection, reply, serve


class Observed(msgspec.Struct):
    """What the server saw so far; times on the system's monotonic clock, which all processes
    share.
    """

    calls: int = 0
    ended: int = 0
    """Episodes: replies that call `finish` or hold text."""
    in_flight: int = 0
    most_in_flight: int = 0
    connections: int = 0
    first_call_s: float = 0.0
    last_reply_s: float = 0.0


TASK = b"Echo these words"
"""In every request that is part of the work."""
TEXT = msgspec.json.encode(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Done. " * 130},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 200, "completion_tokens": 260, "total_tokens": 460},
    }
)
"""As long as a reply with a call."""


def reply_to_any(body: bytes) -> tuple[bytes, bool]:
    """The response, and whether it ends the episode. Where no tool `finish` is offered, text ends
    it; where none at all, at once.
    """
    if b'"tools"' not in body:
        return TEXT, True
    payload = reply(body)[0]
    last = b'"finish"' in payload
    return (TEXT if last and b'"finish"' not in body else payload), last


class _ObservedConnection(_Connection):
    """Counts, and answers after the latency."""

    seen = Observed()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.seen.connections += 1

    def _answer(self, path: bytes, body: bytes) -> None:
        if path == b"/observed":
            self._send(msgspec.json.encode(self.seen))
        elif path.endswith(b"/chat/completions") and TASK not in body:
            self._send(TEXT)  # a tool that tries out the server before it begins
        elif path.endswith(b"/chat/completions"):
            seen = self.seen
            seen.calls += 1
            seen.first_call_s = seen.first_call_s or time.monotonic()
            seen.in_flight += 1
            seen.most_in_flight = max(seen.most_in_flight, seen.in_flight)
            payload, last = reply_to_any(body)
            asyncio.get_running_loop().call_later(
                self._options.latency_ms / 1000, self._finish, payload, last
            )
        else:
            super()._answer(path, body)

    def _finish(self, payload: bytes, last: bool) -> None:
        self._send(payload)
        self.seen.in_flight -= 1
        self.seen.ended += last
        self.seen.last_reply_s = time.monotonic()


def main() -> None:
    """Serves until it is terminated."""
    parser = argparse.ArgumentParser(
        description="A chat server of known latency that counts; its first line on stdout is its "
        "base URL."
    )
    parser.add_argument("--latency-ms", type=float, required=True)
    options = parser.parse_args()
    asyncio.run(serve(lambda: _ObservedConnection(options)))


if __name__ == "__main__":
    main()
