"""The protocol that every world speaks, and what crosses it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from synth.schemas.check import CheckResult, Facts
from synth.schemas.strict_record import StrictRecord
from synth.schemas.task import Task
from synth.schemas.trajectory import Observation, ToolCall, ToolSchema, Trajectory


class EnvSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What a world is and can do.

    `capabilities`: affordances, facts, snapshot, expert, recheck, tasks. `deterministic`: same seed
    and actions give the same
    normalised observations. `blocking`: its methods compute for long and are stepped on threads.
    `facts`: path pattern ->
    required | free | protected | generated. `profiles`: names of misconceptions that its expert can
    be given (read them with
    `synth.schemas.profile.spared`: guidance may rid it of some).
    """

    name: str
    version: str
    licence: str
    capabilities: frozenset[str] = frozenset()
    deterministic: bool = True
    blocking: bool = False
    memory_bytes: int = 0
    facts: Mapping[str, str] = msgspec.field(default_factory=dict)
    profiles: tuple[str, ...] = ()


class AgentTurn(StrictRecord, frozen=True):
    """What an agent does in one turn: text, calls, or both."""

    content: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    thought: str | None = None


class Opening(msgspec.Struct, frozen=True):
    """What the agent sees before its first turn; `greeting` is a canned assistant message, never
    trained on.
    """

    system_prompt: str | None
    tools: tuple[ToolSchema, ...]
    observations: tuple[Observation, ...]
    state_key: str | None = None
    greeting: str | None = None


class Response(msgspec.Struct, frozen=True):
    """What the world answers to a turn; `done` ends the episode."""

    observations: tuple[Observation, ...]
    state_key: str | None = None
    reward: float | None = None
    done: bool = False


class Snapshot(msgspec.Struct, frozen=True):
    """A world put aside: enough bytes to go on from the same state in another instance of the same
    world and version.
    """

    env: str
    version: str
    blob: bytes


class Env(Protocol):
    """One live world. Methods beyond `close` exist where `spec.capabilities` names them.

    Whatever an agent does (unknown tools, arguments that are no JSON, turns after the end) is
    answered by an error
    observation; exceptions are the world's own faults.
    """

    @property
    def spec(self) -> EnvSpec: ...
    async def reset(self, task: Task | None) -> Opening: ...
    async def step(self, turn: AgentTurn) -> Response: ...
    async def check(self) -> CheckResult: ...
    async def close(self) -> None: ...
    async def affordances(self) -> Sequence[AgentTurn]: ...
    async def facts(self) -> Facts: ...
    async def snapshot(self) -> Snapshot: ...
    async def restore(self, snapshot: Snapshot) -> None: ...
    async def expert(self, profile: str | None = None, seed: int = 0) -> AgentTurn: ...
    async def recheck(self, task: Task, trajectory: Trajectory) -> CheckResult: ...


OpenEnv = Callable[[str, Mapping[str, Any]], Env]
"""Opens a world by name and configuration; raises `ConfigError` for names and settings it does not
know.
"""

MakeTasks = Callable[[str, Mapping[str, Any], int, int], Sequence[Task]]
"""(world, configuration, seed, count) -> that many tasks, the same ones each time."""
