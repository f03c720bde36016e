"""A Prefect server for one run, where the user has none: on loopback, quiet, and gone when its run
is, killed or not.

Prefect's own temporary server outlives a `kill -9` of the process that started it. Run: `python -m
synth.flows.prefect_server PORT PARENT`.
"""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from synth.flows.prefect_access import SERVERS_AUTH, healthy, named, quiet, require_answer
from synth.schemas.errors import SynthError

STARTS_WITHIN_S = 90.0


@contextmanager
def prefect_api() -> Iterator[str]:
    """The API to use: the user's server, or one that lives as long as this context. Raises
    `SynthError` where none answers.
    """
    quiet()
    theirs = named()
    if theirs is not None:
        require_answer(theirs)
        yield theirs
        return
    port = _free_port()
    url = f"http://127.0.0.1:{port}/api"
    server = subprocess.Popen(
        [sys.executable, "-P", "-m", "synth.flows.prefect_server", str(port), str(os.getpid())],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={name: value for name, value in os.environ.items() if name != SERVERS_AUTH}
        | {
            "PREFECT_UI_ENABLED": "0",
            "PREFECT__SERVER_EPHEMERAL": "1",
            "PREFECT__SERVER_FINAL": "1",
        },
    )
    try:
        _wait(server, url)
        from prefect.settings import PREFECT_API_URL, temporary_settings

        with temporary_settings({PREFECT_API_URL: url}):
            yield url
    finally:
        server.terminate()
        try:
            server.wait(timeout=10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _wait(server: "subprocess.Popen[bytes]", url: str) -> None:
    deadline = time.monotonic() + STARTS_WITHIN_S
    while not healthy(url):
        if server.poll() is not None:
            raise SynthError(
                f"Prefect: its server ended with code {server.returncode} at start; see `synth "
                "doctor`"
            )
        if time.monotonic() > deadline:
            raise SynthError(
                f"Prefect: its server did not answer within {STARTS_WITHIN_S:.0f} s; start one "
                "with `prefect server start`"
            )
        time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _die_with(parent: int) -> None:
    """Ends this process as soon as its parent is another one: a killed run leaves no server
    behind.
    """
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(0)


def _serve(port: int, parent: int) -> None:
    threading.Thread(target=_die_with, args=(parent,), daemon=True).start()
    import uvicorn
    from prefect.server.api.server import create_app

    uvicorn.run(create_app(), host="127.0.0.1", port=port, log_level="error", lifespan="on")


if __name__ == "__main__":
    _serve(int(sys.argv[1]), int(sys.argv[2]))
