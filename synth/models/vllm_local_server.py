"""A vLLM server on loopback as a worker process, from the interpreter of vLLM's own environment;
started again where it dies.
"""

import asyncio
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from synth.boundary import described
from synth.ledger.storage.journal import state_folder
from synth.models.http_server import HTTPServer
from synth.models.server_error import ServerError
from synth.models.settings import NO_KEY, ModelSettings
from synth.schemas.errors import ConfigError, SynthError

T = TypeVar("T")

MODULE = "vllm.entrypoints.openai.api_server"
"""Started as a module: the command `vllm` of some builds looks for a distribution of that name and
fails.
"""
WORKER = Path(__file__).with_name("vllm_local_worker.py")
RESTARTS = 3
STARTS_WITHIN_S = 1800.0
"""A first start downloads and compiles; a process that has died is noticed at once."""
SAID_EVERY_S = 30.0
QUIET = {
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_HOST_IP": "127.0.0.1",
    "PYTHONSAFEPATH": "1",
}
"""Where the user has set nothing else: no statistics sent, processes that talk over loopback, no
modules from the current folder.
"""
_LOG = logging.getLogger(__name__)


_SHARED: "dict[tuple[str, ...], LocalServer]" = {}


class LocalServer:
    """Started by the first call, inside the event loop that uses it; its output goes to `log`."""

    def __init__(
        self, settings: ModelSettings, command: Sequence[str], port: int, log: Path
    ) -> None:
        self.url = f"http://127.0.0.1:{port}/v1"
        self.users = 0
        self._command = command
        self._log = log
        self._health = HTTPServer(self.url, settings, NO_KEY)
        self._settled = asyncio.Event()
        self._supervising: asyncio.Task[None] | None = None

    async def serving(self, call: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What `call()` gives, begun when the server is healthy; it may try again while the server
        starts anew.

        Raises `ConfigError` where the server cannot be started, `SynthError` where it has died too
        often: in the midst of a call too.
        """
        supervising = await self._up()
        asked = asyncio.ensure_future(call())
        try:
            await asyncio.wait((asked, supervising), return_when=asyncio.FIRST_COMPLETED)
        finally:
            lost = asked.cancel()
        if lost:
            await asyncio.gather(asked, return_exceptions=True)
            await self._up()
        return asked.result()

    async def _up(self) -> "asyncio.Task[None]":
        """Waits until it is healthy. Raises what ended it."""
        if self._supervising is None:
            self._supervising = asyncio.get_running_loop().create_task(self._supervised())
            self._supervising.add_done_callback(lambda task: self._settled.set())
        await self._settled.wait()
        if self._supervising.done():
            error = None if self._supervising.cancelled() else self._supervising.exception()
            if isinstance(error, SynthError):
                raise type(error)(
                    str(error)
                ) from error  # every call its own, for they grow tracebacks
            raise SynthError(
                "vLLM: its worker is gone: "
                f"{described(error) if error is not None else 'it was closed'}"
            )
        return self._supervising

    async def close(self) -> None:
        """Ends the server and its processes, where this was its last user."""
        self.users -= 1
        if self.users > 0:
            return
        for key in [key for key, server in _SHARED.items() if server is self]:
            del _SHARED[key]
        if self._supervising is not None:
            self._supervising.cancel()
            await asyncio.wait([self._supervising])
        await self._health.close()

    async def _supervised(self) -> None:
        """Keeps it running, `RESTARTS` times anew. Raises `SynthError` in the end."""
        self._log.parent.mkdir(parents=True, exist_ok=True)
        for start in range(RESTARTS + 1):
            with self._log.open("ab") as log:
                worker = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-I", "-S", str(WORKER), str(os.getpid()), *self._command),
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=QUIET | os.environ,
                    # a group of its own; an interrupt at the terminal is the run's to handle
                    start_new_session=True,
                )
            try:
                await self._started(worker)
                self._settled.set()
                code = await worker.wait()
            finally:
                await _ended(worker)
            self._settled.clear()
            _LOG.warning(
                "vLLM has ended with code %s (log: %s); %s of %s restarts left",
                code,
                self._log,
                RESTARTS - start,
                RESTARTS,
            )
        raise SynthError(f"vLLM: it has died {RESTARTS + 1} times; its log says why: {self._log}")

    async def _started(self, worker: asyncio.subprocess.Process) -> None:
        """Waits for health. Raises `ConfigError`."""
        began = said = time.monotonic()
        _LOG.warning("vLLM starts, which takes one to some minutes (log: %s)", self._log)
        while not await self._healthy():
            now = time.monotonic()
            if worker.returncode is not None:
                raise ConfigError(
                    f"vLLM does not start: {_last_line(self._log)}; mend the model's settings, "
                    f"its log is {self._log}"
                )
            if now - began > STARTS_WITHIN_S:
                raise ConfigError(
                    f"vLLM has not become healthy within {STARTS_WITHIN_S:.0f} s; its log says "
                    f"why: {self._log}"
                )
            if now - said > SAID_EVERY_S:
                said = now
                _LOG.warning("vLLM is still starting after %.0f s", now - began)
            await asyncio.sleep(0.25)
        _LOG.warning("vLLM answers after %.0f s", time.monotonic() - began)

    async def _healthy(self) -> bool:
        try:
            await self._health.get("/health", 5.0, beside=True)
        except ServerError:
            return False
        return True


def shared_server(settings: ModelSettings, flags: Sequence[str]) -> LocalServer:
    """The server of these weights and flags: roles that agree in both share one, and each counts
    itself in `users`.
    """
    key = (str(settings.python), settings.model, *flags)
    if key not in _SHARED:
        port = _free_port()
        command = [
            str(Path(str(settings.python)).expanduser()),
            "-m",
            MODULE,
            "--host=127.0.0.1",
            f"--port={port}",
        ]
        command += [f"--model={settings.model}", f"--served-model-name={settings.model}", *flags]
        _SHARED[key] = LocalServer(
            settings, command, port, state_folder() / "vllm" / f"{os.getpid()}-{port}.log"
        )
    return _SHARED[key]


async def _ended(worker: asyncio.subprocess.Process) -> None:
    """Kills what is left of the worker's group: the server and the processes that it has started,
    whoever died first.
    """
    with suppress(ProcessLookupError):
        os.killpg(worker.pid, signal.SIGKILL)
    await worker.wait()


def _last_line(log: Path) -> str:
    """The last line of an error in the log, else its last line."""
    lines = [
        line.strip() for line in log.read_text(errors="replace").splitlines()[-400:] if line.strip()
    ]
    errors = [
        line
        for line in lines
        if "error" in line.lower() and "see root cause above" not in line.lower()
    ]
    return (errors or lines or ["its log is empty"])[-1][-300:]


def _free_port() -> int:
    """A port of loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
