"""The stage `select`: of what the filters let pass, which trajectories are taken; every choice is a decision with its reason."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from schemas.canonical import content_hash
from schemas.stage import Plan, Shard
from synth.ledger.ledger import Decision, Ledger, StageRef
from synth.ledger.views import connect
from synth.provenance.effect import effectful_by_name
from synth.run.context import Run
from synth.run.decided import decided
from synth.run.with_tasks import with_tasks
from synth.selection.allocation import Standing
from synth.selection.candidates import candidate, is_candidate, traits
from synth.selection.choosing import Candidate, Quotas, chosen, composition
from synth.topology.graph import BASE

MEASURES = ("efficiency", "waste", "recovered")
SUCCESSES = "count(*) FILTER (outcome = 'success')"


class SftSelection(BaseModel):
    """Rows per task on average and at most, and shares of all loss: of tasks that nearly always pass, of recoveries."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    per_task: float = Field(default=2.0, gt=0, le=1000)
    cap: int = Field(default=4, ge=1)
    easy_share: float = Field(default=0.15, ge=0, le=1)
    recovery_share: float = Field(default=0.10, ge=0, le=1)


class SelectSettings(BaseModel):
    """What is selected for: `sft`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sft: SftSelection = SftSelection()


@dataclass(frozen=True, slots=True)
class SelectStage:
    """Over what the filters before it let pass; the stage `topology`, where it ran, says which trajectories are better."""

    name: str
    config: SelectSettings

    @property
    def settings(self) -> Mapping[str, Any]:
        """All of them."""
        return self.config.model_dump()

    def inputs(self, run: Run) -> str:
        """The trajectories so far, and the keys of the stages before it that judged or measured them."""
        state = run.ledger.state
        names = list(state.stages)
        before = names[: names.index(self.name)] if self.name in names else names
        return content_hash([state.current_valid(), [(name, state.stages[name].stage_key) for name in before]])

    def plan(self, run: Run, stage_key: str) -> Plan:
        """One shard: rows are dealt over all tasks at once."""
        trajectories = len(run.ledger.state.current_valid())
        done = (stage_key, "all") in run.ledger.state.named
        return Plan(() if done else (Shard("all", (trajectories,)),), (), trajectories, "trajectories")

    async def work(self, run: Run, stage_key: str, shard: Shard) -> None:
        """Decides, and commits the decisions."""
        if (stage_key, shard.name) in run.ledger.refresh().named:
            return
        measures, standings = _measures(run.ledger), _standings(run.ledger)
        candidates: list[Candidate] = []
        for trajectory, verdicts in decided(run.ledger):
            await asyncio.sleep(0)
            run.progress.step(1)
            others = {name: verdict for name, verdict in verdicts.items() if name != self.name}
            if is_candidate(trajectory, others):
                candidates.append(candidate(trajectory, measures.get(trajectory.trajectory_id, {}), effectful_by_name))
        found = chosen(candidates, standings, Quotas(**self.config.sft.model_dump()))
        decisions = [Decision(identity, self.name, keep, reason) for identity, (keep, reason) in sorted(found.items())]
        run.ledger.commit(StageRef(self.name, stage_key), decisions=decisions, name=shard.name)

    def report(self, run: Run, stage_key: str) -> Mapping[str, Any]:
        """Chosen and not chosen by reason; what the composition of the loss was before and after."""
        with connect(run.ledger) as connection:
            sql = f"SELECT trajectory_id, keep, reason FROM decisions_all WHERE stage_key = '{stage_key}'"
            verdicts = {identity: (keep, reason) for identity, keep, reason in connection.execute(sql).fetchall()}
        taken = {identity for identity, (keep, _) in verdicts.items() if keep}
        before, after = _compositions(run.ledger, set(verdicts), taken)
        rejected = Counter(reason for keep, reason in verdicts.values() if not keep)
        told = ("refusal", "easy task")
        also = [f"{name}s {_share(before, name)} of the loss before, {_share(after, name)} after" for name in told if name in before]
        return {
            "kind": "method", "unit": "successes", "attempted": len(verdicts), "verified": len(taken), "rejected": dict(rejected),
            "also": also, "composition": {"before": before, "after": after},
        }  # fmt: skip


def _measures(ledger: Ledger) -> dict[str, dict[str, float]]:
    """What topology found, by trajectory."""
    found: dict[str, dict[str, float]] = {}
    names = ", ".join(f"'{name}'" for name in MEASURES)
    with connect(ledger) as connection:
        sql = f"SELECT subject_id, metric, value FROM scores WHERE metric IN ({names}) AND turn IS NULL AND value IS NOT NULL"
        for identity, metric, value in connection.execute(sql).fetchall():
            found.setdefault(identity, {})[metric] = value
    return found


def _standings(ledger: Ledger) -> dict[str, tuple[int, int]]:
    """Base trials with a verdict and successes, by task."""
    base = ", ".join(f"'{name}'" for name in sorted(BASE))
    where = f"synthesizer IN ({base}) AND parent_id IS NULL AND outcome IN ('success', 'failure', 'truncated')"
    with connect(ledger) as connection:
        rows = connection.execute(f"SELECT task_id, count(*), {SUCCESSES} FROM trajectories WHERE {where} GROUP BY 1").fetchall()
    return {task: (trials, successes) for task, trials, successes in rows}


def _compositions(ledger: Ledger, all_of_them: set[str], taken: set[str]) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, int]]]:
    standings = _standings(ledger)
    candidates: list[Candidate] = []
    known: dict[str, Mapping[str, Any]] = {}
    for trajectory, task in with_tasks(ledger, ledger.trajectories(all_of_them)):
        standing = Standing(*standings.get(trajectory.task_id, (0, 0)), available=1)
        candidates.append(candidate(trajectory, {}, effectful_by_name))
        known[trajectory.trajectory_id] = traits(trajectory, task, easy=standing.easy)
    return composition(candidates, known), composition((one for one in candidates if one.trajectory_id in taken), known)


def _share(counts: Mapping[str, Mapping[str, int]], trait: str) -> str:
    """How much of the loss falls to trajectories with a trait."""
    found = counts.get(trait, {})
    total = sum(found.values())
    return f"{found.get('True', 0) / total:.0%}" if total else "nothing"
