"""One MCP server, live: started confined, asked in turn, ended with all that it started."""

import asyncio
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from synth.boundary import imported
from synth.confinement import Inside, confined_command, environment_file, new_cgroup, no_cgroups
from synth.envs.episode import tool_schema
from synth.envs.mcp.connection import (
    EXTRA,
    LONGEST_WORDS,
    Connection,
    ServerCommand,
    connected,
    first_cause,
    last_words,
)
from synth.envs.mcp.holdings import Holdings
from synth.envs.mcp.settings import McpSettings
from synth.envs.mcp.state.walk import TooLargeError
from synth.keys import resolved
from synth.keys.remover import KeyRemover
from synth.schemas import ConfigError, Fault, ToolSchema

END_S = 5.0
CONNECTION_CLOSED = -32000
"""The library's code for a connection that is gone."""
MOST_TOOLS = 2000


class McpServerError(Exception):
    """The server died, or did not answer in time; what it said last on stderr stands in the
    message.

    `fault`: what may be different in another try (that it starts, that it answers in time) is no
    fault of the environment.
    """

    def __init__(self, words: str, fault: Fault = Fault.ENVIRONMENT) -> None:
        super().__init__(words)
        self.fault = fault


class McpServer:
    """The library's contexts live in a task of their own, because they end in the task that began
    them. One call at a time.
    """

    def __init__(self, settings: McpSettings, folder: Path) -> None:
        self.settings = settings
        self._named = " ".join(settings.command)[:120]
        self.tools: tuple[Any, ...] = ()
        self.keys = KeyRemover({})
        self._folder = folder
        self._session: Any = None
        self._task: asyncio.Task[None] | None = None
        self._watch: asyncio.Task[str] | None = None
        self._stop, self._ready = asyncio.Event(), asyncio.Event()
        self._said: IO[str] | None = None
        self._connection: Connection | None = None
        self._processes = 0
        self._holdings = Holdings(settings.limits, folder)

    async def start(self) -> None:
        """Starts the server and reads its tools. Raises `McpServerError`, and `ConfigError` where
        it has no tools, and where confinement or the library is missing.
        """

        environment, self.keys = resolved(self.settings.environment, "env.environment")
        client = imported(EXTRA, "mcp:ClientSession")
        if not self.settings.unconfined:
            await asyncio.to_thread(no_cgroups)  # the first look takes its time
        try:
            if not self.settings.unconfined:
                self._holdings.group = new_cgroup(self.settings.limits)
            # `end` closes it
            self._said = tempfile.TemporaryFile(  # noqa: SIM115
                "w+", encoding="utf-8", errors="replace"
            )
            with self._command(environment) as command:
                self._task = asyncio.create_task(self._live(command, client))
                await self._first_words(self._task)
        except BaseException:
            await self.end()
            raise

        if not self.tools:
            await self.end()
            without = ", ".join(self.settings.without)
            left = f" but those that `without` leaves out ({without})" if without else ""
            raise ConfigError(
                f"the MCP server {self._named!r} lists no tools{left}: nothing can be done with it"
            )

        self._processes = self._holdings.count()
        self._watch = asyncio.create_task(self._holdings.outgrown())

    async def _first_words(self, task: "asyncio.Task[None]") -> None:
        """Waits until the server is ready. Raises `McpServerError` where it is not in time."""
        waiting = asyncio.create_task(self._ready.wait())
        try:
            await _first_of(waiting, task, limit_s=self.settings.start_s)
        finally:
            waiting.cancel()

        if not self._ready.is_set():
            what = "did not start" if task.done() else "was not ready in time"
            raise await self._ended(what, Fault.INFRASTRUCTURE)

    @property
    def lives(self) -> bool:
        """Whether it can be asked."""
        return self._task is not None and not self._task.done()

    @property
    def reusable(self) -> bool:
        """Whether another episode may go on with it: what the calls of this one left running would
        work in the next one's folder.
        """
        return self.settings.stateless and self.lives and self._holdings.count() <= self._processes

    @contextmanager
    def _command(self, environment: Mapping[str, str]) -> Iterator[ServerCommand]:
        """How the server is started; its variables never stand in a command line. Raises
        `ConfigError` where it cannot be confined.
        """

        settings, path = self.settings, {"PATH": os.environ.get("PATH", "")}
        if settings.unconfined:
            own = {"HOME": str(self._folder), "LANG": "C.UTF-8", **environment}
            yield ServerCommand(settings.command, {**path, **own})
            return

        with environment_file(environment) as file:
            confined = confined_command(
                settings.command,
                folder=self._folder,
                limits=settings.limits,
                read_only=settings.shown,
                environment=file,
                inside=Inside(groups=self._holdings.entrances),
            )
            yield ServerCommand(confined, path, () if file is None else (file,))

    async def _live(self, command: ServerCommand, client: Any) -> None:
        if self._said is None:
            raise RuntimeError("the server was ended before it was started")

        try:
            async with connected(command, self._folder, self._said, self.keys) as line:
                self._connection, self._holdings.process = line, line.process.pid
                async with client(*line.streams) as session:
                    await session.initialize()
                    tools = await _tools(session)
                    self.tools = tuple(t for t in tools if t.name not in self.settings.without)
                    self._session = session
                    self._ready.set()
                    await self._stop.wait()
        except asyncio.CancelledError:  # the loop ends, and with it all kept servers
            self._holdings.leave()
            raise

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """The tool's result. Raises what the session raises for a refused call, `McpServerError`
        where no answer comes, and `TooLargeError` beyond the limits of disk and memory; after both
        the server is ended.
        """

        if self._task is None or self._task.done() or self._watch is None:
            raise self._problem("is not running")
        limit_s = self.settings.call_s
        answer = asyncio.ensure_future(self._session.call_tool(name, dict(arguments)))
        try:
            await _first_of(answer, self._watch, self._task, limit_s=limit_s)
        except asyncio.CancelledError:
            answer.cancel()
            raise

        too_much = self._watch.result() if self._watch.done() else self._holdings.too_much()
        if too_much or not answer.done():
            died = self._task.done()
            answer.cancel()
            await asyncio.wait({answer})
            if too_much:
                await self.end()
                raise TooLargeError(too_much)

            if died:
                raise await self._ended("died")
            raise await self._ended(f"gave no answer in {limit_s:g} s", Fault.TIMEOUT)

        # the server's end is a fault, no refusal of the call
        if getattr(answer.exception(), "code", None) == CONNECTION_CLOSED:
            raise await self._ended(f"died while it answered {name}")

        return await answer

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

        await self._holdings.close()

    async def _ended(self, what: str, fault: Fault = Fault.ENVIRONMENT) -> McpServerError:
        """The error with the server's own last words, after which the server is ended."""
        problem = self._problem(what, fault)
        await self.end()
        return problem

    def _problem(self, what: str, fault: Fault = Fault.ENVIRONMENT) -> McpServerError:
        told = [f"the MCP server {self._named!r} {what}"]
        task, line = self._task, self._connection
        ended = task is not None and task.done() and not task.cancelled()
        error = task.exception() if task is not None and ended else None
        if error is not None:
            told.append(f": {self.keys.clean_text(first_cause(error))[:LONGEST_WORDS]}")

        if line is not None and line.amiss:
            told.append(f"; it {line.amiss}")

        words = last_words(self._said, self.keys) if self._said is not None else ""
        if words:
            told.append(f"; it said: {words}")

        return McpServerError("".join(told), fault)


async def _first_of(*tasks: "asyncio.Future[Any]", limit_s: float) -> None:
    await asyncio.wait(tasks, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)


async def _tools(session: Any) -> list[Any]:
    """All pages of the server's tools, in its order. Raises `ValueError` for pages without an
    end.
    """

    pages = imported(EXTRA, "mcp.types:PaginatedRequestParams")
    page = await session.list_tools()
    found: list[Any] = list(page.tools)
    while page.next_cursor:
        if len(found) > MOST_TOOLS:
            raise ValueError(f"it lists more than {MOST_TOOLS} tools")
        page = await session.list_tools(params=pages(cursor=page.next_cursor))
        found += page.tools

    return found


def schema_of(tool: Any) -> ToolSchema:
    """A tool as a model is shown it."""

    plain = _plain(tool)
    return tool_schema(plain["name"], plain.get("description", ""), plain["inputSchema"])


def reads_only(tool: Any) -> bool:
    """Whether the server says that a tool changes nothing."""
    return (_plain(tool).get("annotations") or {}).get("readOnlyHint") is True


def _plain(tool: Any) -> dict[str, Any]:
    return dict(tool.model_dump(mode="json", by_alias=True, exclude_none=True))
