"""A chat server on bare sockets that sends the key that it was sent back, in HTTP that is none."""

import json
import re
import socketserver
import threading
from collections.abc import Callable

from tests.attack.hostile_server import whole

CARDS = whole(
    json.dumps(
        {"object": "list", "data": [{"id": "m", "object": "model", "root": "weights"}]}
    ).encode(),
    Connection="close",
)


class EchoingServer:
    """Answers with what `echo` makes of the caller's key. Of `at` alone, where one is named; else
    its list of models is honest.
    """

    def __init__(self, echo: Callable[[bytes], bytes], at: str = "/") -> None:
        self.heard = 0

        class _Answers(socketserver.StreamRequestHandler):
            def handle(served) -> None:  # noqa: N805
                lines = b"".join(iter(served.rfile.readline, b"\r\n"))
                key = re.search(rb"(?i)authorization: *Bearer (.*?)\r\n", lines)
                size = re.search(rb"(?i)content-length: *(\d+)", lines)
                served.rfile.read(int(size[1]) if size else 0)
                echoes = at.encode() in lines.partition(b"\r\n")[0]
                self.heard += echoes
                served.wfile.write(echo(key[1] if key else b"") if echoes else CARDS)

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Answers)
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        """What a client takes as its base_url: by name, since clients keep cookies of named hosts
        alone.
        """
        return f"http://localhost:{self._server.server_address[1]}/v1"

    def __enter__(self) -> "EchoingServer":
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
