"""The flow's tasks, made by its world from the flow's seed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from schemas.canonical import content_hash
from schemas.stage import Plan, Shard
from synth.ledger.ledger import StageRef
from synth.run.context import Run


@dataclass(frozen=True, slots=True)
class TemplateTasks:
    """The stage `tasks`: as many as the flow asks for, the same ones each time."""

    settings: Mapping[str, Any]
    name: str = "tasks"

    def inputs(self, run: Run) -> str:
        """Nothing comes before it."""
        return ""

    def plan(self, run: Run, stage_key: str) -> Plan:
        """One shard, unless it is committed."""
        committed = any(shard.stage_key == stage_key for shard in run.ledger.state.shards)
        count = int(self.settings["count"])
        if committed or not count:
            return Plan((), units=count, unit="tasks")
        return Plan((Shard("all", (count,)),), units=count, unit="tasks")

    async def work(self, run: Run, stage_key: str, shard: Shard) -> None:
        """Makes and commits them."""
        if any(committed.stage_key == stage_key for committed in run.ledger.refresh().shards):
            return
        settings = self.settings
        tasks = run.make_tasks(settings["env"], settings["config"], settings["seed"], settings["count"])
        run.ledger.commit(StageRef(self.name, stage_key), tasks=tasks)
        run.progress.step(len(tasks))

    def report(self, run: Run, stage_key: str) -> Mapping[str, Any]:
        """How many."""
        ids = sorted(run.ledger.task_ids())
        return {"kind": "tasks", "count": len(ids), "digest": content_hash(ids)}
