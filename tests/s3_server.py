"""A local S3 server with conditional puts (moto's) that can lose answers: `python -m
tests.s3_server`.

It prints its URL and lives as long as its standard input. `POST /-/lose?count=N&path=TEXT`: the
next N puts to paths with TEXT are carried
out and answered with an internal error, as by a server whose answer is lost; `GET /-/puts` counts
all puts.
"""

import contextlib
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

Start = Callable[..., Any]
ROOT = Path(__file__).resolve().parents[1]


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
                return [
                    b"<Error><Code>InternalError</Code><Message>lost on the way</Message></Error>"
                ]
        return self._inner(request, start)


@contextlib.contextmanager
def serving(*buckets: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Meanwhile a server runs in a process of its own, with these buckets: its URL, and the
    environment in which s3:// means it.
    """
    from s3fs import S3FileSystem

    process = subprocess.Popen(
        [sys.executable, "-m", "tests.s3_server"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    for bucket in buckets:
        make_bucket(url, bucket)
    # those of an earlier server, which is gone, are known by the same name
    S3FileSystem.clear_instance_cache()
    named = {
        "ENDPOINT_URL": url,
        "ACCESS_KEY_ID": "a",
        "SECRET_ACCESS_KEY": "b",
        "DEFAULT_REGION": "us-east-1",
    }
    try:
        yield url, {f"AWS_{name}": value for name, value in named.items()}
    finally:
        process.communicate()


def make_bucket(url: str, name: str) -> None:
    """A new bucket of the server at `url`."""
    urllib.request.urlopen(urllib.request.Request(f"{url}/{name}", method="PUT"))


def main() -> None:
    """Serves until standard input ends."""
    import logging
    import threading

    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server(
        "127.0.0.1", 0, Lossy(DomainDispatcherApplication(create_backend_app)), threaded=True
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{server.port}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
