"""The stage `select`: of what the filters let pass, which trajectories are taken for SFT, and which
tasks for RL; each with its reason.
"""

import asyncio
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from msgspec.structs import replace
from pydantic import BaseModel, ConfigDict, Field, model_validator

from synth.datasets.release import CHATS, Lineage, may_leave
from synth.engine.context import Run
from synth.exporters.select_rl import rl_tasks
from synth.exporters.taken_in import TakenIn
from synth.ledger.decided import decided
from synth.ledger.ledger import Decision, Ledger, Score, StageRef
from synth.ledger.redactions import without_findings
from synth.ledger.views import connect
from synth.ledger.with_tasks import with_tasks
from synth.loss_turns import MASKS, mask_reason
from synth.schemas.canonical import content_hash
from synth.schemas.errors import SynthError
from synth.schemas.stage import Plan, Shard
from synth.schemas.trajectory import Trajectory
from synth.schemas.verdict import Verdict
from synth.selection.allocation import TaskQuota
from synth.selection.candidates import (
    SECOND_EVIDENCE,
    candidate,
    is_candidate,
    loss_by_tool,
    loss_characters,
    traits,
)
from synth.selection.choosing import Candidate, Quotas, chosen
from synth.selection.composition import composition, share
from synth.selection.recoveries import ENVIRONMENT, Recoveries, recoveries
from synth.selection.rl_tasks import RlRule, Unsolved, band, ranked
from synth.selection.weighted_draw import REWARD, draw_rank
from synth.set_aside import PREFIX, SetAside
from synth.text.provenance.effect import effectful_by_name
from synth.topology.graph import BASE

MEASURES = ("efficiency", "waste", "recovered", SECOND_EVIDENCE, REWARD)
SUCCESSES = "count(*) FILTER (outcome = 'success')"


class SftSelection(BaseModel):
    """Rows per task on average and at most, and shares of all loss: of tasks that nearly always
    pass, of recoveries.

    `by_reward`: of a task they are drawn by chance, in proportion to the scores of the stage
    trajectory_reward, instead of the better
    ones first.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    per_task: float = Field(default=2.0, gt=0, le=1000)
    cap: int = Field(default=4, ge=1)
    easy_share: float = Field(default=0.15, ge=0, le=1)
    recovery_share: float = Field(default=0.10, ge=0, le=1)
    by_reward: bool = False


class RlSelection(BaseModel):
    """Tasks whose next `group` trials have both outcomes with a chance of at least `least`, at most
    `tasks` of them, the likeliest first.

    `unsolved`: which tasks without a success are kept beside them: `proven` solvable (test T8, or a
    success of a retry), `all`, `none`.
    `by_branching`: ties by error branch ratio x strategic heterogeneity, before the task id.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    group: int = Field(default=8, ge=2, le=1024)
    tasks: int | None = Field(default=None, ge=1)
    least: float = Field(default=0.5, ge=0, le=1)
    unsolved: Unsolved = "proven"
    by_branching: bool = False


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
        chosen_for = {
            name: found for name, found in self.config.model_dump().items() if found is not None
        }
        takes = {"sft": self.sft_takes, "rl": self.rl_takes}
        return {
            **chosen_for,
            "exports take in": {name: takes[name].settings for name in chosen_for},
        }

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
        decisions = await self._sft(run) if self.config.sft is not None else []
        scores: list[Score] = []
        if self.config.rl is not None:
            tasks = [task for task, _ in rl_tasks(run.ledger, self.rl_takes.release)]
            for identity, found in sorted(
                ranked(tasks, RlRule(**self.config.rl.model_dump())).items()
            ):
                decisions.append(
                    Decision(identity, self._rl_name, found.keep, found.reason, found.mixed)
                )
                scores += (
                    []
                    if found.rank is None
                    else [
                        Score(identity, "rl_rank", found.rank, detail={"mixed_group": found.mixed})
                    ]
                )
        run.ledger.commit(
            StageRef(self.name, stage_key), decisions=decisions, scores=scores, name=shard.name
        )

    @property
    def _rl_name(self) -> str:
        return f"{self.name}.rl"

    async def _sft(self, run: Run) -> list[Decision]:
        assert self.config.sft is not None
        measures, standings, came_back = (
            _measures(run.ledger),
            _standings(run.ledger),
            recoveries(run.ledger),
        )
        candidates: list[Candidate] = []
        refused: dict[str, tuple[bool, str]] = {}
        aside = SetAside()
        for trajectory, verdicts in decided(run.ledger, aside):
            await asyncio.sleep(0)
            run.progress.step(1)
            identity = trajectory.trajectory_id
            found = aside.tried(
                identity,
                partial(
                    self._competes, run, trajectory, verdicts, measures.get(identity, {}), came_back
                ),
            )
            if isinstance(found, str):
                refused[identity] = (False, found)
            elif found is not None:
                candidates.append(found)
        refused |= {identity: (False, PREFIX + aside.reason(identity)) for identity in aside.errors}
        for line in aside.lines():
            run.progress.say(f"{self.name}: {line}")
        if (
            self.config.sft.by_reward
            and candidates
            and not any(REWARD in found for found in measures.values())
        ):
            raise SynthError(
                f"{self.name}: by_reward draws by the scores of the stage trajectory_reward, and "
                "none came before it"
            )
        settled = refused | chosen(
            candidates, standings, Quotas(**self.config.sft.model_dump(exclude={"by_reward"}))
        )
        return [
            Decision(
                identity,
                self.name,
                keep,
                reason,
                detail=_loss_masks(came_back.masks_of(identity)) if keep else None,
            )
            for identity, (keep, reason) in sorted(settled.items())
        ]

    def _competes(
        self,
        run: Run,
        trajectory: Trajectory,
        verdicts: Mapping[str, Verdict],
        measures: Mapping[str, float],
        came_back: Recoveries,
    ) -> Candidate | str | None:
        """A candidate; or why no export takes it in; or None for what is no success that filters
        let pass.
        """
        assert self.config.sft is not None
        others = {name: verdict for name, verdict in verdicts.items() if name != self.name}
        identity, side = trajectory.trajectory_id, came_back.sides.get(trajectory.trajectory_id)
        takes = self.sft_takes
        tested = takes.release.include_evidence and side is not None
        refusal = may_leave(Lineage(trajectory), others, CHATS, takes.release)
        if not is_candidate(trajectory, tested=tested) or (refusal and refusal.by_filter):
            return None
        if refusal is not None:
            return refusal.counted
        masks = came_back.masks_of(identity)
        masked = bool(masks) or any(
            mask_reason(turn, index, trajectory.pivot_turn)
            for index, turn in enumerate(trajectory.turns)
        )
        if masked and not takes.masked:
            return "masked_turns"
        one = candidate(trajectory, measures, effectful_by_name, masks)
        if side is not None:
            one = replace(one, recovered=True, world_fault=side == ENVIRONMENT)
        if self.config.sft.by_reward:
            one = replace(
                one, rank=(draw_rank(run.flow.seed, identity, measures.get(REWARD)), *one.rank)
            )
        return one

    def report(self, run: Run, stage_key: str) -> Mapping[str, Any]:
        """Chosen and not chosen by reason; what the composition was before and after."""
        with connect(run.ledger) as connection:
            sql = (
                "SELECT trajectory_id, filter, keep, reason FROM decisions_all WHERE "
                f"stage_key = '{stage_key}'"
            )
            rows = connection.execute(sql).fetchall()
        of_tasks = {
            identity: (keep, reason)
            for identity, name, keep, reason in rows
            if name == self._rl_name
        }
        of_rows = {
            identity: (keep, reason)
            for identity, name, keep, reason in rows
            if name != self._rl_name
        }
        parts = [self._sft_report(run, of_rows)] if self.config.sft is not None else []
        parts += [self._rl_report(run, of_tasks)] if self.config.rl is not None else []
        return {"kind": "selection", "parts": parts}

    def _sft_report(self, run: Run, verdicts: Mapping[str, tuple[bool, str]]) -> Mapping[str, Any]:
        before, after = _compositions(
            run.ledger, {name: keep for name, (keep, _) in verdicts.items()}
        )
        told = (
            {"refusal": "refusals", "easy task": "easy tasks", "recovery": "recoveries"}
            if verdicts
            else {}
        )
        also = [
            f"{words} {share(before, trait)} of the loss before, {share(after, trait)} after"
            for trait, words in told.items()
        ]
        return {
            "for": "sft",
            "unit": "successes",
            **_counts(verdicts),
            "also": also,
            "composition": {"before": before, "after": after},
        }

    def _rl_report(self, run: Run, verdicts: Mapping[str, tuple[bool, str]]) -> Mapping[str, Any]:
        parts = [
            (one.task_id, {**traits, "pass rate": band(one)})
            for one, traits in rl_tasks(run.ledger, self.rl_takes.release)
            if one.task_id in verdicts
        ]
        before = composition((traits, 1) for _, traits in parts)
        after = composition((traits, 1) for identity, traits in parts if verdicts[identity][0])
        bands = [
            f"{count} of {before['pass rate'][name]} {name}"
            for name, count in after.get("pass rate", {}).items()
        ]
        beside = Counter(
            reason for keep, reason in verdicts.values() if keep and reason != "chosen"
        )
        also = [f"taken by pass rate: {', '.join(bands)}"] if bands else []
        also += [
            f"beside the ranked ones {count} {reason}" for reason, count in sorted(beside.items())
        ]
        return {
            "for": "rl",
            "unit": "tasks",
            **_counts(verdicts),
            "also": also,
            "composition": {"before": before, "after": after},
        }


def _counts(verdicts: Mapping[str, tuple[bool, str]]) -> dict[str, Any]:
    rejected = Counter(reason for keep, reason in verdicts.values() if not keep)
    return {
        "attempted": len(verdicts),
        "verified": len(verdicts) - rejected.total(),
        "rejected": dict(rejected),
    }


def _loss_masks(masks: Mapping[int, str]) -> Mapping[str, Any] | None:
    return {MASKS: {str(turn): reason for turn, reason in masks.items()}} if masks else None


def _measures(ledger: Ledger) -> dict[str, dict[str, float]]:
    """What topology found, by trajectory."""
    found: dict[str, dict[str, float]] = {}
    names = ", ".join(f"'{name}'" for name in MEASURES)
    with connect(ledger) as connection:
        sql = (
            f"SELECT subject_id, metric, value FROM scores WHERE metric IN ({names}) AND turn "
            "IS NULL AND value IS NOT NULL"
        )
        for identity, metric, value in connection.execute(sql).fetchall():
            found.setdefault(identity, {})[metric] = value
    return found


def _standings(ledger: Ledger) -> dict[str, tuple[int, int]]:
    """Base trials with a verdict and successes, by task."""
    base = ", ".join(f"'{name}'" for name in sorted(BASE))
    where = (
        f"synthesizer IN ({base}) AND parent_id IS NULL AND outcome IN ('success', 'failure', "
        "'truncated')"
    )
    with connect(ledger) as connection:
        rows = connection.execute(
            f"SELECT task_id, count(*), {SUCCESSES} FROM trajectories WHERE {where} GROUP BY 1"
        ).fetchall()
    return {task: (trials, successes) for task, trials, successes in rows}


def _compositions(
    ledger: Ledger, taken: Mapping[str, bool]
) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, int]]]:
    """How the loss (characters) lies by trait and by tool, over all that was decided on, and over
    what was `taken`.
    """
    standings, came_back = _standings(ledger), recoveries(ledger)
    parts: list[tuple[bool, Mapping[str, Hashable], int]] = []
    for trajectory, task in with_tasks(
        ledger, without_findings(ledger, ledger.trajectories(set(taken)), SetAside())
    ):
        easy = TaskQuota(*standings.get(trajectory.task_id, (0, 0)), available=1).easy
        identity, masks = trajectory.trajectory_id, came_back.masks_of(trajectory.trajectory_id)
        recovered, keep = (
            identity in came_back.masks or identity in came_back.sides,
            taken[identity],
        )
        parts.append(
            (
                keep,
                traits(trajectory, task, easy=easy, recovered=recovered),
                loss_characters(trajectory, masks),
            )
        )
        parts += [(keep, {"tool": tool}, size) for tool, size in loss_by_tool(trajectory, masks)]
    return composition((found, size) for _, found, size in parts), composition(
        (found, size) for keep, found, size in parts if keep
    )
