"""How an environment is asked: a rig around it, and parts of questions that say what they found."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

from synth.engine.table import Table
from synth.envs.bots import players
from synth.envs.transcript import Transcript, difference, perform, play
from synth.envs.world import EnvEntry
from synth.schemas import AgentTurn, Env, Episode, Policy, Task

MOST_TURNS = 60
SHOWN = 12
"""Rows of a table of examples: enough to see what they have in common."""

Choose = Callable[[Episode], Policy]
Again = Callable[[Task, Transcript], Awaitable[Transcript]]
"""Does an episode of a task once more, in another way."""


class FailedError(Exception):
    """The environment is at fault: the part that raises it fails."""


class NotTriedError(Exception):
    """The part does not apply, for the reason that the message gives."""


@dataclass(frozen=True)
class QuestionFinding:
    """What a part found; `passed` is None where it does not apply to the environment."""

    passed: bool | None
    detail: str = ""
    name: str = ""


@dataclass(frozen=True)
class AuditLimits:
    """What an environment is held to.

    `call_ms` bounds the 99th percentile of a reset, step, check and snapshot, `loop_ms` the time
    that one call may hold the event loop. `episode_bytes` bounds a live episode where the spec
    states no `memory_bytes`. `killed` is the least share of mutants that fail, `accepted` the
    least share of other solutions that pass. `part_s` bounds one part of a question (half of it is
    for repeated trials), `input_s` one call.
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
    """An environment that is asked one part: how it is opened, and the tasks it is tried on.

    `given`: the tasks were derived from explorations, the environment did not make them. `doing`
    holds the last thing that was asked of the environment, in case it never answers. `tables` are
    the numbers behind the findings. `began` is when the part started.
    """

    world: EnvEntry
    config: Mapping[str, Any]
    seed: int
    tasks: Sequence[Task]
    limits: AuditLimits = AuditLimits()
    given: bool = False
    tables: list[Table] = field(default_factory=list)
    doing: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def open(self) -> Env:
        """A fresh instance."""
        return self.world.open(self.config)

    def claims(self, capability: str) -> bool:
        """Whether the environment says that it has a capability, or is deterministic."""
        spec = self.world.spec
        return capability in spec.capabilities or (
            capability == "deterministic" and spec.deterministic
        )

    def note(self, doing: str) -> None:
        """Remembers what is asked of the environment next."""
        self.doing[:] = [doing]

    @property
    def late(self) -> bool:
        """Whether repeated trials must stop, so that a slow environment still gets an answer."""
        return time.monotonic() > self.began + self.limits.part_s / 2

    def table(
        self,
        title: str,
        columns: tuple[str, ...],
        rows: Sequence[tuple[Any, ...]],
    ) -> None:
        """Adds a table to the evidence, unless it has no rows."""
        if rows:
            self.tables.append(Table(title, columns, tuple(tuple(map(str, row)) for row in rows)))

    def examples(
        self,
        title: str,
        columns: tuple[str, ...],
        rows: Sequence[tuple[str, ...]],
        first: str,
    ) -> str:
        """Adds the first rows to the evidence; gives the very first in the words of `first`."""
        self.table(title, columns, rows[:SHOWN])
        return first.format(*rows[0]) if rows else ""

    @property
    def players(self) -> dict[str, Choose]:
        """The policies that can act in the environment, by name, the most telling first."""
        return players(self.world.spec)

    async def played(
        self,
        task: Task,
        choose: Choose | None = None,
        *,
        env: Env | None = None,
        seed: int | None = None,
        max_turns: int = MOST_TURNS,
    ) -> Transcript:
        """An episode in `env`, else in a fresh instance, by the most telling player unless a
        policy is given.
        """

        live = self.open() if env is None else env
        who = choose or next(iter(self.players.values()))
        seeded = self.seed if seed is None else seed
        found = await play(
            live,
            task,
            who,
            seed=seeded,
            max_turns=max_turns,
        )

        if env is None:
            await live.close()

        return found

    async def alike(
        self,
        where: str,
        again: Again,
        whose: Mapping[str, Choose] | None = None,
        max_turns: int = MOST_TURNS,
    ) -> int:
        """Plays each task by each of the policies (by the most telling player, where none is
        given), and once more in another way. Counts the turns. Raises `FailedError` for the first
        episode that goes otherwise.
        """

        policies = whose or dict([next(iter(self.players.items()))])
        turns = 0
        for task in self.tasks:
            for who, choose in policies.items():
                expected = await self.played(task, choose, max_turns=max_turns)
                self.note(f"task {task.task_id} by {who}{where}")
                found = await again(task, expected)
                what = difference(expected, found)
                if what is None and found.actions != expected.actions:
                    what = "the actions differ"
                if what is not None:
                    raise FailedError(f"task {task.task_id} by {who}{where}: {what}"[:400])
                turns += len(found.actions)

        return turns

    async def performed(self, task: Task, actions: Sequence[AgentTurn]) -> Transcript:
        """An episode of given actions in a fresh instance."""
        env = self.open()
        found = await perform(env, task, actions)
        await env.close()
        return found


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
    """Makes a function a part of a question, which is not asked of an environment that lacks what
    it needs.

    The function gives what it measured, or raises what is wrong (`FailedError`), or why it does
    not apply (`NotTriedError`).
    """

    def of(ask: Callable[[ConformanceRig], Awaitable[str]]) -> Part:
        @wraps(ask)
        async def asked(bench: ConformanceRig) -> QuestionFinding:
            try:
                if needs and not bench.claims(needs):
                    raise NotTriedError(f"the world does not claim {_CLAIMS[needs]}")
                return QuestionFinding(True, await ask(bench), ask.__name__)
            except FailedError as error:
                return QuestionFinding(False, str(error), ask.__name__)
            except NotTriedError as error:
                return QuestionFinding(None, str(error), ask.__name__)

        return asked

    return of


def passes(passed: bool, detail: str) -> str:
    """What was measured. Raises `FailedError` with it where it does not pass."""
    if not passed:
        raise FailedError(detail)
    return detail
