"""The stage `select`: of what the filters let pass, which trajectories are taken for SFT, and which
tasks for RL; each with its reason.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from synth.datasets.release import CHATS, Lineage, may_leave
from synth.engine.study.method import Method, synthesizer
from synth.engine.study.shard import OF_ALL, ShardContext
from synth.engine.study.stage_context import StageContext
from synth.exporters.kinds.rl import rl_tasks
from synth.flows.stages.earlier import stages_before
from synth.flows.stages.export import ExportSettings, FlowRelease
from synth.flows.stages.select_report import rl_report, sft_report, standings
from synth.ledger.decisions import with_decisions
from synth.ledger.ledger import Decision, Score
from synth.loss_turns import MASKS, turns_without_loss
from synth.schemas import SynthError, Trajectory, Verdict
from synth.selection.candidates import candidate, draw_rank, is_candidate
from synth.selection.choosing import Candidate, SftSelection, chosen
from synth.selection.recoveries import ENVIRONMENT, Recoveries, recoveries
from synth.selection.rl_tasks import RlSelection, ranked
from synth.set_aside import PREFIX, SetAside
from synth.success_evidence import SECOND_EVIDENCE
from synth.synthesizers.trajectory_reward import METRIC as REWARD
from synth.text.provenance.effect import effectful_by_name

MEASURES = ["efficiency", "waste", "recovered", SECOND_EVIDENCE, REWARD]

# what topology and others found, by trajectory, then by metric; all about whole trajectories,
# though second evidence names the turn from which it was played
_MEASURED = """
SELECT subject_id, list((metric, value))
FROM scores
WHERE metric IN (SELECT unnest(?)) AND value IS NOT NULL
GROUP BY 1
"""
_DECIDED = """
SELECT trajectory_id, keep, reason
FROM decisions_all
WHERE stage_key = ? AND filter = ?
ORDER BY ALL
"""


@synthesizer("select", version=2)
class SelectStage(Method):
    """Selects `sft` trajectories, `rl` tasks, or both, over what the filters before it let pass;
    `sft` where nothing is named. The stage `topology`, where it ran, says which trajectories are
    better.

    Decisions on trajectories carry the stage's name; those on tasks `<name>.rl`, with the task's id
    in place of a trajectory's, and each task that competes has a score `rl_rank`.
    """

    unit = "trajectories"

    sft: SftSelection | None = None
    rl: RlSelection | None = None

    def bind(self) -> None:
        """Looks up what the flow's exports take in, by kind."""
        if self.rl is None and self.sft is None:
            self.sft = SftSelection()

        exports = [
            ExportSettings.model_validate(one.settings or {})
            for one in self.bound.flow.stages
            if one.name == "export"
        ]
        self.takes = {kind: FlowRelease.by(exports, kind) for kind in ("sft", "rl")}

    def key_settings(self) -> Mapping[str, Any]:
        """All of them, and what the exports take in."""
        given = {
            name: rule.model_dump() for name, rule in (("sft", self.sft), ("rl", self.rl)) if rule
        }
        takes = {name: self.takes[name].settings for name in given}
        return {**given, "exports take in": takes}

    def inputs(self, stage: StageContext) -> Any:
        """The trajectories so far, and the keys of the stages before it that judged or measured
        them.
        """
        # a draw goes by the seed, all else by what was collected
        drawn = [stage.run.flow.seed] if self.sft is not None and self.sft.by_reward else []
        return [stage.run.ledger.state.current_valid(), stages_before(stage), *drawn]

    def units(self, stage: StageContext) -> Sequence[int]:
        """How many trajectories there are: rows are dealt over all tasks at once."""
        return [len(stage.run.ledger.state.current_valid())]

    def progress_of(self, unit: int) -> int:
        """Progress counts trajectories."""
        return unit

    async def play(self, shard: ShardContext, units: Sequence[int]) -> None:
        """Decides on trajectories first, then on tasks."""
        result = shard.of(OF_ALL)
        if self.sft is not None:
            came_back = recoveries(shard.run.ledger)
            settled = await self._settled(shard, self.sft, came_back)
            for identity, (keep, reason) in sorted(settled.items()):
                # the turns that carry no loss, where a recovery is taken
                masks = came_back.masks_of(identity) if keep else {}
                told = {MASKS: {str(turn): why for turn, why in masks.items()}} if masks else None
                result.decisions.append(Decision(identity, shard.name, keep, reason, detail=told))
        if self.rl is not None:
            self._rank(shard, self.rl)

    def _rank(self, shard: ShardContext, rule: RlSelection) -> None:
        """Decides on tasks; those that compete have a rank."""
        result, name = shard.of(OF_ALL), f"{shard.name}.rl"
        tasks = rl_tasks(shard.run.ledger, self.takes["rl"].release)
        for identity, one in sorted(ranked([task for task, _ in tasks], rule).items()):
            result.decisions.append(Decision(identity, name, one.keep, one.reason, one.mixed))

            if one.rank is not None:
                mixed = {"mixed_group": one.mixed}
                result.scores.append(Score(identity, "rl_rank", one.rank, detail=mixed))

    async def _settled(
        self, shard: ShardContext, rule: SftSelection, came_back: Recoveries
    ) -> dict[str, tuple[bool, str]]:
        """Success -> (taken, reason).

        Raises `SynthError` where rows are to be drawn by rewards, and nobody gave any.
        """
        run, aside = shard.run, SetAside()
        measures = {identity: dict(found) for identity, found in shard.select(_MEASURED, MEASURES)}
        candidates: list[Candidate] = []
        settled: dict[str, tuple[bool, str]] = {}

        async for identity, found in self._tried(shard, measures, came_back, aside):
            if isinstance(found, str):
                settled[identity] = (False, found)
            elif rule.by_reward:
                # the draw decides, and what is better only between those that it ranks alike
                drawn = draw_rank(run.flow.seed, identity, measures.get(identity, {}).get(REWARD))
                candidates.append(replace(found, rank=(drawn, *found.rank)))
            else:
                candidates.append(found)

        settled |= {identity: (False, PREFIX + aside.reason(identity)) for identity in aside.errors}
        for line in aside.lines():
            run.progress.say(f"{shard.name}: {line}")

        if rule.by_reward and candidates and not any(REWARD in one for one in measures.values()):
            raise SynthError(
                f"{shard.name}: by_reward draws by the scores of the stage trajectory_reward, and "
                "none came before it"
            )

        return settled | chosen(candidates, standings(run.ledger), rule)

    async def _tried(
        self,
        shard: ShardContext,
        measures: Mapping[str, Mapping[str, float]],
        came_back: Recoveries,
        aside: SetAside,
    ) -> AsyncIterator[tuple[str, Candidate | str]]:
        """Each success that filters let pass, as a candidate or with why no export takes it in."""
        for trajectory, verdicts in with_decisions(shard.run.ledger, aside):
            # provenance takes a while of each, and the run has other things to do meanwhile
            await asyncio.sleep(0)
            shard.run.progress.step(1)
            identity = trajectory.trajectory_id
            # what this stage said before is no reason to say it again
            others = {name: verdict for name, verdict in verdicts.items() if name != shard.name}
            known = measures.get(identity, {})
            competes = partial(self._competes, trajectory, others, known, came_back)
            found = aside.tried(identity, competes)
            if found is not None:
                yield identity, found

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
        identity, takes = trajectory.trajectory_id, self.takes["sft"]
        side, masks = came_back.sides.get(identity), came_back.masks_of(identity)
        tested = takes.release.include_evidence and side is not None

        # a share that is spent on what no export takes in would be lost
        refusal = may_leave(Lineage(trajectory), verdicts, CHATS, takes.release)

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

    def report(self, stage: StageContext) -> Mapping[str, Any]:
        """Chosen and not chosen by reason; what the composition was before and after."""

        def verdicts(name: str) -> dict[str, tuple[bool, str]]:
            # of the key that is told of, whatever stage has decided since
            rows = stage.select(_DECIDED, stage.stage_key, name)
            return {identity: (keep, reason) for identity, keep, reason in rows}

        ledger, parts = stage.run.ledger, []
        if self.sft is not None:
            parts.append(sft_report(ledger, verdicts(stage.name)))

        if self.rl is not None:
            tasks = rl_tasks(ledger, self.takes["rl"].release)
            parts.append(rl_report(tasks, verdicts(f"{stage.name}.rl")))

        return {"kind": "selection", "parts": parts}
