"""The stage `topology`: the trials of each task as one graph, with what it says about steps, trials and the task, as rows."""

import asyncio
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from schemas.canonical import content_hash
from schemas.stage import Plan, Shard
from schemas.trajectory import Trajectory
from synth.ledger.graph_rows import Edge, Node
from synth.ledger.ledger import Score, StageRef
from synth.ledger.views import connect
from synth.provenance.effect import effectful_by_name
from synth.run.context import Run
from synth.topology.graph import BASE
from synth.topology.keys import Level
from synth.topology.of_task import task_rows
from synth.topology.volatile import DEFAULTS, Volatile

TRIALS_PER_SHARD = 1000


class TopologySettings(BaseModel):
    """`level`: how turns are merged; `group`: trials per task in the RL that tasks are ranked for.

    `masked` and `generated` add to what observations differ in without meaning it: name -> regular expression (docs/topology.md).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    level: Level = "exact"
    group: int = Field(default=8, ge=2, le=1024)
    masked: dict[str, str] = {}
    generated: dict[str, str] = {}

    @field_validator("masked", "generated")
    @classmethod
    def _patterns_of_something(cls, patterns: dict[str, str]) -> dict[str, str]:
        for name, pattern in patterns.items():
            try:
                found = re.compile(pattern).match("")
            except (re.error, OverflowError, RecursionError) as error:
                raise ValueError(f"{name}: {pattern!r} is no regular expression: {error}") from error
            if found is not None:
                raise ValueError(
                    f"{name}: {pattern!r} matches the empty text, and so stands between any two characters; ask for one at least"
                )
        return patterns


@dataclass(frozen=True, slots=True)
class TopologyStage:
    """Over the current flow's base trials."""

    name: str
    config: TopologySettings

    @property
    def settings(self) -> Mapping[str, Any]:
        """All of them."""
        return self.config.model_dump()

    def inputs(self, run: Run) -> str:
        """The trajectories that the flow has collected so far."""
        return content_hash(run.ledger.state.current_valid())

    def plan(self, run: Run, stage_key: str) -> Plan:
        """Tasks in the order of their first trial, so many together as have a thousand trials: neighbours lie in the same files."""
        by_task: dict[str, int] = {}
        for record in run.ledger.records():
            if record["synthesizer"] in BASE and record["fault"] is None:
                by_task[record["task_id"]] = by_task.get(record["task_id"], 0) + 1
        parts = list(_parts(by_task))
        shards = [Shard(content_hash(part), part) for part in parts]
        left = [shard for shard in shards if (stage_key, shard.name) not in run.ledger.state.named]
        return Plan(left, (), sum(by_task[task] for shard in left for task in shard.items), "trials")

    async def work(self, run: Run, stage_key: str, shard: Shard) -> None:
        """The rows of a shard's tasks."""
        if (stage_key, shard.name) in run.ledger.refresh().named:
            return
        wanted = set(shard.items)
        trials: dict[str, list[Trajectory]] = {task: [] for task in shard.items}
        for trajectory in run.ledger.trajectories(_trials_of(run, wanted)):
            trials[trajectory.task_id].append(trajectory)
        volatile = Volatile({**DEFAULTS, **self.config.masked}, self.config.generated)
        nodes: list[Node] = []
        edges: list[Edge] = []
        scores: list[Score] = []
        for task, found in trials.items():
            await asyncio.sleep(0)
            rows = task_rows(task, found, effectful_by_name, level=self.config.level, volatile=volatile, group=self.config.group)
            nodes += rows.nodes
            edges += rows.edges
            scores += rows.scores
            run.progress.step(len(found))
        run.ledger.commit(StageRef(self.name, stage_key), nodes=nodes, edges=edges, scores=scores, name=shard.name)

    def report(self, run: Run, stage_key: str) -> Mapping[str, Any]:
        """Tasks, those with both outcomes, and how much the trials have in common."""
        key = f"stage_key = '{stage_key}'"
        with connect(run.ledger) as connection:
            (tasks, mixed, singletons) = connection.execute(
                f"SELECT count(*) FILTER (metric = 'pass_rate'), count(*) FILTER (metric = 'pass_rate' AND value > 0 AND value < 1), "
                f"avg(value) FILTER (metric = 'singletons') FROM scores_all WHERE {key}"
            ).fetchall()[0]
            (known, trials) = connection.execute(
                f"SELECT count(value), count(*) FROM scores_all WHERE metric = 'potential' AND {key}"
            ).fetchall()[0]
        also = [f"{mixed:,} of {tasks:,} groups of trials have both outcomes"]
        also += [f"{singletons:.0%} of the nodes were visited by one trial alone"] if singletons is not None else []
        rejected = {"too few turns in common": trials - known} if trials > known else {}
        return {"kind": "method", "unit": "trials", "attempted": trials, "verified": known, "rejected": rejected, "also": also}


def _parts(by_task: Mapping[str, int]) -> Iterator[list[str]]:
    """Tasks in their order, cut where a part has enough trials."""
    part: list[str] = []
    trials = 0
    for task, count in by_task.items():
        part.append(task)
        trials += count
        if trials >= TRIALS_PER_SHARD:
            yield part
            part, trials = [], 0
    if part:
        yield part


def _trials_of(run: Run, tasks: set[str]) -> set[str]:
    """The valid base trajectories of some tasks."""
    return {
        record["trajectory_id"]
        for record in run.ledger.records()
        if record["task_id"] in tasks and record["synthesizer"] in BASE and record["fault"] is None
    }
