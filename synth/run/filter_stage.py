"""The stage `filter`: each named filter judges each valid trajectory; verdicts are decisions in the ledger, nothing is removed."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from schemas.canonical import content_hash
from schemas.filter import Case, Filter
from schemas.stage import Plan, Shard
from schemas.verdict import Verdict
from synth.ledger.ledger import Decision, StageRef
from synth.ledger.views import connect
from synth.run.context import Run
from synth.run.with_tasks import with_tasks


@dataclass(frozen=True, slots=True)
class NamedFilter:
    """A filter under the name that its decisions carry, with its settings."""

    name: str
    filter: Filter
    config: BaseModel


@dataclass(frozen=True, slots=True)
class FilterStage:
    """Filters over the current flow's valid trajectories."""

    name: str
    filters: Sequence[NamedFilter]

    @property
    def settings(self) -> Mapping[str, Any]:
        """Each filter's own."""
        return {named.name: named.config.model_dump(mode="json") for named in self.filters}

    def inputs(self, run: Run) -> str:
        """The trajectories that the flow has collected so far."""
        return content_hash(run.ledger.state.current_valid())

    def plan(self, run: Run, stage_key: str) -> Plan:
        """The trajectories without decisions under this key, cut as the ledger's shards are: each is read once."""
        decided = run.ledger.decided(stage_key)
        parts = [[identity for identity in part if identity not in decided] for part in run.ledger.state.valid_by_shard()]
        shards = [Shard(content_hash(part), part) for part in parts if part]
        return Plan(shards, (), sum(len(part) for part in parts), "trajectories")

    async def work(self, run: Run, stage_key: str, shard: Shard) -> None:
        """Judges a shard's trajectories and commits the decisions."""
        if (stage_key, shard.name) in run.ledger.refresh().named:
            return
        decisions = []
        for trajectory, task in with_tasks(run.ledger, run.ledger.trajectories(set(shard.items))):
            await asyncio.sleep(0)  # worlds that never suspend would keep an interrupt waiting
            case = Case(trajectory, task, run.world)
            for named in self.filters:
                verdict = await named.filter.judge(case, named.config)
                decisions.append(_decision(trajectory.trajectory_id, named.name, verdict))
            run.progress.step(1)
        run.ledger.commit(StageRef(self.name, stage_key), decisions=decisions, name=shard.name)

    def report(self, run: Run, stage_key: str) -> Mapping[str, Any]:
        """Kept, dropped and undefined by filter, with the reasons, and what all together keep."""
        sql = f"SELECT filter, keep, reason, count(*) FROM decisions_all WHERE stage_key = '{stage_key}' GROUP BY ALL ORDER BY ALL"
        counts: dict[str, dict[str, Counter[str]]] = {
            n.name: {"kept": Counter(), "dropped": Counter(), "undefined": Counter()} for n in self.filters
        }
        with connect(run.ledger) as connection:
            for name, keep, reason, count in connection.execute(sql).fetchall():
                counts[name]["undefined" if keep is None else "kept" if keep else "dropped"][reason] += count
            whole = (
                f"SELECT bool_and(coalesce(keep, true)) AS kept FROM decisions_all WHERE stage_key = '{stage_key}' GROUP BY trajectory_id"
            )
            ((kept, total),) = connection.execute(f"SELECT count(*) FILTER (kept), count(*) FROM ({whole})").fetchall()
        return {"kind": "filter", "filters": [{"name": name, **found} for name, found in counts.items()], "kept": kept, "total": total}


def _decision(identity: str, name: str, verdict: Verdict) -> Decision:
    return Decision(identity, name, verdict.keep, verdict.reason, verdict.score, verdict.detail or None)
