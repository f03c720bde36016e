"""Reverse task synthesis: explore without a task, say afterwards what was achieved, keep what
passes tests T1 to T8 (A2; rigor 7).

Sources: OS-Genesis, arXiv 2412.19723 (explore, then name); tests and zones are our own. No row of
an exploration is a trajectory: the
stages after this one play its tasks anew.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from synth.boundary import FaultError, guard_async
from synth.engine.asking import RoleClient
from synth.engine.context import Role, Run, Synthesizer
from synth.engine.numbers import counted_noun
from synth.envs.world import EnvEntry
from synth.ledger.ledger import Score, StageRef
from synth.ledger.role_reply import RoleReply
from synth.ledger.state import evidence_key
from synth.ledger.typed import committed
from synth.rollout.threads import Threads
from synth.schemas.canonical import content_hash
from synth.schemas.errors import ConfigError, SynthError
from synth.schemas.flow import Flow
from synth.schemas.outcome import Fault
from synth.schemas.reverse import Draft, NoGoal, Window
from synth.schemas.stage import Plan, Shard
from synth.schemas.task import Task
from synth.synthesizers.made_tasks import refuse_mistyped
from synth.synthesizers.reverse.choosing import chosen
from synth.synthesizers.reverse.deriving import Ground
from synth.synthesizers.reverse.experience import Experience
from synth.synthesizers.reverse.harvest import Explored, Harvest, harvested
from synth.synthesizers.reverse.reporting import method_report
from synth.synthesizers.reverse.role_writer import asked_for_goal, no_goal
from synth.synthesizers.stage_cost import stage_cost
from synth.synthesizers.start_state import start_state

RECIPE = 2
"""To be raised with every change to which tasks an exploration gives."""
CHOICE = "choice"
METRIC = "reverse_task.exploration"
SOLVABLE = "t8_solvable"
"""Score of a task: 1 where the world's expert solved it from its goal alone, null where the world
has none.
"""
NEEDED = ("affordances", "facts")
LIMIT_S = 600.0
"""Wall clock of one exploration with all its tests, without what a writer takes."""


class ReverseTaskSettings(BaseModel):
    """How many explorations of how many steps; a task joins at most `window` operations, and an
    exploration gives at most
    `per_exploration` tasks out of `windows` tries. `tasks` is the most that are kept in all,
    distinct ones first; None keeps all.

    `shard` explorations learn from one another which tools do what, and are committed together.
    `role` names a model of the flow that
    writes the goals in the place of the world's own rules.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    explorations: int = Field(default=40, ge=1, le=100_000)
    steps: int = Field(default=25, ge=1, le=500)
    window: int = Field(default=4, ge=1, le=5)
    windows: int = Field(default=12, ge=1, le=500)
    per_exploration: int = Field(default=2, ge=1, le=50)
    tasks: int | None = Field(default=None, ge=1)
    shard: int = Field(default=20, ge=1, le=1000)
    role: str | None = None


@dataclass(frozen=True, slots=True)
class ReverseTask:
    """The stage `reverse_task`, before `rollout`. Explorations are counted by their place; each has
    a seed of its own.
    """

    name: str
    config: ReverseTaskSettings
    world: EnvEntry
    env: str
    env_config: Mapping[str, Any]
    seed: int
    writer: Role | None = None
    start_state: str | None = None

    @property
    def settings(self) -> Mapping[str, Any]:
        """What determines the tasks."""
        return {
            **self.config.model_dump(),
            "env": self.env,
            "config": self.env_config,
            "world": self.world.spec.version,
            "seed": self.seed,
            "recipe": RECIPE,
            **({} if self.start_state is None else {"start_state": self.start_state}),
            **(
                {}
                if self.writer is None
                else {"model": self.writer.policy.model, "sampling": self.writer.policy.sampling}
            ),
        }

    def inputs(self, run: Run) -> str:
        """Nothing comes before it."""
        return ""

    def plan(self, run: Run, stage_key: str) -> Plan:
        """The shards that are not committed, one after the other, and last the choice among all
        that they found.
        """
        named, size = run.ledger.state.named, self.config.shard
        firsts = range(0, self.config.explorations, size)
        parts = [
            Shard(f"from_{first}", tuple(range(first, min(first + size, self.config.explorations))))
            for first in firsts
        ]
        left = [part for part in parts if (evidence_key(stage_key), part.name) not in named]
        choice = [] if not left and (stage_key, CHOICE) in named else [Shard(CHOICE, ())]
        return Plan(
            [*left, *choice],
            units=sum(len(part.items) for part in left),
            unit="explorations",
            at_once=1,
        )

    async def work(self, run: Run, stage_key: str, shard: Shard) -> None:
        """Explores, or chooses. Raises `SynthError` where no exploration came to its end, and where
        the writer failed most of the time.
        """
        if shard.name == CHOICE:
            self._choose(run, stage_key)
            return
        apart = StageRef(self.name, evidence_key(stage_key))
        if (apart.stage_key, shard.name) in run.ledger.refresh().named:
            return
        kind = (
            run.make_tasks(self.env, self.env_config, self.seed, 1)
            if "tasks" in self.world.spec.capabilities
            else ()
        )
        threads = Threads(1) if self.world.spec.blocking else None
        experience = Experience()
        writing = Writing(self, run, shard.name)
        tasks: dict[str, Task] = {}
        rows: list[Score] = []
        for place in shard.items:
            if not run.may_start():
                return
            harvest, fault = await self._harvest(
                run, place, experience, kind[0] if kind else None, threads, writing
            )
            refuse_mistyped(harvest.tasks, self.env)
            tasks |= {task.task_id: task for task in harvest.tasks}
            stored = harvest.as_stored(fault)
            rows.append(
                Score(f"{self.name}/{place}", METRIC, float(len(harvest.tasks)), detail=stored)
            )
            run.progress.step(1)
            await asyncio.sleep(0)
        if run.may_start() and len(writing.faults) > len(writing.replies):
            lost = (
                f"{writing.faults[-1].detail}; {len(writing.faults)} of its questions were "
                "not answered"
            )
            raise SynthError(
                f"{self.name}: {lost}: mend it and run again, what was answered is kept"
            )
        if (
            self.writer is None or run.may_start()
        ):  # what a ceiling kept from being asked is asked by the next run
            run.ledger.commit(
                apart,
                tasks=list(tasks.values()),
                scores=rows,
                replies=writing.replies,
                name=shard.name,
            )

    async def _harvest(
        self,
        run: Run,
        place: int,
        experience: Experience,
        kind: Task | None,
        threads: Threads | None,
        writing: "Writing",
    ) -> tuple[Harvest, str | None]:
        """What an exploration gave; where the world broke, nothing, and at which boundary. `kind`
        is a task of the same settings.
        """
        seed = int(content_hash(["reverse_task", self.seed, place])[:7], 16)
        exploring = self.world.exploring
        if start_state(self.world, self.env_config) != self.start_state:
            raise ConfigError(
                f"{self.name}: what the world starts from was changed while it was explored; run "
                "again: all of it is explored as it is then"
            )
        ground = Ground(
            world=self.world,
            env=self.env,
            env_config=self.env_config if exploring is None else exploring(self.env_config, seed),
            seed=seed,
            split=kind.split if kind is not None else None,
            benchmark=kind.benchmark if kind is not None else None,
            exploration=f"{self.name}/{place}",
            longest=self.config.window,
            asks=self.writer is None,
            write=writing.goals_of(f"{self.name}/{place}"),
        )

        async def harvest() -> Harvest:
            return await harvested(
                ground,
                self.config.steps,
                self.config.windows,
                self.config.per_exploration,
                experience,
            )

        try:
            whole = harvest if threads is None else (lambda: threads.run(harvest))
            writing.clock = asyncio.timeout(LIMIT_S)
            return await guard_async(
                Fault.ENVIRONMENT, f"exploration {place}", whole, LIMIT_S, writing.clock
            ), None
        except FaultError as error:
            if error.fault not in run.told_faults:
                run.told_faults.add(error.fault)
                run.progress.say(f"first fault of kind {error.fault}: {error.detail}")
            empty = Harvest(
                examples={"fault": error.detail}, coverage={"steps": 0, "operations": 0}
            )
            return empty, str(error.fault)

    def _choose(self, run: Run, stage_key: str) -> None:
        if run.stopped is not None or (stage_key, CHOICE) in run.ledger.refresh().named:
            return
        rows = self._rows(run, evidence_key(stage_key))
        if rows and all(row.fault is not None for row in rows):
            again = (
                "; after a fix of the world raise `version` in its EnvSpec: a rerun leaves "
                "such faults out"
            )
            own = again if all(row.fault == Fault.ENVIRONMENT for row in rows) else ""
            raise SynthError(
                f"{self.name}: all {len(rows)} explorations ended in faults; the first: "
                f"{rows[0].examples['fault']}{own}"
            )
        choice = chosen(self._found(run, rows), self.config.tasks, self.world.told_apart_by)
        scores = [
            Score(f"{self.name}/{place}", METRIC, float(len(row.tasks)), detail=row)
            for place, row in enumerate(rows)
        ]
        scores += [Score(task.task_id, SOLVABLE, _solvable(task)) for task in choice.tasks]
        scores.append(
            Score(
                self.name,
                f"{self.name}.choice",
                float(len(choice.tasks)),
                detail={"left_out": choice.left_out},
            )
        )
        run.ledger.commit(
            StageRef(self.name, stage_key), tasks=choice.tasks, scores=scores, name=CHOICE
        )

    def _rows(self, run: Run, stage_key: str) -> list[Explored]:
        """What was counted in each exploration that is committed under a key, in their order."""
        found = {
            int(row.subject_id.rpartition("/")[2]): row.about
            for row in committed(run.ledger, stage_key, Explored, (METRIC,))
        }
        return [found[place] for place in sorted(found)]

    def _found(self, run: Run, rows: Sequence[Explored]) -> list[Task]:
        """The verified tasks, in the order of their explorations."""
        ids = list(dict.fromkeys(identity for row in rows for identity in row.tasks))
        stored = run.ledger.tasks(ids, every=True)
        return [stored[identity] for identity in ids]

    def report(self, run: Run, stage_key: str) -> Mapping[str, Any]:
        """Windows by what became of them, with details; of what was explored so far where the stage
        was stopped.
        """
        rows = self._rows(run, evidence_key(stage_key))
        choice = chosen(self._found(run, rows), self.config.tasks, self.world.told_apart_by)
        report = method_report(rows, choice.tasks, choice.left_out)
        cost = stage_cost(run.ledger, stage_key)
        money = f", ${cost['usd']:.2f}" if cost["usd"] is not None else ""
        return {
            **report,
            "cost": cost,
            "also": [
                *report["also"],
                f"cost: {counted_noun(len(rows), 'walk')}, {cost['tokens']:,} tokens{money}",
            ],
        }


def _solvable(task: Task) -> float | None:
    passed = task.difficulty["tests"]["T8"]["passed"]
    return None if passed is None else float(passed)


class Writing:
    """Who says what the windows of a shard achieved: the world's own rules, or a model, whose
    replies are kept for the ledger.
    """

    def __init__(self, stage: ReverseTask, run: Run, shard: str) -> None:
        self.replies: list[RoleReply] = []
        self.faults: list[FaultError] = []
        self.clock = asyncio.timeout(LIMIT_S)
        self._rules = stage.world.write_goal
        self._asking = (
            None
            if stage.writer is None
            else RoleClient(run, shard, str(stage.config.role), stage.writer)
        )
        self._loop = asyncio.get_running_loop()

    def goals_of(self, exploration: str) -> Callable[[Window], Awaitable[Draft | NoGoal]]:
        """The writer for the windows of one exploration; it may be awaited on another thread's
        loop.
        """

        async def write(window: Window) -> Draft | NoGoal:
            if self._asking is None and self._rules is not None:
                return self._rules(window)
            if asyncio.get_running_loop() is self._loop:
                return await self._asked(window, exploration)
            return await asyncio.wrap_future(
                asyncio.run_coroutine_threadsafe(self._asked(window, exploration), self._loop)
            )

        return write

    async def _asked(self, window: Window, exploration: str) -> Draft | NoGoal:
        if self._asking is None:
            raise ValueError("neither rules nor a role to write goals")
        now = self._loop.time
        left = (self.clock.when() or now()) - now()
        self.clock.reschedule(None)
        answer = await asked_for_goal(self._asking, window, exploration)
        self.clock.reschedule(now() + left)
        self.replies += answer.replies
        if answer.fault is not None and not answer.fault.context_overflow:
            self.faults.append(answer.fault)
        return answer.value or no_goal(answer)


def bind(
    name: str, config: ReverseTaskSettings, flow: Flow, roles: Mapping[str, Role], world: EnvEntry
) -> ReverseTask:
    """The stage for a flow. Raises `ConfigError` for what its world lacks."""
    if flow.env is None:
        raise ConfigError(
            "reverse_task needs a world: add `env: {name: ..., tasks: 0}` to the flow"
        )
    missing = [capability for capability in NEEDED if capability not in world.spec.capabilities]
    if missing:
        raise ConfigError(
            f"reverse_task explores by affordances and checks by facts; world {flow.env.name!r} "
            f"does not claim {' nor '.join(missing)}"
        )
    if config.role is None and world.write_goal is None:
        raise ConfigError(
            f"reverse_task: world {flow.env.name!r} has no rules that say what was achieved "
            "(EnvEntry.write_goal); let a model say it: "
            "`role: writer`, and `writer: {model: ...}` among the flow's models"
        )
    writer = None if config.role is None else roles.get(config.role)
    if config.role is not None and (writer is None or writer.model is None):
        raise ConfigError(
            f"role: a model is needed as {config.role!r}: add `{config.role}: {{model: ...}}` to "
            "the flow's models"
        )
    return ReverseTask(
        name,
        config,
        world,
        flow.env.name,
        flow.env.settings(),
        flow.seed,
        writer,
        start_state(world, flow.env.settings()),
    )


SYNTHESIZER = Synthesizer(ReverseTaskSettings, bind, of_world=True)
