"""Reverse task synthesis: explore without a task, say afterwards what was achieved, keep what
passes tests T1 to T8 (A2; rigor 7).

Sources: OS-Genesis, arXiv 2412.19723 (explore, then name); tests and zones are our own. No row of
an exploration is a trajectory: the
stages after this one play its tasks anew.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from synth.boundary import FaultError, guard_async
from synth.engine.asking import RoleClient
from synth.engine.context import Role, Run, Synthesizer
from synth.engine.numbers import counted_noun
from synth.envs.world import EnvEntry
from synth.ledger.ledger import Score, StageRef
from synth.ledger.log.state import evidence_key
from synth.ledger.tables.role_reply import RoleReply
from synth.ledger.typed import committed
from synth.rollout.live_envs.threads import Threads
from synth.schemas.canonical import content_hash
from synth.schemas.errors import ConfigError, SynthError
from synth.schemas.flow import Flow
from synth.schemas.outcome import Fault
from synth.schemas.reverse import Draft, NoGoal, Window
from synth.schemas.stage import Plan, Shard
from synth.schemas.task import Task
from synth.synthesizers.made_tasks import refuse_mistyped
from synth.synthesizers.reverse.deriving import Ground
from synth.synthesizers.reverse.experience import Experience
from synth.synthesizers.reverse.harvest import Explored, harvested
from synth.synthesizers.reverse.reporting import TaskChoice, chosen, report_of
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
        writer = self.writer and self.writer.policy
        return {
            **self.config.model_dump(),
            "env": self.env,
            "config": self.env_config,
            "world": self.world.spec.version,
            "seed": self.seed,
            "recipe": RECIPE,
            **({} if self.start_state is None else {"start_state": self.start_state}),
            **({"model": writer.model, "sampling": writer.sampling} if writer else {}),
        }

    def inputs(self, run: Run) -> str:
        """Nothing comes before it."""
        return ""

    def plan(self, run: Run, stage_key: str) -> Plan:
        """The shards that are not committed, one after the other, and last the choice among all
        that they found.
        """
        named, size, count = run.ledger.state.named, self.config.shard, self.config.explorations
        left = [
            Shard(f"from_{first}", tuple(range(first, min(first + size, count))))
            for first in range(0, count, size)
            if (evidence_key(stage_key), f"from_{first}") not in named
        ]
        choice = [] if not left and (stage_key, CHOICE) in named else [Shard(CHOICE, ())]
        units = sum(len(part.items) for part in left)
        return Plan([*left, *choice], units=units, unit="explorations", at_once=1)

    async def work(self, run: Run, stage_key: str, shard: Shard) -> None:
        """Explores, or chooses. Raises `SynthError` where no exploration came to its end, and where
        the writer failed most of the time.
        """
        ref = StageRef(self.name, stage_key if shard.name == CHOICE else evidence_key(stage_key))
        if (ref.stage_key, shard.name) in run.ledger.refresh().named or run.stopped is not None:
            return
        if shard.name == CHOICE:
            self._choose(run, ref)
            return
        explorer = Explorer(self, run, shard.name)
        tasks: dict[str, Task] = {}
        rows: list[Score] = []
        for place in shard.items:
            if not run.may_start():
                return
            found, row = await explorer.harvest(place)
            refuse_mistyped(found, self.env)
            tasks |= {task.task_id: task for task in found}
            rows.append(self._row(place, row))
            run.progress.step(1)
            await asyncio.sleep(0)
        going, faults = run.may_start(), explorer.faults
        if going and len(faults) > len(explorer.replies):
            raise SynthError(
                f"{self.name}: {faults[-1].detail}; {len(faults)} of its questions were not "
                "answered: mend it and run again, what was answered is kept"
            )
        # what a ceiling kept from being asked is asked by the next run
        if self.writer is None or going:
            made, replies = list(tasks.values()), explorer.replies
            run.ledger.commit(ref, tasks=made, scores=rows, replies=replies, name=shard.name)

    def _row(self, place: int, row: Explored) -> Score:
        return Score(f"{self.name}/{place}", METRIC, float(len(row.tasks)), detail=row)

    def _choose(self, run: Run, ref: StageRef) -> None:
        rows, choice = self._chosen(run, ref.stage_key)
        if rows and all(row.fault is not None for row in rows):
            own = all(row.fault == Fault.ENVIRONMENT for row in rows)
            again = (
                "; after a fix of the world raise `version` in its EnvSpec: a rerun leaves such "
                "faults out"
            )
            raise SynthError(
                f"{self.name}: all {len(rows)} explorations ended in faults; the first: "
                f"{rows[0].examples['fault']}{again if own else ''}"
            )
        left_out = {"left_out": choice.left_out}
        scores = [
            *(self._row(place, row) for place, row in enumerate(rows)),
            *(Score(task.task_id, SOLVABLE, _solvable(task)) for task in choice.tasks),
            Score(self.name, f"{self.name}.choice", float(len(choice.tasks)), detail=left_out),
        ]
        run.ledger.commit(ref, tasks=choice.tasks, scores=scores, name=CHOICE)

    def _chosen(self, run: Run, stage_key: str) -> tuple[list[Explored], TaskChoice]:
        """What was counted in each exploration that is committed, in their order, and the choice
        among their verified tasks.
        """
        found = {
            int(row.subject_id.rpartition("/")[2]): row.about
            for row in committed(run.ledger, evidence_key(stage_key), Explored, (METRIC,))
        }
        rows = [found[place] for place in sorted(found)]
        ids = list(dict.fromkeys(identity for row in rows for identity in row.tasks))
        stored = run.ledger.tasks(ids, every=True)
        tasks = [stored[identity] for identity in ids]
        return rows, chosen(tasks, self.config.tasks, self.world.told_apart_by)

    def report(self, run: Run, stage_key: str) -> Mapping[str, Any]:
        """Windows by what became of them, with details; of what was explored so far where the stage
        was stopped.
        """
        rows, choice = self._chosen(run, stage_key)
        cost = stage_cost(run.ledger, stage_key)
        money = f", ${cost['usd']:.2f}" if cost["usd"] is not None else ""
        spent = f"cost: {counted_noun(len(rows), 'walk')}, {cost['tokens']:,} tokens{money}"
        return report_of(rows, choice, [spent], cost=cost)


def _solvable(task: Task) -> float | None:
    passed = task.difficulty["tests"]["T8"]["passed"]
    return None if passed is None else float(passed)


class Explorer:
    """The explorations of one shard, which learn from one another. Who says what their windows
    achieved: the world's own rules, or a model, whose replies are kept for the ledger.
    """

    def __init__(self, stage: ReverseTask, run: Run, shard: str) -> None:
        self.replies: list[RoleReply] = []
        self.faults: list[FaultError] = []
        self._stage, self._run = stage, run
        self._clock = asyncio.timeout(LIMIT_S)
        self._experience = Experience()
        self._threads = Threads(1) if stage.world.spec.blocking else None
        self._loop = asyncio.get_running_loop()
        makes = "tasks" in stage.world.spec.capabilities
        made = run.make_tasks(stage.env, stage.env_config, stage.seed, 1) if makes else ()
        self._kind = made[0] if made else None
        role = str(stage.config.role)
        self._asking = RoleClient(run, shard, role, stage.writer) if stage.writer else None

    async def harvest(self, place: int) -> tuple[list[Task], Explored]:
        """What an exploration gave; where the world broke, nothing, and at which boundary."""
        stage, config, threads, kind = self._stage, self._stage.config, self._threads, self._kind
        seed = int(content_hash(["reverse_task", stage.seed, place])[:7], 16)
        exploring = stage.world.exploring
        if start_state(stage.world, stage.env_config) != stage.start_state:
            raise ConfigError(
                f"{stage.name}: what the world starts from was changed while it was explored; run "
                "again: all of it is explored as it is then"
            )
        name = f"{stage.name}/{place}"
        ground = Ground(
            world=stage.world,
            env=stage.env,
            env_config=stage.env_config if exploring is None else exploring(stage.env_config, seed),
            seed=seed,
            split=kind.split if kind else None,
            benchmark=kind.benchmark if kind else None,
            exploration=name,
            longest=config.window,
            asks=stage.writer is None,
            write=partial(self._goal, name),
        )
        whole = partial(
            harvested,
            ground,
            config.steps,
            config.windows,
            config.per_exploration,
            self._experience,
        )
        self._clock = asyncio.timeout(LIMIT_S)
        try:
            return await guard_async(
                Fault.ENVIRONMENT,
                f"exploration {place}",
                whole if threads is None else lambda: threads.run(whole),
                LIMIT_S,
                self._clock,
            )
        except FaultError as error:
            told = self._run.told_faults
            if error.fault not in told:
                told.add(error.fault)
                self._run.progress.say(f"first fault of kind {error.fault}: {error.detail}")
            return [], Explored(0, {}, {"fault": error.detail}, (), 0, 0, fault=str(error.fault))

    async def _goal(self, exploration: str, window: Window) -> Draft | NoGoal:
        """The goal of a window; it may be awaited on another thread's loop."""
        rules = self._stage.world.write_goal
        if self._asking is None and rules is not None:
            return rules(window)
        asked = self._asked(window, exploration)
        if asyncio.get_running_loop() is self._loop:
            return await asked
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asked, self._loop))

    async def _asked(self, window: Window, exploration: str) -> Draft | NoGoal:
        if self._asking is None:
            raise ValueError("neither rules nor a role to write goals")
        now = self._loop.time
        left = (self._clock.when() or now()) - now()
        self._clock.reschedule(None)
        answer = await asked_for_goal(self._asking, window, exploration)
        self._clock.reschedule(now() + left)
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
