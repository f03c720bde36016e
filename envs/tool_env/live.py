"""A `ToolEnv` as the engine takes it: `synth.schemas.environment.Env` around a session."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from synth.envs.tool_env.kit import ToolEnv
from synth.envs.tool_env.session import Saved, Session
from synth.schemas.canonical import canonical_json
from synth.schemas.check import CheckResult, Facts
from synth.schemas.environment import AgentTurn, EnvSpec, Opening, Response, Snapshot
from synth.schemas.profile import spared
from synth.schemas.task import Task
from synth.schemas.trajectory import ToolCall, Trajectory

DONE = "That is done."


class LiveToolEnv:
    """One live environment."""

    def __init__(self, kind: type[ToolEnv], spec: EnvSpec, config: Mapping[str, Any]) -> None:
        self._fresh = partial(Session, kind, spec.name, config)
        self._spec = spec
        self._session = self._fresh()

    @property
    def spec(self) -> EnvSpec:
        """What it is and can do."""
        return self._spec

    async def reset(self, task: Task | None) -> Opening:
        """A new episode."""
        self._session = self._fresh()
        return self._session.begin(task)

    async def step(self, turn: AgentTurn) -> Response:
        """The answers to a turn's calls, or to its words."""
        return self._session.take(turn)

    async def check(self) -> CheckResult:
        """The task's predicates over the facts."""
        return self._session.verdict()

    async def close(self) -> None:
        """Holds nothing."""

    async def affordances(self) -> Sequence[AgentTurn]:
        """Calls that could be made now, one a turn."""
        call_id, acts = f"call_{self._session.turns}", self._session.affordances()
        return tuple(calling(call_id, name, arguments) for name, arguments in acts)

    async def facts(self) -> Facts:
        """`state/now/<key>`."""
        return self._session.facts()

    async def snapshot(self) -> Snapshot:
        """The episode as JSON."""
        blob = msgspec.json.encode(self._session.saved())
        return Snapshot(self._spec.name, self._spec.version, blob)

    async def restore(self, snapshot: Snapshot) -> None:
        """The episode as it was put aside. Raises `ValueError` for another's snapshot."""
        if (snapshot.env, snapshot.version) != (self._spec.name, self._spec.version):
            ours = f"{self._spec.name} {self._spec.version}"
            raise ValueError(f"a snapshot of {snapshot.env} {snapshot.version} does not fit {ours}")
        self._session = self._fresh()
        self._session.restore(msgspec.json.decode(snapshot.blob, type=Saved))

    async def expert(self, profile: str | None = None, seed: int = 0) -> AgentTurn:
        """The first of the task's gold calls that was not made yet; after all, that it is done."""
        session, (name, _), world = self._session, spared(profile), self._spec.name
        if name not in ("correct", "mixed"):
            raise ValueError(f"{world} has no expert profile {name!r}; it has correct and mixed")
        if session.task is None or not session.task.gold:
            raise ValueError(f"{world}: no expert knows this task: it has no gold calls")
        if session.golden == len(session.task.gold):
            return AgentTurn(DONE)
        call, call_id = session.task.gold[session.golden], f"call_{session.turns}"
        return AgentTurn(tool_calls=(msgspec.structs.replace(call, call_id=call_id),))

    async def recheck(self, task: Task, trajectory: Trajectory) -> CheckResult:
        """The task's present check, over the recorded turns done again."""
        session = self._fresh()
        session.begin(task)
        for turn in trajectory.turns:
            session.take(AgentTurn(turn.content, turn.tool_calls))
        return session.verdict()


def calling(call_id: str, name: str, arguments: Mapping[str, Any]) -> AgentTurn:
    """A turn of one call."""
    text = canonical_json(arguments).decode()
    return AgentTurn(tool_calls=(ToolCall.received(call_id, name, text),))
