"""A Prefect server for one run, where the user has none: on loopback, quiet, and gone when its run is, killed or not.

Prefect's own temporary server outlives a `kill -9` of the process that started it. Run as `python -m flows.prefect_server PORT PARENT`.
"""

import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError

from schemas.errors import ConfigError, SynthError

STARTS_WITHIN_S = 90.0
QUIET = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    "PREFECT_LOGGING_LEVEL": "ERROR",
    "PREFECT_SERVER_LOGGING_LEVEL": "ERROR",
    "PREFECT_LOGGING_TO_API_ENABLED": "false",
}
"""Prefect's settings where the user has set none: no analytics, no log lines between ours."""


def quiet() -> None:
    """Sets `QUIET` where the user has set nothing; before Prefect is imported."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)


def _named() -> str | None:
    """By PREFECT_API_URL or the user's Prefect profile."""
    from prefect.settings import PREFECT_API_URL

    found = PREFECT_API_URL.value()
    return str(found) if found else None


def users_server() -> tuple[str | None, str | None]:
    """The user's server, if there is one that answers, and one line where there is one that does not. Without one, nothing is imported."""
    if "PREFECT_API_URL" not in os.environ and not _has_profile():
        return None, None
    quiet()
    named = _named()
    if named is None or healthy(named):
        return named, None
    return None, f"Prefect: no server answers at {named}: schedules are not shown, and flow runs there are not closed"


def _has_profile() -> bool:
    home = Path(os.environ.get("PREFECT_HOME") or Path.home() / ".prefect")
    return (home / "profiles.toml").exists()


def users_api() -> str:
    """The user's server. Raises `SynthError` where none is named, or none answers."""
    quiet()
    named = _named()
    if named is None:
        raise ConfigError(
            "Prefect: PREFECT_API_URL is not set; start a server with `prefect server start`, "
            "then: export PREFECT_API_URL=http://127.0.0.1:4200/api"
        )
    _require_answer(named)
    return named


@contextmanager
def prefect_api() -> Iterator[str]:
    """The API to use: the user's server, or one that lives as long as this context. Raises `SynthError` where none answers."""
    quiet()
    theirs = _named()
    if theirs is not None:
        _require_answer(theirs)
        yield theirs
        return
    port = _free_port()
    url = f"http://127.0.0.1:{port}/api"
    server = subprocess.Popen(
        [sys.executable, "-m", "flows.prefect_server", str(port), str(os.getpid())],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1", "PREFECT__SERVER_FINAL": "1"},
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


def _require_answer(url: str) -> None:
    if not healthy(url):
        raise SynthError(
            f"Prefect: no server answers at {url} (PREFECT_API_URL); start one with `prefect server start`, or unset the variable"
        )


def _wait(server: "subprocess.Popen[bytes]", url: str) -> None:
    deadline = time.monotonic() + STARTS_WITHIN_S
    while not healthy(url):
        if server.poll() is not None:
            raise SynthError(f"Prefect: its server ended with code {server.returncode} at start; see `synth doctor`")
        if time.monotonic() > deadline:
            raise SynthError(f"Prefect: its server did not answer within {STARTS_WITHIN_S:.0f} s; start one with `prefect server start`")
        time.sleep(0.1)


def healthy(url: str) -> bool:
    """Whether a Prefect server answers there, within twenty seconds: one on SQLite that is busy takes many."""
    try:
        with urllib.request.urlopen(f"{url.rstrip('/')}/health", timeout=20) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError, ValueError):
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _die_with(parent: int) -> None:
    """Ends this process as soon as its parent is another one: a killed run leaves no server behind."""
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
