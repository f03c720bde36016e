"""The flow's tasks, made by its environment from the flow's seed."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from synth.engine.study.method import Method, synthesizer
from synth.engine.study.shard import ShardContext
from synth.engine.study.stage_context import StageContext
from synth.schemas import ConfigError, Shard, Task, content_hash

CALIBRATE = "calibrate"


@synthesizer("tasks")
class TemplateTasks(Method):
    """Makes as many tasks as the flow asks for, the same ones each time; at the level that
    `calibrate` found, where the flow says how hard they are to be.
    """

    unit = "tasks"
    needs_env = True

    def bind(self) -> None:
        """Reads the start state; it raises at once where that is missing."""
        self._start = self.bound.start_state()

    def key_settings(self) -> Mapping[str, Any]:
        """The settings that determine the tasks."""
        env = self.bound.env
        flow = self.bound.flow
        settings = {"env": env.name, "config": env.settings(), "seed": flow.seed}
        # a flow that makes no tasks keeps its key whatever the environment starts from
        none = self._start is None or not env.tasks
        start = {} if none else {"start_state": self._start}

        return {**settings, "count": env.tasks, **start}

    def inputs(self, stage: StageContext) -> Any:
        """The report of the calibration, where there is one."""
        return None if self.bound.env.difficulty is None else stage.report_of(CALIBRATE)

    def units(self, stage: StageContext) -> Sequence[int]:
        """All tasks are one unit."""
        return [self.bound.env.tasks]

    def cut(self, units: Sequence[int]) -> Sequence[Shard]:
        """One shard."""
        return [Shard("all", units)]

    def left(self, stage: StageContext, units: Sequence[int]) -> Sequence[int]:
        """Nothing where the tasks are committed, or where their level is not known yet."""
        env = self.bound.env
        known = env.difficulty is None or stage.report_of(CALIBRATE) is not None
        return units if env.tasks and known and not stage.committed else ()

    def progress_of(self, unit: int) -> int:
        """Progress counts tasks."""
        return unit

    async def play(self, shard: ShardContext, units: Sequence[int]) -> None:
        """Makes the tasks, and refuses mistyped and equal ones."""
        env, (count,) = self.bound.env, units
        config = env.settings()
        found = None

        if env.difficulty is not None:
            found = shard.report_of(CALIBRATE)
            config |= {} if found is None else {self.bound.entry.level: found["level"]}

        tasks = shard.run.make_tasks(env.name, config, self.bound.flow.seed, count)

        if len(tasks) < count:
            raise ConfigError(
                f"world {env.name!r}: make_tasks gave {len(tasks)} tasks where env.tasks asks for "
                f"{count}; set tasks: {len(tasks)}"
            )

        refuse_mistyped(tasks, env.name)
        _refuse_equal(tasks, env.name)
        made = tasks if found is None else [_with_calibration(task, found) for task in tasks]
        shard.of("all").tasks += made
        shard.run.progress.step(count)

    def report(self, stage: StageContext) -> Mapping[str, Any]:
        """The number of tasks."""
        ids = sorted(stage.task_ids())
        return {"kind": "tasks", "count": len(ids), "digest": content_hash(ids)}


def refuse_mistyped(tasks: Sequence[Task], env: str) -> None:
    """Raises `ConfigError` for tasks that hold a value of the wrong type."""
    for index, task in enumerate(tasks):
        try:
            msgspec.convert(msgspec.to_builtins(task, builtin_types=(bytes,)), Task)
        except (TypeError, ValueError, RecursionError) as error:
            problem, _, place = str(error).partition(" - at `$.")
            raise ConfigError(
                f"world {env!r}: make_tasks: task {index}: {place.removesuffix('`')}: {problem}"
            ) from error


def _refuse_equal(tasks: Sequence[Task], env: str) -> None:
    """Raises `ConfigError` for two tasks of the same identity: the run would hold one of them
    only.
    """

    places: dict[str, int] = {}

    for index, task in enumerate(tasks):
        first = places.setdefault(task.task_id, index)
        if first != index:
            raise ConfigError(
                f"world {env!r}: make_tasks: tasks {first} and {index} have the same task_id "
                f"{task.task_id!r}; tasks made with Task.identified differ in id where they differ "
                "in anything, for instance in their seed"
            )


def _with_calibration(task: Task, found: Mapping[str, Any]) -> Task:
    """Adds the calibration to the task's difficulty, which makes it another task by identity."""
    known = {key: value for key, value in found.items() if key not in ("kind", "finished")}
    about = {
        **msgspec.structs.asdict(task),
        "difficulty": {**task.difficulty, "calibration": known},
    }

    del about["task_id"]

    return Task.identified(**about)
