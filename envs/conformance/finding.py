"""The protocol of a question's part: it is given a bench with the world, and says what it found."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any

from synth.envs.conformance.experts import players
from synth.envs.transcript import Transcript, play
from synth.envs.world import EnvEntry
from synth.schemas.environment import Env
from synth.schemas.policy import Episode, Policy
from synth.schemas.task import Task

MOST_TURNS = 60


@dataclass(frozen=True)
class Finding:
    """`passed` is None where the part does not apply: the world does not claim what it looks at."""

    passed: bool | None
    detail: str = ""
    name: str = ""


@dataclass(frozen=True)
class Limits:
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
class Table:
    """Numbers or examples behind an answer."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Deadline:
    """When repeated trials stop, so that a slow world still gets an answer."""

    at: float

    @classmethod
    def within(cls, seconds: float) -> "Deadline":
        """That many seconds from now."""
        return cls(time.monotonic() + seconds)

    @property
    def over(self) -> bool:
        """Whether it has passed."""
        return time.monotonic() > self.at


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
    limits: Limits = Limits()
    doing: list[str] = field(default_factory=list)
    given: bool = False
    tables: list[Table] = field(default_factory=list)

    def open(self) -> Env:
        """A fresh instance."""
        return self.world.open(self.config)

    def claims(self, capability: str) -> bool:
        """Whether the world says that it has a capability."""
        return capability in self.world.spec.capabilities

    def note(self, doing: str) -> None:
        """Says what is asked of the world next."""
        self.doing[:] = [doing]

    def table(self, title: str, columns: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> None:
        """Leaves a table behind, unless it has no rows."""
        if rows:
            self.tables.append(Table(title, columns, tuple(tuple(map(str, row)) for row in rows)))

    @property
    def player(self) -> tuple[str, Callable[[Episode], Policy]]:
        """The most telling policy that can walk through the world, by name."""
        return next(iter(players(self.world.spec).items()))

    async def played(
        self,
        task: Task,
        choose: Callable[[Episode], Policy] | None = None,
        *,
        seed: int | None = None,
        max_turns: int = MOST_TURNS,
    ) -> Transcript:
        """An episode in a fresh instance, by `player` unless a policy is named."""
        env = self.open()
        found = await play(
            env,
            task,
            choose or self.player[1],
            seed=self.seed if seed is None else seed,
            max_turns=max_turns,
        )
        await env.close()
        return found

    def deadline(self) -> Deadline:
        """When a part stops repeating trials."""
        return Deadline.within(self.limits.part_s / 2)


Part = Callable[[ConformanceRig], Awaitable[Finding]]
_CLAIMS = {
    "affordances": "affordances",
    "expert": "an expert",
    "facts": "facts",
    "recheck": "rechecks",
    "snapshot": "snapshots",
    "tasks": "to make tasks",
    "deterministic": "determinism",
}


def part(needs: str = "") -> Callable[[Part], Part]:
    """A part of a question, found under its own name; not asked of a world that lacks what it
    needs.
    """

    def of(ask: Part) -> Part:
        @wraps(ask)
        async def asked(bench: ConformanceRig) -> Finding:
            able = bench.claims(needs) or (
                needs == "deterministic" and bench.world.spec.deterministic
            )
            if needs and not able:
                found = Finding(None, f"the world does not claim {_CLAIMS[needs]}")
            else:
                found = await ask(bench)
            return replace(found, name=ask.__name__)

        return asked

    return of
