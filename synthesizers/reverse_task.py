"""Reverse task synthesis: explores without a task, names afterwards what was achieved, and keeps
the tasks that pass tests T1 to T8 (A2; rigor 7).

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
from synth.rollout.live_envs.threads import Threads
from synth.schemas import ConfigError, Fault, Shard, SynthError, Task, content_hash
from synth.synthesizers.reverse.choosing import METRIC, Explored, TaskChoice, chosen
from synth.synthesizers.reverse.deriving import exploration_tasks
from synth.synthesizers.reverse.exploration import Experience
from synth.synthesizers.reverse.ground import Ground
from synth.synthesizers.reverse.report import report_of
from synth.synthesizers.reverse.role_writer import GoalWriter
from synth.synthesizers.tasks import refuse_mistyped

RECIPE = 3
"""Raise it with every change to the tasks that an exploration gives."""
CHOICE = "choice"
NEEDED = ("affordances", "facts")
LIMIT_S = 600.0
"""Wall clock of one exploration with all its tests, without the time that a writer takes."""


Explorer = Callable[[int], Awaitable[tuple[list[Task], Explored]]]
"""(place) -> the tasks and the figures of an exploration; where the environment broke, no tasks,
and the fault.
"""


@synthesizer("reverse_task")
class ReverseTask(Method):
    """Explores so many times, by so many steps, and keeps the tasks that pass their tests.

    `window`: a task joins at most so many operations.
    `windows`: subtrajectories that are tried of an exploration, which gives at most
    `per_exploration` tasks.
    `tasks`: the most that are kept in all, distinct ones first; left out, all.
    `shard` explorations learn from one another which tools do what, and are committed together.
    `role`: a model of the flow that words the goals of the environment's own rules, where it can
    compare them, and else writes them in their place.
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
        """No role plays: explorations draw affordances."""
        return ()

    def bind(self) -> None:
        """Looks up the writer of goals. Raises `ConfigError` for capabilities that the environment
        lacks.
        """

        env = self.bound.env.name
        entry = self.bound.entry
        missing = [one for one in NEEDED if one not in entry.spec.capabilities]

        if missing:
            raise ConfigError(
                f"reverse_task explores by affordances and checks by facts; world {env!r} does not "
                f"claim {' nor '.join(missing)}"
            )

        if self.role is None and entry.write_goal is None:
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
        """The settings that determine the tasks; explorations of a shard learn from one another."""
        env = self.bound.env
        writer = self.writer and self.writer.policy

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
        """The explorations by their place, then the choice among all that they found."""
        return [*range(self.explorations), CHOICE]

    def cut(self, units: Sequence[int | str]) -> Iterator[Shard]:
        """Shards in their order, one after the other."""
        *places, choice = units
        for first in range(0, len(places), self.shard):
            yield Shard(f"from_{first}", places[first : first + self.shard])

        yield Shard(CHOICE, [choice])

    def progress_of(self, unit: int | str) -> int:
        """Progress counts explorations."""
        return int(unit != CHOICE)

    async def play(self, shard: ShardContext, units: Sequence[Any]) -> None:
        """Explores, or chooses. Raises `SynthError` where no exploration came to its end, and where
        the writer failed most of the time.
        """

        if shard.shard == CHOICE:
            self._choose(shard)
            return

        run = shard.run
        result = shard.of(OF_ALL)
        # only the chosen tasks are shown; a shard that a ceiling stops is explored again, replies
        # from its journal
        shard.hidden = result.open = True
        client = shard.client(str(self.role), self.writer) if self.writer else None
        writer = GoalWriter(self.bound.entry.write_goal, client, self.bound.entry.reword)
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
        going = run.may_start()
        if going:
            writer.refuse_silence(shard.name)
        # what a ceiling kept from being asked is asked by the next run
        if self.writer is None or going:
            result.open = False
            result.tasks += tasks.values()
            result.scores += rows
            result.replies += writer.replies

    def _explorer(self, stage: StageContext, writer: GoalWriter) -> Explorer:
        """Returns the function that explores at one place after the other."""
        env = self.bound.env
        entry = self.bound.entry
        run = stage.run
        makes = "tasks" in entry.spec.capabilities
        own = run.make_tasks(env.name, env.settings(), self.bound.flow.seed, 1) if makes else ()
        most = self.steps, self.windows, self.per_exploration
        # explorations of a blocking environment would stop the event loop
        threads = Threads(1) if entry.spec.blocking else None
        experience = Experience()

        async def explored(place: int) -> tuple[list[Task], Explored]:
            # the key holds the start state: tasks from another one would be resumed as if they were
            # of this
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

    def _ground(
        self,
        place: int,
        name: str,
        own: Sequence[Task],
        writer: GoalWriter,
    ) -> Ground:
        """The start of one exploration; its tasks have the split and benchmark of the environment's
        `own`.
        """

        env = self.bound.env
        entry = self.bound.entry
        seed = int(content_hash(["reverse_task", self.bound.flow.seed, place])[:7], 16)
        config = env.settings()

        return Ground(
            entry=entry,
            env=env.name,
            env_config=config if entry.exploring is None else entry.exploring(config, seed),
            seed=seed,
            split=own[0].split if own else None,
            benchmark=own[0].benchmark if own else None,
            exploration=name,
            longest=self.window,
            asks=self.writer is None or self.bound.entry.reword is not None,
            write=partial(writer.goal, name),
        )

    def _choose(self, shard: ShardContext) -> None:
        """Commits the chosen tasks, and the figures of all explorations."""
        rows, choice = self._chosen(shard)

        if rows and all(row.fault is not None for row in rows):
            again = (
                "; after a fix of the world raise `version` in its EnvSpec: a rerun leaves such "
                "faults out"
            )

            own = all(row.fault == Fault.ENVIRONMENT for row in rows)
            raise SynthError(
                f"{shard.name}: all {len(rows)} explorations ended in faults; the first: "
                f"{rows[0].examples['fault']}{again if own else ''}"
            )

        result = shard.of(CHOICE)
        result.tasks += choice.tasks
        result.scores += [row.as_score(f"{shard.name}/{at}") for at, row in enumerate(rows)]
        result.scores += choice.as_scores(shard.name)

    def _chosen(self, stage: StageContext) -> tuple[list[Explored], TaskChoice]:
        """The figures of the committed explorations, in their order, and the choice among their
        verified tasks.
        """

        committed = stage.rows(Explored, METRIC, hidden=True)
        found = {int(row.subject_id.rpartition("/")[2]): row.about for row in committed}
        rows = [found[place] for place in sorted(found)]
        ids = list(dict.fromkeys(identity for row in rows for identity in row.tasks))
        stored = stage.tasks(ids, every=True)
        apart = self.bound.entry.told_apart_by

        return rows, chosen([stored[identity] for identity in ids], self.tasks, apart)

    def report(self, stage: StageContext) -> Mapping[str, Any]:
        """Subtrajectories by outcome, with details; of the explorations so far where the stage was
        stopped.
        """

        rows, choice = self._chosen(stage)
        cost = stage.cost()

        return report_of(rows, choice, [cost_line(cost, len(rows), "walk")], cost=cost)
