"""The flow's tasks, made by its world from the flow's seed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from synth.engine.context import Run
from synth.ledger.ledger import StageRef
from synth.schemas.canonical import content_hash
from synth.schemas.errors import ConfigError
from synth.schemas.stage import Plan, Shard
from synth.schemas.task import Task
from synth.synthesizers.calibrate import Calibrate
from synth.synthesizers.made_tasks import refuse_equal, refuse_mistyped


@dataclass(frozen=True, slots=True)
class TemplateTasks:
    """The stage `tasks`: as many as the flow asks for, the same ones each time; at the level that
    `calibration` found, if there is one.
    """

    settings: Mapping[str, Any]
    calibration: Calibrate | None = None
    name: str = "tasks"

    def inputs(self, run: Run) -> str:
        """What was found about their difficulty."""
        return "" if self.calibration is None else content_hash(self.calibration.found(run))

    def plan(self, run: Run, stage_key: str) -> Plan:
        """One shard, unless it is committed."""
        committed = any(shard.stage_key == stage_key for shard in run.ledger.state.shards)
        count = int(self.settings["count"])
        if (
            committed
            or not count
            or (self.calibration is not None and self.calibration.found(run) is None)
        ):
            return Plan((), units=count, unit="tasks")
        return Plan((Shard("all", (count,)),), units=count, unit="tasks")

    async def work(self, run: Run, stage_key: str, shard: Shard) -> None:
        """Makes and commits them."""
        if any(committed.stage_key == stage_key for committed in run.ledger.refresh().shards):
            return
        settings, config = self.settings, dict(self.settings["config"])
        found = None if self.calibration is None else self.calibration.found(run)
        if self.calibration is not None and found is not None:
            config[self.calibration.level] = found["level"]
        tasks = run.make_tasks(settings["env"], config, settings["seed"], settings["count"])
        if len(tasks) < settings["count"]:
            raise ConfigError(
                f"world {settings['env']!r}: make_tasks gave {len(tasks)} tasks where env.tasks "
                f"asks for {settings['count']}; "
                f"set tasks: {len(tasks)}"
            )
        refuse_mistyped(tasks, settings["env"])
        refuse_equal(tasks, settings["env"])
        if found is not None:
            tasks = [_with_calibration(task, found) for task in tasks]
        run.ledger.commit(StageRef(self.name, stage_key), tasks=tasks)
        run.progress.step(len(tasks))

    def report(self, run: Run, stage_key: str) -> Mapping[str, Any]:
        """How many."""
        ids = sorted(run.ledger.task_ids())
        return {"kind": "tasks", "count": len(ids), "digest": content_hash(ids)}


def _with_calibration(task: Task, found: Mapping[str, Any]) -> Task:
    """The task with what its difficulty was set by; another task by identity."""
    known = {key: value for key, value in found.items() if key not in ("kind", "finished")}
    fields = {name: getattr(task, name) for name in task.__struct_fields__ if name != "task_id"}
    return Task.identified(**{**fields, "difficulty": {**task.difficulty, "calibration": known}})
