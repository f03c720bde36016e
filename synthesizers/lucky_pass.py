"""Lucky passes (the stage `second_evidence`): the policy plays successes of hard tasks again, live,
from their first effectful turn.

Rejection sampling on hard tasks concentrates luck: where a task is truly solved once in twenty
trials and passed by luck as often, half of the passes are luck. A policy that passes again from
before its first change, in at least two of four continuations, has not been lucky.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec
from pydantic import Field

from synth.engine.study.alternatives import Ask, Proposal
from synth.engine.study.arms import Arm, Episodes, PlannedUnit, Unit, undecided
from synth.engine.study.effects.effect import Side
from synth.engine.study.method import method_report, synthesizer
from synth.engine.study.shard import ShardContext
from synth.engine.study.stage_context import StageContext
from synth.engine.study.study import Study
from synth.ledger.ledger import Score
from synth.ledger.log.state import IMPORT
from synth.loss_turns import EVIDENCE
from synth.rollout.start import BranchPoint
from synth.schemas import SampledBy, Task, Trajectory
from synth.success_evidence import HARD, PASSES, SECOND_EVIDENCE, evidence
from synth.text.provenance.effect import effectful_by_name
from synth.topology.graph import BASE, COUNTED

CONTINUATIONS = 4
HAS_EVIDENCE = "has_evidence"


class PlayedAgain(msgspec.Struct, frozen=True, omit_defaults=True):
    """The evidence behind a row: the continuations that were played, or the reason why there are
    none.
    """

    reason: str | None = None
    evidence: tuple[str, ...] | None = None
    played: int | None = None
    of: int | None = None
    continuations: tuple[str, ...] | None = None


@synthesizer(SECOND_EVIDENCE)
class LuckyPass(Study):
    """Plays successes again: of tasks that pass in at most `hard` of their trials, those `unproven`
    by provenance and process, or `all`. It runs before `select`, which takes its rows as evidence.
    """

    unit = "successes"
    metric = SECOND_EVIDENCE

    of: Literal["unproven", "all"] = "unproven"
    hard: float = Field(default=HARD, ge=0, le=1)
    shard: int = Field(default=50, ge=1, le=1000)

    def inputs(self, stage: StageContext) -> Any:
        """The successes of hard tasks."""
        return self._hard(stage)

    def _hard(self, stage: StageContext) -> list[str]:
        """The successes, of this role and imported, on tasks that base trials seldom pass."""
        sql = f"""
            WITH standing AS (
                SELECT task_id, avg((outcome = 'success')::INT) AS rate FROM trajectories
                WHERE synthesizer IN ({_listed(BASE)}) AND parent_id IS NULL
                AND outcome IN ({_listed(COUNTED)}) GROUP BY 1
            )
            SELECT trajectory_id FROM trajectories JOIN standing USING (task_id)
            WHERE outcome = 'success' AND rate <= ? AND synthesizer NOT IN ({_listed(EVIDENCE)})
            AND (synthesizer = ?
                OR (role = ? AND policy = ? AND model IS NOT DISTINCT FROM ?))
            ORDER BY task_id, trajectory_id
        """

        policy = self.player.role.policy
        who = IMPORT, self.role, policy.name, policy.model

        return [identity for (identity,) in stage.select(sql, self.hard, *who)]

    def units(self, stage: StageContext) -> Sequence[PlannedUnit]:
        """One unit per success; its turn is found once the trial is read."""
        return [PlannedUnit(identity) for identity in self._hard(stage)]

    def left(
        self,
        stage: StageContext,
        units: Sequence[PlannedUnit],
    ) -> Sequence[PlannedUnit]:
        """The successes without a row."""
        known = {subject for subject, _ in self.tested_turns(stage)}

        return [unit for unit in units if unit.trajectory_id not in known]

    async def unfit(
        self,
        shard: ShardContext,
        trial: Trajectory,
        task: Task | None,
    ) -> str | None:
        """The reason why a success is not played again: it has evidence already, another policy
        played it, its environment cannot be rebuilt, or the policy would do the same again.
        """

        policy = self.player.role.policy

        if self.of == "unproven" and evidence(trial):
            return HAS_EVIDENCE

        other = (trial.policy, trial.model) != (policy.name, policy.model)

        if trial.synthesizer == IMPORT and other:
            return "another_policy"

        reason = await super().unfit(shard, trial, task)

        if reason is not None or task is None:
            return reason or "no_task"

        return "deterministic" if self.player.certain(shard.run, task) else None

    def untestable(
        self,
        trial: Trajectory,
        reason: str,
    ) -> Score:
        """The row of a success that is not played again."""
        turn = None
        about = PlayedAgain(reason, evidence=evidence(trial))

        # no continuation is counted for a success that needs none
        if reason != HAS_EVIDENCE:
            turn = first_effect(trial)
            about = PlayedAgain(reason, None, 0, CONTINUATIONS, ())

        return Score(trial.trajectory_id, self.metric, None, turn, about)

    async def states(
        self,
        shard: ShardContext,
        units: Sequence[PlannedUnit],
    ) -> Sequence[Unit]:
        """Starts from the first turn with an effect."""
        trials, tasks = shard.trials_with_tasks({unit.trajectory_id for unit in units})

        return [
            Unit(BranchPoint(one, first_effect(one)), task=tasks[one.task_id])
            for one in trials.values()
        ]

    async def propose(
        self,
        unit: Unit,
        ask: Ask,
    ) -> Sequence[Proposal]:
        """Proposes the own act: the policy decides anew."""
        return [Proposal(unit.state.own)]

    def arms(self, unit: Unit, proposal: Proposal) -> Sequence[Arm]:
        """Lets the policy continue, until enough continuations have passed."""
        return (Arm("again", n=CONTINUATIONS, enough=PASSES),)

    def judge(
        self,
        unit: Unit,
        played: Episodes,
    ) -> Iterator[Score]:
        """Counts enough passes whatever was lost, and too few only where lost ones could not have
        made up for them.
        """

        side = played["again"]
        known = passes_of(side)
        reason = "faults" if known is None else None
        about = PlayedAgain(reason, None, len(side.played), CONTINUATIONS, side.ids)
        identity = unit.start.trajectory.trajectory_id
        yield Score(identity, self.metric, known, unit.start.turn, about)

    def finalize(self, stage: StageContext) -> Sequence[Score]:
        """Concludes nothing: each row stands by itself."""
        return ()

    def report(self, stage: StageContext) -> Mapping[str, Any]:
        """Successes of hard tasks, those that passed again, reasons of the others."""
        rows = stage.rows(PlayedAgain, self.metric)
        hard = len(self._hard(stage))
        failed = [row for row in rows if row.value is None or row.value < PASSES]
        rejected = Counter(row.about.reason or "not_passed_again" for row in failed)
        rejected["not_played"] = hard - len(rows)

        return method_report(self.unit, hard, len(rows) - len(failed), rejected)


def first_effect(trajectory: Trajectory) -> int:
    """The first turn that changed the environment's logical state; where states have no keys, the
    first with an effectful call that was not refused.

    The policy's first turn where nothing was changed: then the whole trial is played again.
    """

    own = [turn for turn in trajectory.turns if turn.sampled_by is not SampledBy.CANNED]
    before = trajectory.opening_state_key
    keyed = before is not None and all(turn.state_key is not None for turn in own)

    for turn in own:
        failed = {seen.call_id for seen in turn.observations if seen.error}
        called = any(
            effectful_by_name(call.name) and call.call_id not in failed for call in turn.tool_calls
        )

        if (turn.state_key != before) if keyed else called:
            return turn.index

        before = turn.state_key

    return own[0].index if own else 0


def passes_of(side: Side) -> int | None:
    """The continuations that passed; None where lost ones could have decided."""
    return None if undecided(side, PASSES) else side.successes


def _listed(names: Collection[str]) -> str:
    """Names as SQL literals."""
    return ", ".join(f"'{name}'" for name in sorted(names))
