"""One live MCP environment: a folder of its own and a server that works in it."""

import asyncio
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from random import Random

import msgspec

from synth.boundary import FaultError, imported
from synth.confinement import INSIDE
from synth.envs.echo_check import judged
from synth.envs.episode import LastWords, answer, fits
from synth.envs.mcp.answers import cut, depth, outside, read
from synth.envs.mcp.connection import EXTRA
from synth.envs.mcp.pool import given_back, lent
from synth.envs.mcp.proposing import proposed
from synth.envs.mcp.server import McpServer, McpServerError, reads_only, schema_of
from synth.envs.mcp.settings import McpConfig, McpSettings
from synth.envs.mcp.state.folder import (
    PLACES,
    facts_of,
    packed,
    removed,
    start_content,
    start_digest,
    unpacked,
)
from synth.envs.mcp.state.walk import TooLargeError, emptied
from synth.schemas import (
    AgentTurn,
    CheckResult,
    ConfigError,
    EnvSpec,
    Facts,
    Observation,
    Opening,
    Response,
    Scalar,
    Snapshot,
    Source,
    Task,
    ToolCall,
    content_hash,
)

SPEC = EnvSpec(
    name="mcp",
    version="2",
    licence="the server's own",
    capabilities=frozenset({"affordances", "facts", "snapshot", "tasks"}),
    memory_bytes=100 << 20,
    facts=dict.fromkeys(
        ("file/*/*", "folder/*/*", "record/*/*", "row/*/*", "table/*/*"), "required"
    ),
)
LOOKS_FIRST = 3
"""Turns at the start of an exploration in which tools that change things are not proposed, where
the server tells them apart.
"""
DEEPEST = 100
"""Lists and objects in one another that a call may have; the library sends no more than about 250.
"""
NAMED = 30
"""Tools that an error names."""
EXPLORE = "Look around, and do what you like."
OVER = "The work is over."
LAST_WORDS = LastWords(
    OVER, "An empty turn does nothing: call a tool, or say that the work is done."
)


class _McpEpisode(msgspec.Struct):
    """All that an episode depends on; `folder` is what the folder holds, packed, in snapshots."""

    task: Task | None = None
    folder: bytes = b""
    start: dict[str, Scalar] = {}
    turns: int = 0
    told: bool = False


class McpEnv:
    """Its folder lies in the temporary folder of this machine and goes with it; the agent sees it
    as /world.
    """

    spec = SPEC

    def __init__(self, settings: McpSettings, config: McpConfig | None = None) -> None:
        self._settings = settings
        self._config = config or McpConfig()
        self._folder: Path | None = None
        self._server: McpServer | None = None
        self._episode = _McpEpisode()

    async def reset(self, task: Task | None) -> Opening:
        """A fresh copy of the start folder and a server of its own. Raises `ConfigError` where the
        start folder is another one now.
        """

        start = self._settings.start
        if self._config.digest is not None and start_digest(start) != self._config.digest:
            raise ConfigError(
                f"{self._settings.folder}: the start folder was changed since its tasks were "
                "made: put it back, or run the flow again, which makes new tasks of it as it is now"
            )

        server = await self._begin(start_content(start))
        self._episode = _McpEpisode(task, start=dict(self._facts()))
        goal = Observation(task.goal if task is not None else EXPLORE, Source.USER)
        tools = tuple(map(schema_of, server.tools))

        return Opening(self._config.system_prompt, tools, (goal,), self._state_key())

    async def step(self, turn: AgentTurn) -> Response:
        """The server's answers, in the order of the calls; words without a call end the work."""

        episode = self._episode
        episode.turns += 1
        seen = [await self._call(call) for call in turn.tool_calls]
        if not seen:
            said, episode.told = LAST_WORDS.answer(turn, over=episode.told)
            seen = [said]

        return Response(tuple(seen), self._state_key(), done=episode.told)

    async def check(self) -> CheckResult:
        """The task's predicates over the folder's facts."""

        check = self._episode.task.check if self._episode.task is not None else None
        if check is not None:
            # a row's place changes with the row
            check = msgspec.structs.replace(check, free=(*check.free, *PLACES))

        return judged(check, self._episode.start, self._facts(), SPEC.version)

    async def close(self) -> None:
        """Ends the server and removes the folder, or keeps both for the next episode
        (envs/mcp/pool.py).
        """

        server, folder = self._server, self._folder
        self._server = self._folder = None
        if server is not None and folder is not None and given_back(server, folder):
            return
        if server is not None:
            await server.end()
        if folder is not None:
            await asyncio.to_thread(removed, folder)

    async def affordances(self) -> Sequence[AgentTurn]:
        """Calls of every tool; at first of those alone that the server says only read."""

        episode, tools = self._episode, self._live()[0].tools
        if episode.told:
            return ()
        explores = episode.task is None
        safe = tuple(filter(reads_only, tools))
        if safe and explores and episode.turns < LOOKS_FIRST:
            tools = safe

        # the seed tells explorations apart, and nothing else
        seed = self._config.explored_seed if explores else 0
        draw = Random(f"{seed} {episode.turns} {self._state_key()}")
        calls = proposed(list(map(schema_of, tools)), self._facts(), draw)

        return [AgentTurn(tool_calls=(call,)) for call in calls]

    async def facts(self) -> Facts:
        """What the folder holds (envs/mcp/state/folder.py)."""
        return self._facts()

    async def snapshot(self) -> Snapshot:
        """The folder's copy; what a server keeps in memory alone is no part of it."""
        saved = msgspec.structs.replace(self._episode, folder=packed(self._live()[1]))
        return Snapshot(SPEC.name, SPEC.version, msgspec.msgpack.encode(saved))

    async def restore(self, snapshot: Snapshot) -> None:
        """The folder as it was put aside, with a server started on it. Raises `UnfitError` for
        another environment's snapshot.
        """
        saved = msgspec.msgpack.decode(fits(snapshot, SPEC), type=_McpEpisode)
        await self._begin(saved.folder)
        self._episode = saved

    async def _begin(self, content: bytes | None) -> McpServer:
        """A server, a kept one where there is one that may be used again, on a folder with this
        content.
        """

        if self._server is not None and not self._server.reusable:
            await self._server.end()
            self._server = None

        if self._server is None and self._folder is None:
            self._server, self._folder = lent(self._settings) or (None, None)
        folder = self._folder = self._folder or Path(tempfile.mkdtemp(prefix="synth-world-"))

        if content is None:
            await asyncio.to_thread(emptied, folder)
        else:
            owned = not self._settings.unconfined
            await asyncio.to_thread(unpacked, content, folder, owned=owned)

        if self._server is None:
            self._server = McpServer(self._settings, folder)
            try:
                await self._server.start()
            except McpServerError as error:
                raise FaultError(error.fault, str(error)) from error

        return self._server

    def _live(self) -> tuple[McpServer, Path]:
        if self._server is None or self._folder is None:
            raise RuntimeError("the world was not reset")

        return self._server, self._folder

    def _facts(self) -> Facts:
        server, folder = self._live()
        return facts_of(folder, self._config.ignore, server.keys)

    def _state_key(self) -> str:
        return content_hash([self._facts(), self._episode.told])

    async def _call(self, call: ToolCall) -> Observation:
        """One call's answer."""

        server, _ = self._live()
        problem = self._problem(call, [tool.name for tool in server.tools])
        if problem is not None:
            return answer(call, problem, failed=True)
        content, failed = await self._answer(server, call)

        return answer(call, content, failed=failed)

    def _problem(self, call: ToolCall, names: Sequence[str]) -> str | None:
        """Why a call never reaches the server."""

        if self._episode.told:
            return OVER
        if call.name not in names:
            more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
            tools = f"{', '.join(names[:NAMED])}{more}"
            return f"There is no tool {call.name[:80]!r}; the tools are {tools}."

        if call.parse_error is None and depth(call.parsed()) > DEEPEST:
            return f"The arguments are nested more than {DEEPEST} deep."

        return call.parse_error

    async def _answer(self, server: McpServer, call: ToolCall) -> tuple[str, bool]:
        """What the server answers, as the agent may see it, and whether that is an error. Raises
        `FaultError` where it dies, or does not answer.
        """

        refused: type[Exception] = imported(EXTRA, "mcp:MCPError")
        # unconfined servers see the folder where it lies; agents never do
        bare, folder = self._settings.unconfined, str(self._folder)
        try:
            arguments = outside(call.parsed(), folder) if bare else call.parsed()
            content, failed = read(await server.call(call.name, arguments))
        except TooLargeError as error:
            content = f"The call was ended, and the world is as it was at the start: {error}."
            failed = True
            # a full disk is the agent's own doing, so the episode goes on
            await self._begin(start_content(self._settings.start))
        except McpServerError as error:
            raise FaultError(error.fault, str(error)) from error
        except refused as error:
            content, failed = f"The call was refused: {error}", True

        if bare:
            content = content.replace(folder, INSIDE)
        content = self._live()[0].keys.clean_text(content)
        for pattern in self._settings.masked:
            content = re.sub(pattern, "<...>", content)
        failed = failed or any(re.search(pattern, content) for pattern in self._settings.refused)

        return cut(content), failed
