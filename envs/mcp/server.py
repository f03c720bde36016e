"""One MCP server, live: started confined, asked in turn, ended with all that it started."""

import asyncio
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from envs.mcp.folder import TooLargeError, weight
from envs.mcp.settings import McpSettings
from schemas.trajectory import ToolSchema
from synth.boundary import imported
from synth.confinement import confined_command

LOOK_S = 0.5
"""How often the folder is weighed while a call runs."""
END_S = 3.0
CONNECTION_CLOSED = -32000
"""The library's code for a connection that is gone."""
_LIBRARY = ("mcp:ClientSession", "mcp:StdioServerParameters", "mcp.client.stdio:stdio_client")
LONGEST_WORDS = 300
EXTRA = "the library of MCP worlds (pip install 'synth-trajectories[mcp]')"


class ServerError(Exception):
    """The server died, or did not answer in time; what it said last on stderr stands in the message."""


class McpServer:
    """The library's contexts live in a task of their own, because they end in the task that began them. One call at a time."""

    def __init__(self, settings: McpSettings, folder: Path) -> None:
        self._settings = settings
        self._folder = folder
        self._session: Any = None
        self._task: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self._said: IO[str] | None = None
        self.tools: tuple[Any, ...] = ()

    async def start(self) -> None:
        """Starts the server and reads its tools. Raises `ServerError`, and `ConfigError` where confinement or the library is missing."""
        command = list(self._settings.command)
        if not self._settings.unconfined:
            settings, shown = self._settings, self._settings.shown
            command = confined_command(
                command, folder=self._folder, limits=settings.limits, read_only=shown, environment=settings.environment
            )
        library = [
            imported(EXTRA, target) for target in ("mcp:ClientSession", "mcp:StdioServerParameters", "mcp.client.stdio:stdio_client")
        ]
        self._stop = asyncio.Event()
        self._said = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - closed by `end`
        ready = asyncio.Event()
        self._task = asyncio.create_task(self._live(command, library, ready))
        waiting = asyncio.create_task(ready.wait())
        await asyncio.wait({waiting, self._task}, timeout=self._settings.start_s, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if not ready.is_set():
            problem = self._problem("was not ready in time" if not self._task.done() else "did not start")
            await self.end()
            raise problem

    @property
    def lives(self) -> bool:
        """Whether it can be asked."""
        return self._task is not None and not self._task.done()

    async def _live(self, command: list[str], library: list[Any], ready: asyncio.Event) -> None:
        client, parameters, over_stdio = library
        environment = {"PATH": os.environ.get("PATH", ""), **self._settings.environment} if self._settings.unconfined else {}
        server = parameters(command=command[0], args=command[1:], env=environment, cwd=str(self._folder))
        async with over_stdio(server, errlog=self._said) as (reading, writing), client(reading, writing) as session:
            await session.initialize()
            self.tools = tuple(tool for tool in await _tools(session) if tool.name not in self._settings.without)
            self._session = session
            ready.set()
            await self._stop.wait()

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """The tool's result. Raises what the session raises for a refused call, `ServerError` where no answer comes, and
        `TooLargeError` beyond the disk limit; after both the server is ended."""
        if self._task is None or self._task.done():
            raise self._problem("is not running")
        answer = asyncio.ensure_future(self._session.call_tool(name, dict(arguments)))
        watch = asyncio.create_task(self._grown())
        try:
            await asyncio.wait({answer, watch, self._task}, timeout=self._settings.call_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            watch.cancel()
        if weight(self._folder) > self._settings.limits.disk_mb << 20:
            await self._abandon(answer)
            raise TooLargeError(f"the world's folder holds more than {self._settings.limits.disk_mb} MB")
        if not answer.done():
            problem = self._problem("died" if self._task.done() else f"gave no answer in {self._settings.call_s:g} s")
            await self._abandon(answer)
            raise problem
        lost = answer.exception()
        if lost is not None and getattr(lost, "code", None) == CONNECTION_CLOSED:  # the server's end is a fault, no refusal of the call
            problem = self._problem(f"died while it answered {name}")
            await self.end()
            raise problem
        return await answer

    async def _abandon(self, answer: "asyncio.Future[Any]") -> None:
        answer.cancel()
        await asyncio.wait({answer})
        await self.end()

    async def _grown(self) -> None:
        """Returns when the folder is larger than it may be."""
        while weight(self._folder) <= self._settings.limits.disk_mb << 20:  # noqa: ASYNC110 - nobody tells when a folder grows
            await asyncio.sleep(LOOK_S)

    async def end(self) -> None:
        """Ends the session, its process and what that started."""
        task, self._task = self._task, None
        if task is not None:
            self._stop.set()
            await asyncio.wait({task}, timeout=END_S)
            task.cancel()
            await asyncio.wait({task})
        if self._said is not None:
            self._said.close()
            self._said = None

    def _problem(self, what: str) -> ServerError:
        """With the server's own last words."""
        task = self._task
        error = task.exception() if task is not None and task.done() and not task.cancelled() else None
        cause = f": {_first(error)}" if error is not None else ""
        words = ""
        if self._said is not None:
            self._said.seek(0)
            words = " ".join(self._said.read()[-LONGEST_WORDS:].split())
        return ServerError(
            f"the MCP server {' '.join(self._settings.command)[:120]!r} {what}{cause}{f'; it said: {words}' if words else ''}"
        )


async def _tools(session: Any) -> tuple[Any, ...]:
    """All pages of the server's tools, in its order."""
    found: list[Any] = []
    cursor = None
    while True:
        page = await session.list_tools() if cursor is None else await session.list_tools(cursor=cursor)
        found += page.tools
        cursor = getattr(page, "next_cursor", None) or getattr(page, "nextCursor", None)
        if not cursor:
            return tuple(found)


def schema_of(tool: Any) -> ToolSchema:
    """A tool as a model is shown it."""
    plain = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
    function = {"name": plain["name"], "description": plain.get("description", ""), "parameters": plain["inputSchema"]}
    return {"type": "function", "function": function}


def reads_only(tool: Any) -> bool:
    """Whether the server says that a tool changes nothing."""
    annotations = tool.model_dump(mode="json", by_alias=True, exclude_none=True).get("annotations") or {}
    return annotations.get("readOnlyHint") is True


def _first(error: BaseException) -> str:
    """The first cause in a group of exceptions, in one line."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"[:LONGEST_WORDS]
