"""One MCP server, live: started confined, asked in turn, ended with all that it started."""

import asyncio
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from synth.boundary import imported
from synth.confinement import LOOK_S, HeldProcess, confined_command, environment_file, held, tree
from synth.envs.mcp.connection import EXTRA, Connection, ServerCommand, connected
from synth.envs.mcp.settings import McpSettings
from synth.envs.mcp.walk import TooLargeError, weight
from synth.keys import resolved
from synth.keys.remover import KeyRemover
from synth.schemas.errors import ConfigError
from synth.schemas.outcome import Fault
from synth.schemas.trajectory import ToolSchema

END_S = 5.0
CONNECTION_CLOSED = -32000
"""The library's code for a connection that is gone."""
MOST_TOOLS = 2000
LONGEST_WORDS = 300
LAST_WORDS = 64 << 10
"""Bytes of what it said in the end that keys are looked for in, before all but its last words are
cut off.
"""
_TELLING = re.compile(r"^.*\b(?:\w*Error|\w*Exception|error|panic|fatal)\b.*$", re.MULTILINE)
"""The line of a server's last words that says most."""


class McpServerError(Exception):
    """The server died, or did not answer in time; what it said last on stderr stands in the
    message.

    `fault`: what may be different in another try (that it starts, that it answers in time) is no
    fault of the world.
    """

    def __init__(self, words: str, fault: Fault = Fault.ENVIRONMENT) -> None:
        super().__init__(words)
        self.fault = fault


class McpServer:
    """The library's contexts live in a task of their own, because they end in the task that began
    them. One call at a time.
    """

    def __init__(self, settings: McpSettings, folder: Path) -> None:
        self._settings = settings
        self._folder = folder
        self._session: Any = None
        self._task: asyncio.Task[None] | None = None
        self._watch: asyncio.Task[str] | None = None
        self._stop = asyncio.Event()
        self._said: IO[str] | None = None
        self._connection: Connection | None = None
        self._processes = 0
        self.tools: tuple[Any, ...] = ()
        self.keys = KeyRemover({})

    async def start(self) -> None:
        """Starts the server and reads its tools. Raises `McpServerError`, and `ConfigError` where it
        has no tools, and where confinement
        or the library is missing.
        """
        environment, self.keys = resolved(self._settings.environment, "env.environment")
        client = imported(EXTRA, "mcp:ClientSession")
        self._stop = asyncio.Event()
        self._said = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - closed by `end`
        ready = asyncio.Event()
        with self._command(environment) as command:
            self._task = asyncio.create_task(self._live(command, client, ready))
            waiting = asyncio.create_task(ready.wait())
            try:
                await asyncio.wait(
                    {waiting, self._task},
                    timeout=self._settings.start_s,
                    return_when=asyncio.FIRST_COMPLETED,
                )
            finally:
                waiting.cancel()
        if not ready.is_set():
            problem = self._problem(
                "was not ready in time" if not self._task.done() else "did not start",
                Fault.INFRASTRUCTURE,
            )
            await self.end()
            raise problem
        if not self.tools:
            await self.end()
            left = (
                f" but those that `without` leaves out ({', '.join(self._settings.without)})"
                if self._settings.without
                else ""
            )
            raise ConfigError(
                f"the MCP server {self._named!r} lists no tools{left}: nothing can be done with it"
            )
        self._processes = self._count()
        self._watch = asyncio.create_task(self._outgrown())

    @property
    def lives(self) -> bool:
        """Whether it can be asked."""
        return self._task is not None and not self._task.done()

    @property
    def alone(self) -> bool:
        """Whether no process is left of what the calls started."""
        return self._count() <= self._processes

    @property
    def _named(self) -> str:
        return " ".join(self._settings.command)[:120]

    def _count(self) -> int:
        return len(tree(self._connection.process.pid)) if self._connection is not None else 0

    def _held(self) -> HeldProcess:
        return (
            held(self._connection.process.pid)
            if self._connection is not None
            else HeldProcess(0, 0)
        )

    @contextmanager
    def _command(self, environment: Mapping[str, str]) -> Iterator[ServerCommand]:
        """How the server is started; its variables never stand in a command line. Raises
        `ConfigError` where it cannot be confined.
        """
        settings, path = self._settings, {"PATH": os.environ.get("PATH", "")}
        if settings.unconfined:
            yield ServerCommand(
                settings.command,
                {**path, "HOME": str(self._folder), "LANG": "C.UTF-8", **environment},
            )
            return
        with environment_file(environment) as held:
            confined = confined_command(
                settings.command,
                folder=self._folder,
                limits=settings.limits,
                read_only=settings.shown,
                environment=held,
            )
            yield ServerCommand(confined, path, () if held is None else (held,))

    async def _live(self, command: ServerCommand, client: Any, ready: asyncio.Event) -> None:
        if self._said is None:
            raise RuntimeError("the server was ended before it was started")
        async with connected(command, self._folder, self._said, self.keys) as line:
            self._connection = line
            async with client(*line.streams) as session:
                await session.initialize()
                self.tools = tuple(
                    tool
                    for tool in await _tools(session)
                    if tool.name not in self._settings.without
                )
                self._session = session
                ready.set()
                await self._stop.wait()

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """The tool's result. Raises what the session raises for a refused call, `McpServerError` where
        no answer comes, and
        `TooLargeError` beyond the limits of disk and memory; after both the server is ended.
        """
        if self._task is None or self._task.done() or self._watch is None:
            raise self._problem("is not running")
        answer = asyncio.ensure_future(self._session.call_tool(name, dict(arguments)))
        try:
            await asyncio.wait(
                {answer, self._watch, self._task},
                timeout=self._settings.call_s,
                return_when=asyncio.FIRST_COMPLETED,
            )
        except asyncio.CancelledError:
            answer.cancel()
            raise
        too_much = self._watch.result() if self._watch.done() else self._disk()
        if too_much:
            await self._abandon(answer)
            raise TooLargeError(too_much)
        if not answer.done():
            late = (f"gave no answer in {self._settings.call_s:g} s", Fault.TIMEOUT)
            problem = self._problem("died") if self._task.done() else self._problem(*late)
            await self._abandon(answer)
            raise problem
        lost = answer.exception()
        if (
            lost is not None and getattr(lost, "code", None) == CONNECTION_CLOSED
        ):  # the server's end is a fault, no refusal of the call
            problem = self._problem(f"died while it answered {name}")
            await self.end()
            raise problem
        return await answer

    async def _abandon(self, answer: "asyncio.Future[Any]") -> None:
        answer.cancel()
        await asyncio.wait({answer})
        await self.end()

    async def _outgrown(self) -> str:
        """Returns when the processes, or the folder, hold more than they may: what, for the agent
        to read.
        """
        while True:
            await asyncio.sleep(LOOK_S)
            found = self._held()
            limits = self._settings.limits
            if found.memory > limits.memory_mb << 20:
                return f"the processes together hold more than {limits.memory_mb} MB of memory"
            if too_much := self._disk(found.deleted):
                return too_much

    def _disk(self, deleted: int = 0) -> str:
        most = self._settings.limits.disk_mb
        try:
            return (
                f"the world's folder holds more than {most} MB"
                if weight(self._folder) + deleted > most << 20
                else ""
            )
        except TooLargeError as error:
            return str(error)

    async def end(self) -> None:
        """Ends the session, its process and what that started."""
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.cancel()
        task, self._task = self._task, None
        if task is not None:
            self._stop.set()
            await asyncio.wait({task}, timeout=END_S)
            task.cancel()
            await asyncio.wait({task})
            with suppress(asyncio.CancelledError):
                task.exception()  # told already, in the error of the call or of the start
        if self._said is not None:
            self._said.close()
            self._said = None

    def _problem(self, what: str, fault: Fault = Fault.ENVIRONMENT) -> McpServerError:
        """With the server's own last words."""
        task = self._task
        error = (
            task.exception() if task is not None and task.done() and not task.cancelled() else None
        )
        cause = (
            f": {self.keys.clean_text(_first(error))[:LONGEST_WORDS]}" if error is not None else ""
        )
        amiss = (
            f"; it {self._connection.amiss}"
            if self._connection is not None and self._connection.amiss
            else ""
        )
        words = ""
        if self._said is not None:
            size = self._said.seek(0, os.SEEK_END)
            self._said.seek(max(0, size - LAST_WORDS))
            words = _telling(self.keys.clean_text(self._said.read())[-20 * LONGEST_WORDS :])
        return McpServerError(
            f"the MCP server {self._named!r} "
            f"{what}{cause}{amiss}{f'; it said: {words}' if words else ''}",
            fault,
        )


def _telling(text: str) -> str:
    """The line that names an error, where there is one, else the end."""
    lines = _TELLING.findall(text)
    return (
        " ".join(lines[-1].split())[:LONGEST_WORDS]
        if lines
        else " ".join(text[-LONGEST_WORDS:].split())
    )


async def _tools(session: Any) -> tuple[Any, ...]:
    """All pages of the server's tools, in its order. Raises `ValueError` for pages without an
    end.
    """
    found: list[Any] = []
    page = await session.list_tools()
    pages = imported(EXTRA, "mcp.types:PaginatedRequestParams")
    while True:
        found += page.tools
        if not page.next_cursor:
            return tuple(found)
        if len(found) > MOST_TOOLS:
            raise ValueError(f"it lists more than {MOST_TOOLS} tools")
        page = await session.list_tools(params=pages(cursor=page.next_cursor))


def schema_of(tool: Any) -> ToolSchema:
    """A tool as a model is shown it."""
    plain = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
    function = {
        "name": plain["name"],
        "description": plain.get("description", ""),
        "parameters": plain["inputSchema"],
    }
    return {"type": "function", "function": function}


def reads_only(tool: Any) -> bool:
    """Whether the server says that a tool changes nothing."""
    annotations = (
        tool.model_dump(mode="json", by_alias=True, exclude_none=True).get("annotations") or {}
    )
    return annotations.get("readOnlyHint") is True


def _first(error: BaseException) -> str:
    """The first cause in a group of exceptions, in one line."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"
