"""Reverse task synthesis: explore without a task, say afterwards what was achieved, keep what
passes tests T1 to T8 (A2; rigor 7).

Sources: OS-Genesis, arXiv 2412.19723 (explore, then name); tests and zones are our own. No row of
an exploration is a trajectory: the stages after this one play its tasks anew.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from pydantic import Field

from synth.boundary import FaultError
from synth.engine.study.method import Method, synthesizer
from synth.engine.study.shard import OF_ALL, ShardContext
from synth.engine.study.stage_context import StageContext, cost_line
from synth.ledger.ledger import Score
from synth.rollout.threads import Threads
from synth.schemas.canonical import content_hash
from synth.schemas.errors import ConfigError, SynthError
from synth.schemas.outcome import Fault
from synth.schemas.stage import Shard
from synth.schemas.task import Task
from synth.synthesizers.reverse.choosing import METRIC, Explored, TaskChoice, chosen
from synth.synthesizers.reverse.deriving import Ground, exploration_tasks
from synth.synthesizers.reverse.exploration import Experience
from synth.synthesizers.reverse.report import report_of
from synth.synthesizers.reverse.role_writer import GoalWriter
from synth.synthesizers.tasks import refuse_mistyped

RECIPE = 2
"""To be raised with every change to which tasks an exploration gives."""
CHOICE = "choice"
NEEDED = ("affordances", "facts")
LIMIT_S = 600.0
"""Wall clock of one exploration with all its tests, without what a writer takes."""


Explorer = Callable[[int], Awaitable[tuple[list[Task], Explored]]]
"""What an exploration gave, by its place; where the environment broke, nothing, and at which
boundary.
"""


@synthesizer("reverse_task")
class ReverseTask(Method):
    """How many explorations of how many steps; a task joins at most `window` operations, and an
    exploration gives at most `per_exploration` tasks out of `windows` tries. `tasks` is the most
    that are kept in all, distinct ones first; None keeps all.

    `shard` explorations learn from one another which tools do what, and are committed together.
    `role` names a model of the flow that writes the goals in the place of the environment's own
    rules.
    """

    unit = "explorations"
    needs_env = True
    at_once = 1

    explorations: int = Field(default=40, ge=1, le=100_000)
    steps: int = Field(default=25, ge=1, le=500)
    window: int = Field(default=4, ge=1, le=5)
    windows: int = Field(default=12, ge=1, le=500)
    per_exploration: int = Field(default=2, ge=1, le=50)
    tasks: int | None = Field(default=None, ge=1)
    shard: int = Field(default=20, ge=1, le=1000)
    role: str | None = None

    def agents(self) -> Sequence[str]:
        """Nobody plays: affordances are drawn."""
        return ()

    def bind(self) -> None:
        """Who writes the goals. Raises `ConfigError` for what the environment lacks."""
        env, world = self.bound.env.name, self.bound.entry
        missing = [one for one in NEEDED if one not in world.spec.capabilities]
        if missing:
            raise ConfigError(
                f"reverse_task explores by affordances and checks by facts; world {env!r} does not "
                f"claim {' nor '.join(missing)}"
            )
        if self.role is None and world.write_goal is None:
            raise ConfigError(
                f"reverse_task: world {env!r} has no rules that say what was achieved "
                "(EnvEntry.write_goal); let a model say it: `role: writer`, and `writer: {model: "
                "...}` among the flow's models"
            )
        self.writer = self.bound.roles.get(self.role or "")
        if self.role is not None and (self.writer is None or self.writer.model is None):
            raise ConfigError(
                f"role: a model is needed as {self.role!r}: add `{self.role}: {{model: ...}}` to "
                "the flow's models"
            )
        self.start = self.bound.start_state()

    def key_settings(self) -> Mapping[str, Any]:
        """What determines the tasks; explorations of a shard learn from one another."""
        env, writer = self.bound.env, self.writer and self.writer.policy
        return {
            **self.settings.model_dump(),
            "env": env.name,
            "config": env.settings(),
            "world": self.bound.entry.spec.version,
            "seed": self.bound.flow.seed,
            "recipe": RECIPE,
            **({} if self.start is None else {"start_state": self.start}),
            **({"model": writer.model, "sampling": writer.sampling} if writer else {}),
        }

    def units(self, stage: StageContext) -> Sequence[int | str]:
        """Explorations are counted by their place; last comes the choice among all that they
        found.
        """
        return [*range(self.explorations), CHOICE]

    def cut(self, units: Sequence[int | str]) -> Iterator[Shard]:
        """In their order, one after the other."""
        *places, choice = units
        for first in range(0, len(places), self.shard):
            yield Shard(f"from_{first}", places[first : first + self.shard])
        yield Shard(CHOICE, [choice])

    def progress_of(self, unit: int | str) -> int:
        """Explorations."""
        return int(unit != CHOICE)

    async def play(self, shard: ShardContext, units: Sequence[Any]) -> None:
        """Explores, or chooses. Raises `SynthError` where no exploration came to its end, and where
        the writer failed most of the time.
        """
        if shard.shard == CHOICE:
            self._choose(shard)
            return
        run, result = shard.run, shard.of(OF_ALL)
        shard.hidden = result.open = True
        client = shard.client(str(self.role), self.writer) if self.writer else None
        writer = GoalWriter(self.bound.entry.write_goal, client)
        explorer = self._explorer(shard, writer)

        tasks: dict[str, Task] = {}
        rows: list[Score] = []
        for place in units:
            if not run.may_start():
                return
            found, row = await explorer(place)
            refuse_mistyped(found, self.bound.env.name)
            tasks |= {task.task_id: task for task in found}
            rows.append(row.as_score(f"{shard.name}/{place}"))
            run.progress.step(1)
            await asyncio.sleep(0)

        going, faults = run.may_start(), writer.faults
        if going and len(faults) > len(writer.replies):
            raise SynthError(
                f"{shard.name}: {faults[-1].detail}; {len(faults)} of its questions were not "
                "answered: mend it and run again, what was answered is kept"
            )
        # what a ceiling kept from being asked is asked by the next run
        if self.writer is None or going:
            result.open = False
            result.tasks += tasks.values()
            result.scores += rows
            result.replies += writer.replies

    def _explorer(self, stage: StageContext, writer: GoalWriter) -> Explorer:
        """Explores at one place after the other."""
        env, world, run = self.bound.env, self.bound.entry, stage.run
        makes = "tasks" in world.spec.capabilities
        own = run.make_tasks(env.name, env.settings(), self.bound.flow.seed, 1) if makes else ()
        most = self.steps, self.windows, self.per_exploration
        threads, experience = Threads(1) if world.spec.blocking else None, Experience()

        async def explored(place: int) -> tuple[list[Task], Explored]:
            if self.bound.start_state() != self.start:
                raise ConfigError(
                    f"{stage.name}: what the world starts from was changed while it was explored; "
                    "run again: all of it is explored as it is then"
                )
            ground = self._ground(place, f"{stage.name}/{place}", own, writer)
            job = partial(exploration_tasks, ground, *most, experience)
            whole = job if threads is None else partial(threads.run, job)
            try:
                return await writer.timed(f"exploration {place}", LIMIT_S, whole)
            except FaultError as error:
                if error.fault not in run.told_faults:
                    run.told_faults.add(error.fault)
                    run.progress.say(f"first fault of kind {error.fault}: {error.detail}")
                gone = {"fault": error.detail}
                return [], Explored(0, {}, gone, (), 0, 0, fault=str(error.fault))

        return explored

    def _ground(self, place: int, name: str, own: Sequence[Task], writer: GoalWriter) -> Ground:
        """Where one exploration begins; split and benchmark of its tasks are those of the
        environment's `own`.
        """
        env, world = self.bound.env, self.bound.entry
        seed = int(content_hash(["reverse_task", self.bound.flow.seed, place])[:7], 16)
        config = env.settings()
        return Ground(
            world=world,
            env=env.name,
            env_config=config if world.exploring is None else world.exploring(config, seed),
            seed=seed,
            split=own[0].split if own else None,
            benchmark=own[0].benchmark if own else None,
            exploration=name,
            longest=self.window,
            asks=self.writer is None,
            write=partial(writer.goal, name),
        )

    def _choose(self, shard: ShardContext) -> None:
        rows, choice = self._chosen(shard)
        if rows and all(row.fault is not None for row in rows):
            own = all(row.fault == Fault.ENVIRONMENT for row in rows)
            again = (
                "; after a fix of the world raise `version` in its EnvSpec: a rerun leaves such "
                "faults out"
            )
            raise SynthError(
                f"{shard.name}: all {len(rows)} explorations ended in faults; the first: "
                f"{rows[0].examples['fault']}{again if own else ''}"
            )
        result = shard.of(CHOICE)
        result.tasks += choice.tasks
        result.scores += [row.as_score(f"{shard.name}/{at}") for at, row in enumerate(rows)]
        result.scores += choice.as_scores(shard.name)

    def _chosen(self, stage: StageContext) -> tuple[list[Explored], TaskChoice]:
        """What was counted in each exploration that is committed, in their order, and the choice
        among their verified tasks.
        """
        committed = stage.rows(Explored, METRIC, hidden=True)
        found = {int(row.subject_id.rpartition("/")[2]): row.about for row in committed}
        rows = [found[place] for place in sorted(found)]
        ids = list(dict.fromkeys(identity for row in rows for identity in row.tasks))
        stored = stage.tasks(ids, every=True)
        apart = self.bound.entry.told_apart_by
        return rows, chosen([stored[identity] for identity in ids], self.tasks, apart)

    def report(self, stage: StageContext) -> Mapping[str, Any]:
        """Windows by what became of them, with details; of what was explored so far where the stage
        was stopped.
        """
        rows, choice = self._chosen(stage)
        cost = stage.cost()
        return report_of(rows, choice, [cost_line(cost, len(rows), "walk")], cost=cost)
