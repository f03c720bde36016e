"""Engine `vllm_offline`: vLLM's `LLM.chat` in a worker process, without a server; what waits is
played as one batch.
"""

import asyncio
import itertools
import json
import os
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from synth.ledger.storage.journal import state_folder
from synth.models.backoff import Pacing
from synth.models.local.vllm_environment import flags_of
from synth.models.local.vllm_local_server import (
    RESTARTS,
    does_not_start,
    end_worker,
    worker_of,
)
from synth.models.server_error import ServerError, refused
from synth.models.servers.chat_request import Post, Received
from synth.models.servers.http_chat import check_startable, vllm_chat, with_interpreter
from synth.models.servers.server_chat import ServerChat
from synth.models.servers.vllm_scoring import VLLMScoring
from synth.models.settings import ModelSettings
from synth.schemas import SynthError

T = TypeVar("T")
SCRIPT = Path(__file__).with_name("vllm_offline_worker.py")


class _WorkerLine(msgspec.Struct):
    """A line of the worker's; `ready` without an id is its first."""

    id: int | None = None
    status: int = 200
    body: msgspec.Raw = msgspec.Raw(b"null")


class OfflineWorker:
    """A process that holds one model, started by the first call, inside the event loop that uses
    it; calls wait until it is there. Where it dies it is started again, `RESTARTS` times, and its
    calls are asked again.
    """

    def __init__(self, settings: ModelSettings, flags: list[str]) -> None:
        python = str(Path(str(settings.python)).expanduser())
        self._command = [python, str(SCRIPT), settings.model, *flags]
        self._settings = settings
        self._log = state_folder() / "vllm" / f"{os.getpid()}-offline-{id(self):x}.log"
        self._ids = itertools.count()
        self._waiting: dict[int, asyncio.Future[_WorkerLine]] = {}
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._starts = 0
        self.users = 0

    async def serving(self, call: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What `call()` gives, begun when the model is loaded. Raises `ConfigError` where it cannot
        be, `SynthError` where the process has died too often.
        """
        await self._up()
        return await call()

    async def post(self, post: Post, timeout_s: float) -> Received:
        """One request. Raises `ServerError`."""
        process, number = await self._up(), next(self._ids)
        line = b'{"id":%d,"path":%s,"body":%s}\n' % (
            number,
            json.dumps(post.path).encode(),
            post.body,
        )
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            assert process.stdin is not None
            process.stdin.write(line)
            await process.stdin.drain()
            found = await asyncio.wait_for(answer, timeout_s)
        except TimeoutError as error:
            late = f"model {self._settings.model}: no reply within {timeout_s:g} s"
            raise ServerError(late, timeout=True, retryable=True) from error
        except OSError as error:
            raise self._gone() from error
        finally:
            self._waiting.pop(number, None)
        if found.status != 200:
            where = f"model {self._settings.model}, {post.path}"
            raise refused(self._settings, where, found.status, {}, bytes(found.body), 0.0)
        return Received(bytes(found.body), self._settings.model)

    async def close(self) -> None:
        """Ends the process, where this was its last user."""
        self.users -= 1
        if self.users > 0:
            return
        for key in [key for key, worker in _SHARED.items() if worker is self]:
            del _SHARED[key]
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait([self._reading])

    async def _up(self) -> asyncio.subprocess.Process:
        """The process with its model loaded; started where there is none."""
        async with self._starting:
            if self._process is None or self._reading is None or self._reading.done():
                if self._starts > RESTARTS:
                    raise SynthError(
                        f"vLLM: it has died {self._starts} times; its log says why: {self._log}"
                    )
                self._starts += 1
                self._process = await self._started()
                self._reading = asyncio.create_task(self._read(self._process))
            return self._process

    async def _started(self) -> asyncio.subprocess.Process:
        """Waits until the model is loaded. Raises `ConfigError`."""
        process = await worker_of(self._command, self._log, piped=True)
        assert process.stdout is not None
        try:
            first = await process.stdout.readline()
        except BaseException:
            await end_worker(process)
            raise
        if not first:
            await end_worker(process)
            raise does_not_start(self._log)
        return process

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        """Hands out answers until the process ends; then those who wait are told."""
        assert process.stdout is not None
        decoder = msgspec.json.Decoder(_WorkerLine)
        try:
            while line := await process.stdout.readline():
                found = decoder.decode(line)
                waiting = self._waiting.get(-1 if found.id is None else found.id)
                if waiting is not None and not waiting.done():
                    waiting.set_result(found)
        finally:
            await end_worker(process)
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(self._gone())

    def _gone(self) -> ServerError:
        said = f"model {self._settings.model}: vLLM has ended in the midst of a call"
        return ServerError(f"{said} (log: {self._log})", retryable=True)


@dataclass(frozen=True)
class _SharedWorker:
    """The transport of one client of a process, which outlives it where it has others."""

    worker: OfflineWorker
    room: int

    async def post(self, post: Post, timeout_s: float) -> Received:
        """See `OfflineWorker.post`."""
        return await self.worker.post(post, timeout_s)

    async def close(self) -> None:
        """The process is closed as such."""


_SHARED: dict[tuple[str, ...], OfflineWorker] = {}


def open_model(settings: ModelSettings) -> ServerChat:
    """A client whose model is loaded by the first call; roles with the same weights and flags share
    one process. Raises `ConfigError`.
    """
    settings = with_interpreter(settings)
    check_startable(settings)
    flags = [*flags_of(str(settings.python)), *settings.server_args]
    key = (str(settings.python), settings.model, *flags)
    worker = _SHARED.setdefault(key, OfflineWorker(settings, flags))
    worker.users += 1
    return vllm_chat(_SharedWorker(worker, settings.max_in_flight), settings, Pacing(), worker)


def open_scoring(settings: ModelSettings) -> VLLMScoring:
    """The same model as one that gives probabilities."""
    return VLLMScoring(open_model(settings))
