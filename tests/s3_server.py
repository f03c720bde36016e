"""A local S3 server with conditional puts (moto's) that can lose answers: `python -m tests.s3_server`.

It prints its URL and lives as long as its standard input. `POST /-/lose?count=N&path=TEXT`: the next N puts to paths with TEXT are carried
out and answered with an internal error, as by a server whose answer is lost; `GET /-/puts` counts all puts.
"""

import sys
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qs

Start = Callable[..., Any]


class Lossy:
    """The server's application behind one that loses answers."""

    def __init__(self, inner: Callable[[dict[str, Any], Start], Iterable[bytes]]) -> None:
        self._inner = inner
        self._left = 0
        self._path = ""
        self._puts = 0

    def __call__(self, request: dict[str, Any], start: Start) -> Iterable[bytes]:
        path = request["PATH_INFO"]
        if path == "/-/lose":
            asked = parse_qs(request["QUERY_STRING"])
            self._left, self._path = int(asked["count"][0]), asked["path"][0]
            start("200 OK", [])
            return [b""]
        if path == "/-/puts":
            start("200 OK", [])
            return [str(self._puts).encode()]
        if request["REQUEST_METHOD"] == "PUT":
            self._puts += 1
            if self._left and self._path in path:
                self._left -= 1
                list(self._inner(request, lambda *_, **__: None))
                start("500 Internal Server Error", [("Content-Type", "application/xml")])
                return [b"<Error><Code>InternalError</Code><Message>lost on the way</Message></Error>"]
        return self._inner(request, start)


def main() -> None:
    """Serves until standard input ends."""
    import logging
    import threading

    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, Lossy(DomainDispatcherApplication(create_backend_app)), threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{server.port}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
