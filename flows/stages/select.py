"""The stage `select`: of what the filters let pass, which trajectories are taken for SFT, and which
tasks for RL; each with its reason.
"""

import asyncio
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from msgspec.structs import replace
from pydantic import BaseModel, ConfigDict, model_validator

from synth.datasets.release import CHATS, Lineage, may_leave
from synth.engine.context import Run
from synth.exporters.registry import TakenIn
from synth.exporters.rl import rl_tasks
from synth.ledger.decisions import with_decisions
from synth.ledger.ledger import Decision, Ledger, Score, StageRef
from synth.ledger.redactions import without_findings
from synth.ledger.views import connect
from synth.ledger.with_tasks import with_tasks
from synth.loss_turns import MASKS, turns_without_loss
from synth.schemas.canonical import content_hash
from synth.schemas.errors import SynthError
from synth.schemas.stage import Plan, Shard
from synth.schemas.trajectory import Trajectory
from synth.schemas.verdict import Verdict
from synth.selection.candidates import (
    REWARD,
    SECOND_EVIDENCE,
    candidate,
    composition,
    draw_rank,
    is_candidate,
    loss_by_tool,
    loss_characters,
    share,
    traits,
)
from synth.selection.choosing import Candidate, SftSelection, TaskQuota, chosen
from synth.selection.recoveries import ENVIRONMENT, Recoveries, recoveries
from synth.selection.rl_tasks import RlSelection, RlTask, band, ranked
from synth.set_aside import PREFIX, SetAside
from synth.text.provenance.effect import effectful_by_name
from synth.topology.graph import BASE

MEASURES = ("efficiency", "waste", "recovered", SECOND_EVIDENCE, REWARD)


class SelectSettings(BaseModel):
    """What is selected for: `sft` trajectories, `rl` tasks, or both; `sft` where nothing is
    named.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sft: SftSelection | None = None
    rl: RlSelection | None = None

    @model_validator(mode="after")
    def _for_something(self) -> Self:
        return self if self.sft or self.rl else self.model_copy(update={"sft": SftSelection()})


@dataclass(frozen=True, slots=True)
class SelectStage:
    """Over what the filters before it let pass; the stage `topology`, where it ran, says which
    trajectories are better.

    Decisions on trajectories carry the stage's name; those on tasks `<name>.rl`, with the task's id
    in place of a trajectory's, and each
    task that competes has a score `rl_rank`. `sft_takes`, `rl_takes`: what the flow's exports take
    in.
    """

    name: str
    config: SelectSettings
    sft_takes: TakenIn
    rl_takes: TakenIn

    @property
    def settings(self) -> Mapping[str, Any]:
        """All of them, and what the exports take in."""
        given = {name: found for name, found in self.config.model_dump().items() if found}
        takes = {"sft": self.sft_takes.settings, "rl": self.rl_takes.settings}
        return {**given, "exports take in": {name: takes[name] for name in given}}

    def inputs(self, run: Run) -> str:
        """The trajectories so far, and the keys of the stages before it that judged or measured
        them.
        """
        state = run.ledger.state
        names = list(state.stages)
        before = names[: names.index(self.name)] if self.name in names else names
        drawn = [run.flow.seed] if self.config.sft is not None and self.config.sft.by_reward else []
        return content_hash(
            [
                state.current_valid(),
                [(name, state.stages[name].stage_key) for name in before],
                *drawn,
            ]
        )

    def plan(self, run: Run, stage_key: str) -> Plan:
        """One shard: rows are dealt over all tasks at once."""
        trajectories = len(run.ledger.state.current_valid())
        done = (stage_key, "all") in run.ledger.state.named
        return Plan(
            () if done else (Shard("all", (trajectories,)),), (), trajectories, "trajectories"
        )

    async def work(self, run: Run, stage_key: str, shard: Shard) -> None:
        """Decides, and commits the decisions."""
        if (stage_key, shard.name) in run.ledger.refresh().named:
            return
        sft, rl = self.config.sft, self.config.rl
        decisions = [] if sft is None else await self._sft(run, sft)
        scores: list[Score] = []
        tasks = [] if rl is None else [task for task, _ in self._tasks(run)]
        for identity, one in sorted((ranked(tasks, rl) if rl is not None else {}).items()):
            decisions.append(Decision(identity, self._rl_name, one.keep, one.reason, one.mixed))
            if one.rank is not None:
                told = {"mixed_group": one.mixed}
                scores.append(Score(identity, "rl_rank", one.rank, detail=told))
        ref = StageRef(self.name, stage_key)
        run.ledger.commit(ref, decisions=decisions, scores=scores, name=shard.name)

    @property
    def _rl_name(self) -> str:
        return f"{self.name}.rl"

    def _tasks(self, run: Run) -> list[tuple[RlTask, Mapping[str, Hashable]]]:
        return rl_tasks(run.ledger, self.rl_takes.release)

    async def _sft(self, run: Run, rule: SftSelection) -> list[Decision]:
        measures, came_back = _measures(run.ledger), recoveries(run.ledger)
        candidates: list[Candidate] = []
        refused: dict[str, tuple[bool, str]] = {}
        aside = SetAside()
        for trajectory, verdicts in with_decisions(run.ledger, aside):
            await asyncio.sleep(0)
            run.progress.step(1)
            identity = trajectory.trajectory_id
            known = measures.get(identity, {})
            competes = partial(self._competes, run, rule, trajectory, verdicts, known, came_back)
            found = aside.tried(identity, competes)
            if isinstance(found, str):
                refused[identity] = (False, found)
            elif found is not None:
                candidates.append(found)
        refused |= {identity: (False, PREFIX + aside.reason(identity)) for identity in aside.errors}
        for line in aside.lines():
            run.progress.say(f"{self.name}: {line}")
        if rule.by_reward and candidates and not any(REWARD in one for one in measures.values()):
            raise SynthError(
                f"{self.name}: by_reward draws by the scores of the stage trajectory_reward, and "
                "none came before it"
            )
        settled = refused | chosen(candidates, _standings(run.ledger), rule)
        decisions = []
        for identity, (keep, reason) in sorted(settled.items()):
            masks = came_back.masks_of(identity) if keep else {}
            told = {MASKS: {str(turn): why for turn, why in masks.items()}} if masks else None
            decisions.append(Decision(identity, self.name, keep, reason, detail=told))
        return decisions

    def _competes(
        self,
        run: Run,
        rule: SftSelection,
        trajectory: Trajectory,
        verdicts: Mapping[str, Verdict],
        measures: Mapping[str, float],
        came_back: Recoveries,
    ) -> Candidate | str | None:
        """A candidate; or why no export takes it in; or None for what is no success that filters
        let pass.
        """
        others = {name: verdict for name, verdict in verdicts.items() if name != self.name}
        identity, takes = trajectory.trajectory_id, self.sft_takes
        side, masks = came_back.sides.get(identity), came_back.masks_of(identity)
        tested = takes.release.include_evidence and side is not None
        refusal = may_leave(Lineage(trajectory), others, CHATS, takes.release)
        if not is_candidate(trajectory, tested=tested) or (refusal and refusal.by_filter):
            return None
        if refusal is not None:
            return refusal.counted
        if not takes.masked and turns_without_loss(trajectory, masks):
            return "masked_turns"
        one = candidate(trajectory, measures, effectful_by_name, masks)
        if side is not None:
            one = replace(one, recovered=True, world_fault=side == ENVIRONMENT)
        if not rule.by_reward:
            return one
        drawn = draw_rank(run.flow.seed, identity, measures.get(REWARD))
        return replace(one, rank=(drawn, *one.rank))

    def report(self, run: Run, stage_key: str) -> Mapping[str, Any]:
        """Chosen and not chosen by reason; what the composition was before and after."""
        sql = "SELECT trajectory_id, filter, keep, reason FROM decisions_all WHERE stage_key = ?"
        with connect(run.ledger) as connection:
            rows = connection.execute(sql, [stage_key]).fetchall()
        decided_on: dict[str, dict[str, tuple[bool, str]]] = {self._rl_name: {}, self.name: {}}
        for identity, name, keep, reason in rows:
            decided_on[name][identity] = (keep, reason)
        parts = []
        if self.config.sft is not None:
            parts.append(_sft_report(run.ledger, decided_on[self.name]))
        if self.config.rl is not None:
            parts.append(_rl_report(self._tasks(run), decided_on[self._rl_name]))
        return {"kind": "selection", "parts": parts}


Verdicts = Mapping[str, tuple[bool, str]]
Parts = Iterable[tuple[bool, Mapping[str, Hashable], int]]
"""(taken, traits, size)."""


def _report(of: str, unit: str, verdicts: Verdicts, parts: Parts) -> dict[str, Any]:
    found = list(parts)
    rejected = Counter(reason for keep, reason in verdicts.values() if not keep)
    return {
        "for": of,
        "unit": unit,
        "attempted": len(verdicts),
        "verified": len(verdicts) - rejected.total(),
        "rejected": dict(rejected),
        "also": [],
        "composition": {
            "before": composition((traits, size) for _, traits, size in found),
            "after": composition((traits, size) for keep, traits, size in found if keep),
        },
    }


def _sft_report(ledger: Ledger, verdicts: Verdicts) -> Mapping[str, Any]:
    report = _report("sft", "successes", verdicts, _loss(ledger, verdicts))
    before, after = report["composition"].values()
    told = {"refusal": "refusals", "easy task": "easy tasks", "recovery": "recoveries"}
    report["also"] += [
        f"{words} {share(before, trait)} of the loss before, {share(after, trait)} after"
        for trait, words in told.items()
        if verdicts
    ]
    return report


def _rl_report(
    tasks: Iterable[tuple[RlTask, Mapping[str, Hashable]]], verdicts: Verdicts
) -> Mapping[str, Any]:
    parts = [
        (verdicts[one.task_id][0], {**traits, "pass rate": band(one)}, 1)
        for one, traits in tasks
        if one.task_id in verdicts
    ]
    report = _report("rl", "tasks", verdicts, parts)
    before, after = report["composition"].values()
    taken = after.get("pass rate", {}).items()
    bands = [f"{count} of {before['pass rate'][name]} {name}" for name, count in taken]
    beside = Counter(reason for keep, reason in verdicts.values() if keep and reason != "chosen")
    report["also"] += [f"taken by pass rate: {', '.join(bands)}"] if bands else []
    report["also"] += [
        f"beside the ranked ones {count} {reason}" for reason, count in sorted(beside.items())
    ]
    return report


def _measures(ledger: Ledger) -> dict[str, dict[str, float]]:
    """What topology found, by trajectory."""
    found: dict[str, dict[str, float]] = {}
    sql = """SELECT subject_id, metric, value FROM scores
        WHERE metric IN (SELECT unnest(?)) AND turn IS NULL AND value IS NOT NULL"""
    with connect(ledger) as connection:
        for identity, metric, value in connection.execute(sql, [list(MEASURES)]).fetchall():
            found.setdefault(identity, {})[metric] = value
    return found


def _standings(ledger: Ledger) -> dict[str, tuple[int, int]]:
    """Base trials with a verdict and successes, by task."""
    sql = """SELECT task_id, count(*), count(*) FILTER (outcome = 'success') FROM trajectories
        WHERE synthesizer IN (SELECT unnest(?)) AND parent_id IS NULL
        AND outcome IN ('success', 'failure', 'truncated') GROUP BY 1"""
    with connect(ledger) as connection:
        rows = connection.execute(sql, [sorted(BASE)]).fetchall()
    return {task: (trials, successes) for task, trials, successes in rows}


def _loss(ledger: Ledger, verdicts: Verdicts) -> Parts:
    """How the loss (characters) lies by trait and by tool, over all that was decided on."""
    standings, came_back = _standings(ledger), recoveries(ledger)
    clean = without_findings(ledger, ledger.trajectories(set(verdicts)), SetAside())
    for trajectory, task in with_tasks(ledger, clean):
        identity = trajectory.trajectory_id
        masks, (keep, _) = came_back.masks_of(identity), verdicts[identity]
        easy = TaskQuota(*standings.get(trajectory.task_id, (0, 0)), available=1).easy
        recovered = identity in came_back.masks or identity in came_back.sides
        found = traits(trajectory, task, easy=easy, recovered=recovered)
        yield keep, found, loss_characters(trajectory, masks)
        for tool, size in loss_by_tool(trajectory, masks):
            yield keep, {"tool": tool}, size
