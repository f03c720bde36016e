"""The protocol of a question's part: it is given a bench with the world, and says what it found."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

from synth.engine.table import Table
from synth.envs.bots import players
from synth.envs.transcript import Transcript, perform, play
from synth.envs.world import EnvEntry
from synth.schemas.environment import AgentTurn, Env
from synth.schemas.policy import Episode, Policy
from synth.schemas.task import Task

MOST_TURNS = 60
Choose = Callable[[Episode], Policy]


class FailedError(Exception):
    """What is wrong with the world: the part that finds it fails."""


class NotTriedError(Exception):
    """Why a part does not apply."""


@dataclass(frozen=True)
class QuestionFinding:
    """`passed` is None where the part does not apply: the world does not claim what it looks at."""

    passed: bool | None
    detail: str = ""
    name: str = ""


@dataclass(frozen=True)
class AuditLimits:
    """What a world is held to.

    `call_ms` bounds the 99th percentile of a reset, step, check and snapshot; `episode_bytes` what
    a live episode may hold where the spec states no `memory_bytes`; `part_s` how long one part of a
    question may take (half of it is for repeated trials), `input_s` how long one call.
    """

    call_ms: float = 250.0
    loop_ms: float = 100.0
    episode_bytes: int = 64 * 2**20
    killed: float = 0.95
    accepted: float = 0.98
    part_s: float = 120.0
    input_s: float = 5.0


@dataclass(frozen=True)
class ConformanceRig:
    """A world on the bench: how it is opened, and the tasks it is tried on.

    `given`: the tasks were derived, not made by the world. `doing` names the last thing that was
    asked of the world, for the case that it never answers. `tables` are the numbers behind what is
    found.
    """

    world: EnvEntry
    config: Mapping[str, Any]
    seed: int
    tasks: Sequence[Task]
    call_limit_s: float = 5.0
    limits: AuditLimits = AuditLimits()
    doing: list[str] = field(default_factory=list)
    given: bool = False
    tables: list[Table] = field(default_factory=list)

    def open(self) -> Env:
        """A fresh instance."""
        return self.world.open(self.config)

    def claims(self, capability: str) -> bool:
        """Whether the world says that it has a capability, or is deterministic."""
        spec = self.world.spec
        return capability in spec.capabilities or (
            capability == "deterministic" and spec.deterministic
        )

    def note(self, doing: str) -> None:
        """Says what is asked of the world next."""
        self.doing[:] = [doing]

    def table(self, title: str, columns: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> None:
        """Leaves a table behind, unless it has no rows."""
        if rows:
            self.tables.append(Table(title, columns, tuple(tuple(map(str, row)) for row in rows)))

    @property
    def players(self) -> dict[str, Choose]:
        """The policies that can walk through the world, by name, the most telling first."""
        return players(self.world.spec)

    async def play(self, env: Env, task: Task, who: str = "", most: int = MOST_TURNS) -> Transcript:
        """An episode in this instance, by the most telling player unless one is named."""
        choose = self.players[who or next(iter(self.players))]
        return await play(env, task, choose, seed=self.seed, max_turns=most)

    async def played(
        self,
        task: Task,
        choose: Choose | None = None,
        *,
        seed: int | None = None,
        max_turns: int = MOST_TURNS,
    ) -> Transcript:
        """An episode in a fresh instance, by the most telling player unless a policy is given."""
        env, who = self.open(), choose or next(iter(self.players.values()))
        seeded = self.seed if seed is None else seed
        found = await play(env, task, who, seed=seeded, max_turns=max_turns)
        await env.close()
        return found

    async def performed(self, task: Task, actions: Sequence[AgentTurn]) -> Transcript:
        """An episode of given actions in a fresh instance."""
        env = self.open()
        found = await perform(env, task, actions)
        await env.close()
        return found

    def deadline(self) -> Callable[[], bool]:
        """Whether a part is to stop repeating trials, so that a slow world still gets an answer."""
        return over_after(self.limits.part_s / 2)


def over_after(seconds: float) -> Callable[[], bool]:
    """Whether that many seconds from now are over."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end


Part = Callable[[ConformanceRig], Awaitable[QuestionFinding]]
_CLAIMS = {
    "affordances": "affordances",
    "expert": "an expert",
    "facts": "facts",
    "recheck": "rechecks",
    "snapshot": "snapshots",
    "tasks": "to make tasks",
    "deterministic": "determinism",
}


def part(needs: str = "") -> Callable[[Callable[[ConformanceRig], Awaitable[str]]], Part]:
    """A part of a question, found under its own name; not asked of a world that lacks what it
    needs. It gives what was measured, or raises what is wrong (`FailedError`), or why it does not
    apply (`NotTriedError`).
    """

    def of(ask: Callable[[ConformanceRig], Awaitable[str]]) -> Part:
        @wraps(ask)
        async def asked(bench: ConformanceRig) -> QuestionFinding:
            try:
                if needs and not bench.claims(needs):
                    raise NotTriedError(f"the world does not claim {_CLAIMS[needs]}")
                return QuestionFinding(True, await ask(bench), ask.__name__)
            except (FailedError, NotTriedError) as found:
                passed = False if isinstance(found, FailedError) else None
                return QuestionFinding(passed, str(found), ask.__name__)

        return asked

    return of


def passes(passed: bool, detail: str) -> str:
    """What was measured, where it passes. Raises `FailedError` where it does not."""
    if not passed:
        raise FailedError(detail)
    return detail
