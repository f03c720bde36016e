"""One live MCP world: a folder of its own and a server that works in it."""

import asyncio
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from synth.boundary import FaultError, imported
from synth.confinement import INSIDE
from synth.envs.echo_check import state_verdicts
from synth.envs.mcp.connection import EXTRA
from synth.envs.mcp.folder import (
    PLACES,
    facts_of,
    packed,
    removed,
    start_content,
    start_digest,
    unpacked,
)
from synth.envs.mcp.pool import given_back, lent
from synth.envs.mcp.proposing import proposed
from synth.envs.mcp.server import McpServer, McpServerError, reads_only, schema_of
from synth.envs.mcp.settings import McpConfig, McpSettings
from synth.envs.mcp.walk import TooLargeError, emptied
from synth.schemas.canonical import content_hash, valid_text
from synth.schemas.check import CheckResult, Facts
from synth.schemas.environment import AgentTurn, EnvSpec, Opening, Response, Snapshot
from synth.schemas.errors import ConfigError
from synth.schemas.task import Task
from synth.schemas.trajectory import Observation, Source, ToolCall, ToolSchema

SPEC = EnvSpec(
    name="mcp",
    version="2",
    licence="the server's own",
    capabilities=frozenset({"affordances", "facts", "snapshot", "tasks"}),
    memory_bytes=100 << 20,
    facts={
        "file/*/*": "required",
        "folder/*/*": "required",
        "record/*/*": "required",
        "row/*/*": "required",
        "table/*/*": "required",
    },
)
LOOKS_FIRST = 3
"""Turns at the start of an exploration in which tools that change things are not proposed, where
the server tells them apart.
"""
LONGEST_ANSWER = 50_000
DEEPEST = 100
"""Lists and objects in one another that a call may have; the library sends no more than about 250.
"""
NAMED = 30
"""Tools that an error names."""
EXPLORE = "Look around, and do what you like."


class _Saved(msgspec.Struct, frozen=True):
    task: Task | None
    folder: bytes
    start: dict[str, str | int | float | bool | None]
    turns: int
    told: bool


class McpEnv:
    """Its folder lies in the temporary folder of this machine and goes with it; the agent sees it
    as /world.
    """

    def __init__(self, settings: McpSettings, config: McpConfig | None = None) -> None:
        self._settings = settings
        self._config = config or McpConfig()
        self._folder: Path | None = None
        self._server: McpServer | None = None
        self._task: Task | None = None
        self._start: Facts = {}
        self._turns = 0
        self._told = False

    @property
    def spec(self) -> EnvSpec:
        """Of all MCP worlds."""
        return SPEC

    async def reset(self, task: Task | None) -> Opening:
        """A fresh copy of the start folder and a server of its own. Raises `ConfigError` where the
        start folder is another one now.
        """
        start = self._settings.start
        if self._config.digest is not None and start_digest(start) != self._config.digest:
            raise ConfigError(
                f"{self._settings.folder}: the start folder was changed since its tasks were "
                "made: put it back, or run the flow again, "
                "which makes new tasks of it as it is now"
            )
        await self._begin(start_content(start))
        self._task, self._turns, self._told = task, 0, False
        self._start = self._facts()
        goal = task.goal if task is not None else EXPLORE
        return Opening(
            self._config.system_prompt,
            self._schemas(),
            (Observation(goal, Source.USER),),
            self._state_key(),
        )

    async def _begin(self, content: bytes | None) -> None:
        if self._server is not None and not (self._settings.stateless and self._server.lives):
            await self._server.end()
            self._server = None
        if (
            self._server is not None and not self._server.alone
        ):  # what an episode left running would work in the next one's folder
            await self._server.end()
            self._server = None
        if (
            self._server is None
            and self._folder is None
            and (kept := lent(self._settings)) is not None
        ):
            self._server, self._folder = kept
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="synth-world-"))
        if content is None:
            await asyncio.to_thread(emptied, self._folder)
        else:
            await asyncio.to_thread(
                unpacked, content, self._folder, owned=not self._settings.unconfined
            )
        if self._server is None:
            self._server = McpServer(self._settings, self._folder)
            try:
                await self._server.start()
            except McpServerError as error:
                raise FaultError(error.fault, str(error)) from error

    def _live(self) -> tuple[McpServer, Path]:
        if self._server is None or self._folder is None:
            raise RuntimeError("the world was not reset")
        return self._server, self._folder

    def _schemas(self) -> tuple[ToolSchema, ...]:
        return tuple(schema_of(tool) for tool in self._live()[0].tools)

    async def step(self, turn: AgentTurn) -> Response:
        """The server's answers, in the order of the calls; words without a call end the work."""
        self._turns += 1
        seen = [await self._call(call) for call in turn.tool_calls]
        if not seen and self._told:
            seen = [Observation("The work is over.", Source.ENVIRONMENT, error=True)]
        elif not seen and not (turn.content or "").strip():
            seen = [
                Observation(
                    "An empty turn does nothing: call a tool, or say that the work is done.",
                    Source.ENVIRONMENT,
                    error=True,
                )
            ]
        elif not seen:
            self._told, seen = True, [Observation("Thank you.", Source.USER)]
        return Response(tuple(seen), self._state_key(), done=self._told)

    async def _call(self, call: ToolCall) -> Observation:
        server, _ = self._live()
        problem = None
        names = [tool.name for tool in server.tools]
        if self._told:
            problem = "The work is over."
        elif call.name not in names:
            problem = f"There is no tool {call.name[:80]!r}; the tools are {_listed(names)}."
        elif call.parse_error is not None:
            problem = call.parse_error
        elif _depth(call.parsed()) > DEEPEST:
            problem = f"The arguments are nested more than {DEEPEST} deep."
        if problem is not None:
            return Observation(
                valid_text(problem), Source.TOOL, call.call_id, valid_text(call.name), error=True
            )
        try:
            content, failed = _read(await server.call(call.name, self._outside(call.parsed())))
        except TooLargeError as error:
            content, failed = (
                f"The call was ended, and the world is as it was at the start: {error}.",
                True,
            )
            await self._shrunk()
        except McpServerError as error:
            raise FaultError(error.fault, str(error)) from error
        except refusal() as error:
            content, failed = f"The call was refused: {error}", True
        content = self._inside(content)
        failed = failed or any(re.search(pattern, content) for pattern in self._settings.refused)
        if len(content) > LONGEST_ANSWER:
            content = (
                f"{content[:LONGEST_ANSWER]}\n[{len(content) - LONGEST_ANSWER} characters "
                "more are not shown]"
            )
        return Observation(valid_text(content), Source.TOOL, call.call_id, call.name, error=failed)

    async def _shrunk(self) -> None:
        """After a world has outgrown its disk it goes on as it was at the start: a full disk is the
        agent's own doing.
        """
        start = self._settings.start
        await self._begin(start_content(start))

    def _outside(self, value: Any) -> Any:
        """Unconfined servers see the folder where it lies; agents never do."""
        if not self._settings.unconfined:
            return value
        if isinstance(value, str):
            return (
                str(self._folder) + value.removeprefix(INSIDE)
                if value == INSIDE or value.startswith(f"{INSIDE}/")
                else value
            )
        if isinstance(value, dict):
            return {name: self._outside(one) for name, one in value.items()}
        return [self._outside(one) for one in value] if isinstance(value, list) else value

    def _inside(self, text: str) -> str:
        text = text.replace(str(self._folder), INSIDE) if self._settings.unconfined else text
        text = self._live()[0].keys.clean_text(text)
        for pattern in self._settings.masked:
            text = re.sub(pattern, "<...>", text)
        return text

    async def check(self) -> CheckResult:
        """The task's predicates over the folder's facts."""
        facts = self._facts()
        changed = {path: value for path, value in facts.items() if self._start.get(path) != value}
        if self._task is None or self._task.check is None:
            return CheckResult(False, facts=changed, version=SPEC.version)
        free = msgspec.structs.replace(
            self._task.check, free=(*self._task.check.free, *PLACES)
        )  # a row's place changes with the row
        parts = state_verdicts(free, self._start, facts)
        return CheckResult(all(part.passed for part in parts), parts, changed, SPEC.version)

    async def close(self) -> None:
        """Ends the server and removes the folder, or keeps both for the next episode
        (envs/mcp/pool.py).
        """
        if (
            self._server is not None
            and self._folder is not None
            and given_back(self._settings, self._server, self._folder)
        ):
            self._server = self._folder = None
        if self._server is not None:
            await self._server.end()
            self._server = None
        if self._folder is not None:
            await asyncio.to_thread(removed, self._folder)
            self._folder = None

    async def affordances(self) -> Sequence[AgentTurn]:
        """Calls of every tool; at first of those alone that the server says only read."""
        server, _ = self._live()
        if self._told:
            return ()
        safe = [tool for tool in server.tools if reads_only(tool)]
        tools = (
            safe
            if safe and self._task is None and self._turns < LOOKS_FIRST
            else list(server.tools)
        )
        seed = (
            self._config.explored_seed if self._task is None else 0
        )  # it tells explorations apart, and nothing else
        draw = Random(f"{seed} {self._turns} {self._state_key()}")
        return [
            AgentTurn(tool_calls=(call,))
            for call in proposed([schema_of(tool) for tool in tools], self._facts(), draw)
        ]

    async def facts(self) -> Facts:
        """What the folder holds (envs/mcp/folder.py)."""
        return self._facts()

    def _facts(self) -> Facts:
        server, folder = self._live()
        return facts_of(folder, self._config.ignore, server.keys)

    def _state_key(self) -> str:
        return content_hash([self._facts(), self._told])

    async def snapshot(self) -> Snapshot:
        """The folder's copy; what a server keeps in memory alone is no part of it."""
        saved = _Saved(
            self._task, packed(self._live()[1]), dict(self._start), self._turns, self._told
        )
        return Snapshot(SPEC.name, SPEC.version, msgspec.msgpack.encode(saved))

    async def restore(self, snapshot: Snapshot) -> None:
        """The folder as it was put aside, with a server started on it. Raises `ValueError` for
        another world's snapshot.
        """
        if (snapshot.env, snapshot.version) != (SPEC.name, SPEC.version):
            raise ValueError(
                f"a snapshot of {snapshot.env} {snapshot.version} does not fit mcp {SPEC.version}"
            )
        saved = msgspec.msgpack.decode(snapshot.blob, type=_Saved)
        await self._begin(saved.folder)
        self._task, self._start, self._turns, self._told = (
            saved.task,
            saved.start,
            saved.turns,
            saved.told,
        )


def refusal() -> type[Exception]:
    """What the library raises for a call that the server turned down."""
    found: type[Exception] = imported(EXTRA, "mcp:MCPError")
    return found


def _depth(value: Any) -> int:
    """How deep lists and objects lie in one another; without recursion, as a model may write any
    depth.
    """
    depth, layer = 0, [value]
    while layer := [
        one
        for each in layer
        if isinstance(each, dict | list)
        for one in (each.values() if isinstance(each, dict) else each)
    ]:
        depth += 1
    return depth


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def _read(result: Any) -> tuple[str, bool]:
    """A result's text, and whether the tool calls it an error."""
    plain = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    parts = [_part(part) for part in plain.get("content", ())]
    return "\n".join(parts) or "(nothing)", bool(plain.get("isError", False))


def _part(part: dict[str, Any]) -> str:
    if part.get("type") == "text":
        return str(part["text"])
    if part.get("type") == "resource" and "text" in part.get("resource", {}):
        return str(part["resource"]["text"])
    return (
        f"[{part.get('type', 'something')} that is not shown: "
        f"{part.get('mimeType', 'no type given')}]"
    )
