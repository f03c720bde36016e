"""The stage `select`: of what the filters let pass, which trajectories are taken for SFT, and which
tasks for RL; each with its reason.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from msgspec.structs import replace
from pydantic import BaseModel, ConfigDict, model_validator

from synth.datasets.release import CHATS, Lineage, may_leave
from synth.engine.context import Run
from synth.exporters.kinds.rl import rl_tasks
from synth.flows.stages.export import FlowRelease
from synth.flows.stages.select_report import rl_report, sft_report, standings
from synth.ledger.decisions import with_decisions
from synth.ledger.ledger import Decision, Ledger, Score, StageRef
from synth.ledger.views import connect
from synth.loss_turns import MASKS, turns_without_loss
from synth.schemas.canonical import content_hash
from synth.schemas.errors import SynthError
from synth.schemas.stage import Plan, Shard
from synth.schemas.trajectory import Trajectory
from synth.schemas.verdict import Verdict
from synth.selection.candidates import (
    candidate,
    draw_rank,
    is_candidate,
)
from synth.selection.choosing import Candidate, SftSelection, chosen
from synth.selection.recoveries import ENVIRONMENT, Recoveries, recoveries
from synth.selection.rl_tasks import RlSelection, ranked
from synth.set_aside import PREFIX, SetAside
from synth.success_evidence import SECOND_EVIDENCE
from synth.synthesizers.trajectory_reward import METRIC as REWARD
from synth.text.provenance.effect import effectful_by_name

MEASURES = ["efficiency", "waste", "recovered", SECOND_EVIDENCE, REWARD]


class SelectSettings(BaseModel):
    """What is selected for: `sft` trajectories, `rl` tasks, or both; `sft` where nothing is
    named.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sft: SftSelection | None = None
    rl: RlSelection | None = None

    @model_validator(mode="after")
    def _for_something(self) -> Self:
        """A stage without settings selects for SFT."""
        return self if self.sft or self.rl else self.model_copy(update={"sft": SftSelection()})


@dataclass(frozen=True, slots=True)
class SelectStage:
    """Over what the filters before it let pass; the stage `topology`, where it ran, says which
    trajectories are better.

    Decisions on trajectories carry the stage's name; those on tasks `<name>.rl`, with the task's id
    in place of a trajectory's, and each task that competes has a score `rl_rank`. `takes`: what the
    flow's exports take in, by kind.
    """

    name: str
    config: SelectSettings
    takes: Mapping[str, FlowRelease]

    @property
    def settings(self) -> Mapping[str, Any]:
        """All of them, and what the exports take in."""
        given = {name: found for name, found in self.config.model_dump().items() if found}
        takes = {name: self.takes[name].settings for name in given}
        return {**given, "exports take in": takes}

    def inputs(self, run: Run) -> str:
        """The trajectories so far, and the keys of the stages before it that judged or measured
        them.
        """
        state = run.ledger.state
        names = list(state.stages)

        # the stage may run again, and then stands among the others already
        before = names[: names.index(self.name)] if self.name in names else names
        keys = [(name, state.stages[name].stage_key) for name in before]

        # a draw goes by the seed, all else by what was collected
        drawn = [run.flow.seed] if self.config.sft is not None and self.config.sft.by_reward else []

        return content_hash([state.current_valid(), keys, *drawn])

    def plan(self, run: Run, stage_key: str) -> Plan:
        """One shard: rows are dealt over all tasks at once."""
        trajectories = len(run.ledger.state.current_valid())
        done = (stage_key, "all") in run.ledger.state.named
        shards = () if done else (Shard("all", (trajectories,)),)
        return Plan(shards, (), trajectories, "trajectories")

    async def work(self, run: Run, stage_key: str, shard: Shard) -> None:
        """Decides, and commits the decisions."""
        if (stage_key, shard.name) in run.ledger.refresh().named:
            return

        sft, rl = self.config.sft, self.config.rl

        # trajectories first, then tasks: both go into one commit, or none does
        decisions = [] if sft is None else await self._sft(run, sft)
        scores: list[Score] = []
        tasks = [] if rl is None else rl_tasks(run.ledger, self.takes["rl"].release)
        found = {} if rl is None else ranked([task for task, _ in tasks], rl)

        for identity, one in sorted(found.items()):
            decisions.append(Decision(identity, self._rl_name, one.keep, one.reason, one.mixed))

            if one.rank is not None:
                told = {"mixed_group": one.mixed}
                scores.append(Score(identity, "rl_rank", one.rank, detail=told))

        ref = StageRef(self.name, stage_key)
        run.ledger.commit(ref, decisions=decisions, scores=scores, name=shard.name)

    @property
    def _rl_name(self) -> str:
        """Under which decisions on tasks stand."""
        return f"{self.name}.rl"

    async def _sft(self, run: Run, rule: SftSelection) -> list[Decision]:
        """A decision on each success, in the order of their ids.

        Raises `SynthError` where rows are to be drawn by rewards, and nobody gave any.
        """
        measures, came_back = _measures(run.ledger), recoveries(run.ledger)
        candidates: list[Candidate] = []
        settled: dict[str, tuple[bool, str]] = {}
        aside = SetAside()

        for trajectory, verdicts in with_decisions(run.ledger, aside):
            # provenance takes a while of each, and the run has other things to do meanwhile
            await asyncio.sleep(0)
            run.progress.step(1)
            identity = trajectory.trajectory_id
            known = measures.get(identity, {})
            competes = partial(self._competes, trajectory, verdicts, known, came_back)
            found = aside.tried(identity, competes)

            if isinstance(found, str):
                settled[identity] = (False, found)
            elif found is not None and rule.by_reward:
                # the draw decides, and what is better only between those that it ranks alike
                drawn = draw_rank(run.flow.seed, identity, known.get(REWARD))
                candidates.append(replace(found, rank=(drawn, *found.rank)))
            elif found is not None:
                candidates.append(found)

        settled |= {identity: (False, PREFIX + aside.reason(identity)) for identity in aside.errors}
        for line in aside.lines():
            run.progress.say(f"{self.name}: {line}")

        if rule.by_reward and candidates and not any(REWARD in one for one in measures.values()):
            raise SynthError(
                f"{self.name}: by_reward draws by the scores of the stage trajectory_reward, and "
                "none came before it"
            )

        settled |= chosen(candidates, standings(run.ledger), rule)
        return [self._decision(*one, came_back) for one in sorted(settled.items())]

    def _decision(
        self, identity: str, settled: tuple[bool, str], came_back: Recoveries
    ) -> Decision:
        """With the turns that carry no loss, where a recovery is taken."""
        keep, reason = settled
        masks = came_back.masks_of(identity) if keep else {}
        told = {MASKS: {str(turn): why for turn, why in masks.items()}} if masks else None
        return Decision(identity, self.name, keep, reason, detail=told)

    def _competes(
        self,
        trajectory: Trajectory,
        verdicts: Mapping[str, Verdict],
        measures: Mapping[str, float],
        came_back: Recoveries,
    ) -> Candidate | str | None:
        """A candidate; or why no export takes it in; or None for what is no success that filters
        let pass.
        """
        # what this stage said before is no reason to say it again
        others = {name: verdict for name, verdict in verdicts.items() if name != self.name}
        identity, takes = trajectory.trajectory_id, self.takes["sft"]
        side, masks = came_back.sides.get(identity), came_back.masks_of(identity)
        tested = takes.release.include_evidence and side is not None

        # a share that is spent on what no export takes in would be lost
        refusal = may_leave(Lineage(trajectory), others, CHATS, takes.release)

        if not is_candidate(trajectory, tested=tested) or (refusal and refusal.by_filter):
            return None

        if refusal is not None:
            return refusal.counted

        if not takes.masked and turns_without_loss(trajectory, masks):
            return "masked_turns"

        one = candidate(trajectory, measures, effectful_by_name, masks)
        if side is None:
            return one

        return replace(one, recovered=True, world_fault=side == ENVIRONMENT)

    def report(self, run: Run, stage_key: str) -> Mapping[str, Any]:
        """Chosen and not chosen by reason; what the composition was before and after."""
        sql = "SELECT filter, trajectory_id, keep, reason FROM decisions_all WHERE stage_key = ?"
        with connect(run.ledger) as connection:
            rows = connection.execute(sql, [stage_key]).fetchall()

        # of the key that is told of, whatever stage has decided since
        verdicts: dict[str, dict[str, tuple[bool, str]]] = {self._rl_name: {}, self.name: {}}
        for name, identity, keep, reason in rows:
            verdicts[name][identity] = (keep, reason)

        parts = []
        if self.config.sft is not None:
            parts.append(sft_report(run.ledger, verdicts[self.name]))

        if self.config.rl is not None:
            tasks = rl_tasks(run.ledger, self.takes["rl"].release)
            parts.append(rl_report(tasks, verdicts[self._rl_name]))

        return {"kind": "selection", "parts": parts}


def _measures(ledger: Ledger) -> dict[str, dict[str, float]]:
    """What topology found, by trajectory, then by metric."""
    sql = """SELECT subject_id, list((metric, value)) FROM scores
        WHERE metric IN (SELECT unnest(?)) AND turn IS NULL AND value IS NOT NULL GROUP BY 1"""

    with connect(ledger) as connection:
        found = connection.execute(sql, [MEASURES]).fetchall()

    return {identity: dict(measured) for identity, measured in found}
