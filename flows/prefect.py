"""Prefect: which server is the user's, and whether it takes our word for who we are; and a server
for one run, where the user has none.

Prefect's own temporary server outlives a `kill -9` of the process that started it. Ours: `python -m
synth.flows.prefect PORT PARENT`, on loopback, quiet, and gone when its run is, killed or not.
"""

import base64
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit

from synth.schemas import ConfigError, SynthError

STARTS_WITHIN_S = 90.0
QUIET = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    "PREFECT_LOGGING_LEVEL": "ERROR",
    "PREFECT_SERVER_LOGGING_LEVEL": "ERROR",
    "PREFECT_LOGGING_TO_API_ENABLED": "false",
}
"""Prefect's settings where the user has set none: no analytics, no log lines between ours."""
SERVERS_AUTH = "PREFECT_SERVER_API_AUTH_STRING"
"""What a server holds its users' PREFECT_API_AUTH_STRING against."""
_REFUSES_US = (401, 403)


def quiet() -> None:
    """Sets `QUIET` where the user has set nothing; before Prefect is imported."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)


def named() -> str | None:
    """The user's server, by PREFECT_API_URL or their Prefect profile. Raises `ConfigError` for a
    URL that holds a password: it is shown.
    """
    from prefect.settings import PREFECT_API_URL

    found = PREFECT_API_URL.value()
    if found and "@" in urlsplit(str(found)).netloc:
        raise ConfigError(
            "PREFECT_API_URL: holds a user or password, and is shown in logs; set "
            "PREFECT_API_AUTH_STRING=user:password instead"
        )
    return str(found) if found else None


def users_server() -> tuple[str | None, str | None]:
    """The user's server, if there is one that answers, and one line where there is one that does
    not. Without one, nothing is imported.
    """
    if "PREFECT_API_URL" not in os.environ and not _has_profile():
        return None, None
    quiet()
    url = named()
    problem = None if url is None else _problem(url)
    if problem is None:
        return url, None
    return None, f"{problem}; schedules are not shown, and flow runs there are not closed"


def _has_profile() -> bool:
    home = Path(os.environ.get("PREFECT_HOME") or Path.home() / ".prefect")
    return (home / "profiles.toml").exists()


def users_api() -> str:
    """The user's server. Raises `SynthError` where none is named, or none answers."""
    quiet()
    url = named()
    if url is None:
        raise ConfigError(
            "Prefect: PREFECT_API_URL is not set; start a server with `prefect server start`, "
            "then: export PREFECT_API_URL=http://127.0.0.1:4200/api"
        )
    require_answer(url)
    return url


def require_answer(url: str) -> None:
    """Raises `SynthError` where no server answers there, `ConfigError` where it refuses us."""
    problem = _problem(url)
    if isinstance(problem, ConfigError):
        raise problem
    if problem is not None:
        raise SynthError(
            f"{problem} (PREFECT_API_URL); start one with `prefect server start`, or unset the "
            "variable"
        )


def _problem(url: str) -> SynthError | None:
    """Why this server is of no use to us, None where it is."""
    asked = urllib.request.Request(f"{url.rstrip('/')}/admin/version", headers=_authorization())
    try:
        if healthy(url):
            urllib.request.urlopen(asked, timeout=20).close()
            return None
    except HTTPError as error:
        return ConfigError(_unauthorized(url)) if error.code in _REFUSES_US else None
    except (OSError, HTTPException):
        pass
    return SynthError(f"Prefect: no server answers at {url}")


def _authorization() -> dict[str, str]:
    """As Prefect's own client sends it."""
    from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_KEY

    if auth := PREFECT_API_AUTH_STRING.value():
        return {"Authorization": f"Basic {base64.b64encode(str(auth).encode()).decode()}"}
    return {"Authorization": f"Bearer {key}"} if (key := PREFECT_API_KEY.value()) else {}


def _unauthorized(url: str) -> str:
    given = "the one that is set is not its own" if _authorization() else "none is set"
    return (
        f"Prefect: the server at {url} wants a PREFECT_API_AUTH_STRING, and {given}; set it to "
        f"what the server was started with as {SERVERS_AUTH}"
    )


@asynccontextmanager
async def users_client(lost: Callable[[str], None] | None = None) -> AsyncIterator[Any]:
    """A client of the user's server. Raises `SynthError` where that refuses a request; with `lost`
    nothing, and that is told the type of what went wrong.
    """
    import httpx
    from prefect import get_client

    try:
        async with get_client() as client:
            yield client
    except (httpx.HTTPError, OSError, RuntimeError) as error:
        if lost is not None:
            lost(type(error).__name__)
        elif isinstance(error, httpx.HTTPError):
            raise _refused(error) from error
        else:
            raise


def _refused(error: Exception) -> SynthError:
    """What the server has answered a request with (`httpx.HTTPError`), in one line."""
    response: Any = getattr(error, "response", None)
    if response is not None and response.status_code in _REFUSES_US:
        return ConfigError(_unauthorized(f"{response.url.scheme}://{response.url.netloc.decode()}"))
    try:
        said = str(response.json()["detail"])
    except (AttributeError, ValueError, KeyError, TypeError):
        said = str(error) or type(error).__name__
    line = f"Prefect: refused: {' '.join(said.split())[:300]}"
    unfit = response is not None and response.status_code == 422
    return ConfigError(line) if unfit else SynthError(line)


def healthy(url: str) -> bool:
    """Whether a Prefect server answers there, within twenty seconds: one on SQLite that is busy
    takes many.
    """
    try:
        with urllib.request.urlopen(f"{url.rstrip('/')}/health", timeout=20) as answer:
            return bool(answer.status == 200)
    except (OSError, ValueError, HTTPException):
        return False


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
        [sys.executable, "-P", "-m", "synth.flows.prefect", str(port), str(os.getpid())],
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
