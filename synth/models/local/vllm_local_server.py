"""A vLLM server on loopback as a worker process, from the interpreter of vLLM's own environment;
started again where it dies.
"""

import asyncio
import logging
import os
import re
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
from synth.models.server_error import ServerError
from synth.models.servers.http_server import HTTPServer
from synth.models.settings import ModelSettings
from synth.schemas import ConfigError, SynthError

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
LONGEST_LINE = 2**28
"""Bytes of one answer through a pipe: probabilities of a long text are some megabytes."""
QUIET = {
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_HOST_IP": "127.0.0.1",
    "PYTHONSAFEPATH": "1",
}
"""Where the user has set nothing else: no statistics sent, processes that talk over loopback, no
modules from the current folder.
"""
_ERROR = re.compile("^(?!.*see root cause above).*error", re.IGNORECASE)
_LOG = logging.getLogger(__name__)


class LocalServer:
    """Started by the first call, inside the event loop that uses it; its output goes to a log below
    the state folder.
    """

    def __init__(self, settings: ModelSettings, flags: Sequence[str]) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:  # a port that nobody listens on
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/v1"
        self.users = 0

        python = str(Path(str(settings.python)).expanduser())
        names = [f"--{name}={settings.model}" for name in ("model", "served-model-name")]
        address = ["--host=127.0.0.1", f"--port={port}"]
        self._command = [python, "-m", MODULE, *address, *names, *flags]

        self._log = state_folder() / "vllm" / f"{os.getpid()}-{port}.log"
        self._health = HTTPServer(self.url, self.reached_by(settings))

        self._settled = asyncio.Event()
        self._supervising: asyncio.Task[None] | None = None

    def reached_by(self, settings: ModelSettings) -> ModelSettings:
        """The settings of a client of this server."""
        return settings.model_copy(update={"engine": "vllm", "base_url": self.url})

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
            self._supervising = asyncio.create_task(self._supervised())
            self._supervising.add_done_callback(lambda task: self._settled.set())

        await self._settled.wait()
        if not self._supervising.done():
            return self._supervising

        error = None if self._supervising.cancelled() else self._supervising.exception()
        if isinstance(error, SynthError):
            # every call its own, for they grow tracebacks
            raise type(error)(str(error)) from error
        why = "it was closed" if error is None else described(error)
        raise SynthError(f"vLLM: its worker is gone: {why}")

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
        for start in range(RESTARTS + 1):
            worker = await worker_of(self._command, self._log)
            try:
                await self._started(worker)
                self._settled.set()
                code = await worker.wait()
            finally:
                await end_worker(worker)

            self._settled.clear()
            _LOG.warning(
                f"vLLM has ended with code {code} (log: {self._log}); {RESTARTS - start} of "
                f"{RESTARTS} restarts left"
            )

        raise SynthError(f"vLLM: it has died {RESTARTS + 1} times; its log says why: {self._log}")

    async def _started(self, worker: asyncio.subprocess.Process) -> None:
        """Waits for health. Raises `ConfigError`."""
        began = said = time.monotonic()
        _LOG.warning(f"vLLM starts, which takes one to some minutes (log: {self._log})")

        while True:
            with suppress(ServerError):
                await self._health.get("/health", 5.0, beside=True)
                break

            now = time.monotonic()
            if worker.returncode is not None:
                raise does_not_start(self._log)

            if now - began > STARTS_WITHIN_S:
                raise ConfigError(
                    f"vLLM has not become healthy within {STARTS_WITHIN_S:.0f} s; its log says "
                    f"why: {self._log}"
                )

            if now - said > SAID_EVERY_S:
                said = now
                _LOG.warning(f"vLLM is still starting after {now - began:.0f} s")

            await asyncio.sleep(0.25)

        _LOG.warning(f"vLLM answers after {time.monotonic() - began:.0f} s")


_SHARED: dict[tuple[str, ...], LocalServer] = {}


def shared_server(settings: ModelSettings, flags: Sequence[str]) -> LocalServer:
    """The server of these weights and flags: roles that agree in both share one, and each counts
    itself in `users`.
    """
    key = (str(settings.python), settings.model, *flags)
    if key not in _SHARED:
        _SHARED[key] = LocalServer(settings, flags)
    return _SHARED[key]


async def worker_of(
    command: Sequence[str], log: Path, *, piped: bool = False
) -> asyncio.subprocess.Process:
    """A worker that runs a command, and ends with this process; what it says goes to the log, but
    where it is asked and answers through pipes (`piped`).
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as file:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", str(WORKER), str(os.getpid()), *command),
            stdin=asyncio.subprocess.PIPE if piped else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE if piped else file,
            stderr=file,
            env=QUIET | os.environ,
            # a group of its own; an interrupt at the terminal is the run's to handle
            start_new_session=True,
            limit=LONGEST_LINE,
        )


async def end_worker(worker: asyncio.subprocess.Process) -> None:
    """Ends a worker and all that it has started, whoever died first."""
    with suppress(ProcessLookupError):
        os.killpg(worker.pid, signal.SIGKILL)
    await worker.wait()


def does_not_start(log: Path) -> ConfigError:
    """For a worker that has ended before it could be asked."""
    return ConfigError(
        f"vLLM does not start: {last_line(log)}; mend the model's settings, its log is {log}"
    )


def last_line(log: Path) -> str:
    """The last line of an error in the log, else its last line."""
    text = log.read_text(errors="replace")
    lines = [line.strip() for line in text.splitlines()[-400:] if line.strip()]

    errors = [line for line in lines if _ERROR.search(line)]
    return (errors or lines or ["its log is empty"])[-1][-300:]
