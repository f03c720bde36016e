"""Second evidence for lucky passes: a success of a hard task is played again from its first
effectful turn, by the policy, live.

Rejection sampling on hard tasks concentrates luck: where a task is truly solved once in twenty
trials and passed by luck as often, half of
the passes are luck. What the policy passes again from before its first change, in at least two of
four continuations, is no accident.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from synth.engine.context import Role, Run, Synthesizer
from synth.envs.world import EnvEntry
from synth.ledger.ledger import Score, StageRef
from synth.ledger.state import IMPORT, evidence_key
from synth.ledger.storable import ended_line
from synth.ledger.typed import read
from synth.ledger.views import connect
from synth.loss_turns import EVIDENCE
from synth.models.admission import ConcurrencyLimit
from synth.rollout.episode import EpisodeSpec
from synth.rollout.limits import Limits
from synth.rollout.slots import RETRIED_BY_A_RERUN
from synth.rollout.start import BranchPoint
from synth.schemas.canonical import content_hash
from synth.schemas.errors import ConfigError
from synth.schemas.flow import Flow
from synth.schemas.identity import slot_id
from synth.schemas.outcome import Outcome
from synth.schemas.stage import Plan, Shard
from synth.schemas.task import Task
from synth.schemas.trajectory import SampledBy, Trajectory
from synth.schemas.user import USER
from synth.selection.candidates import PASSES, SECOND_EVIDENCE, evidence
from synth.selection.choosing import HARD
from synth.side_by_side import run_workers
from synth.synthesizers.continuations import Continuation, Continuations
from synth.synthesizers.rebuilding import why_not_replayable
from synth.synthesizers.rollout import (
    RolloutSettings,
    places_for,
    role_identity,
    trial_limits,
    user_identity,
)
from synth.text.provenance.effect import effectful_by_name
from synth.topology.graph import BASE, COUNTED

CONTINUATIONS = 4
ROUND = 2
"""Played together: where both pass, nothing further is asked."""
_OPEN = frozenset(f"fault:{fault}" for fault in RETRIED_BY_A_RERUN)


class SecondEvidenceSettings(BaseModel):
    """Which successes: of tasks that pass in at most `hard` of their trials, those `unproven` by
    provenance and process, or `all`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: str = "explorer"
    of: Literal["unproven", "all"] = "unproven"
    hard: float = Field(default=HARD, ge=0, le=1)
    limits: Limits | None = None
    shard: int = Field(default=50, ge=1, le=1000)
    live: int | None = Field(default=None, ge=1)


class Retried(msgspec.Struct, frozen=True):
    """What re-execution said of one success: `passes` of the continuations, None where it says
    nothing, for the `reason` given.

    `open`: a rerun may still tell.
    """

    passes: int | None
    seen: tuple[Continuation, ...] = ()
    reason: str | None = None
    open: bool = False


class PlayedAgain(msgspec.Struct, frozen=True, omit_defaults=True):
    """What stands behind a row: why nothing was played or is known, and what was played."""

    reason: str | None = None
    evidence: tuple[str, ...] | None = None
    played: int | None = None
    of: int | None = None
    continuations: tuple[str, ...] | None = None


def first_effect(trajectory: Trajectory) -> int:
    """The first turn that changed the world's logical state; without keys of it, the first with an
    effectful call that was not refused.

    The policy's first turn where nothing was changed: then the whole trial is played again.
    """
    own = [turn for turn in trajectory.turns if turn.sampled_by is not SampledBy.CANNED]
    keyed = trajectory.opening_state_key is not None and all(
        turn.state_key is not None for turn in own
    )
    before = trajectory.opening_state_key
    for turn in own:
        failed = {o.call_id for o in turn.observations if o.error}
        called = any(
            effectful_by_name(call.name) and call.call_id not in failed for call in turn.tool_calls
        )
        if (turn.state_key != before) if keyed else called:
            return turn.index
        before = turn.state_key
    return own[0].index if own else 0


@dataclass(frozen=True, slots=True)
class SecondEvidence:
    """The stage `second_evidence`, before `select`, which takes what it finds for evidence."""

    name: str
    config: SecondEvidenceSettings
    role: Role
    limits: Limits
    seed: int
    places: ConcurrencyLimit

    @property
    def settings(self) -> Mapping[str, Any]:
        """What determines the continuations, and which successes are played again."""
        ours = self.config.model_dump(include={"role", "of", "hard"})
        return {
            **ours,
            "limits": self.limits.model_dump(),
            "seed": self.seed,
            **role_identity(self.role),
        }

    def inputs(self, run: Run) -> str:
        """The successes of hard tasks."""
        return content_hash(self._hard(run))

    def _hard(self, run: Run) -> list[str]:
        """Successes of this role, and imported ones, on tasks that base trials seldom pass."""
        trials = (
            f"synthesizer IN ({_listed(BASE)}) AND parent_id IS NULL AND outcome IN "
            f"({_listed(COUNTED)})"
        )
        sql = f"""
            WITH standing AS (SELECT task_id, avg((outcome = 'success')::INT) AS rate FROM trajectories WHERE {trials} GROUP BY 1)
            SELECT trajectory_id FROM trajectories JOIN standing USING (task_id)
            WHERE outcome = 'success' AND rate <= ? AND synthesizer NOT IN ({_listed(EVIDENCE)})
            AND (synthesizer = ? OR (role = ? AND policy = ? AND model IS NOT DISTINCT FROM ?)) ORDER BY task_id, trajectory_id
        """
        who = [
            self.config.hard,
            IMPORT,
            self.config.role,
            self.role.policy.name,
            self.role.policy.model,
        ]
        with connect(run.ledger) as connection:
            return [identity for (identity,) in connection.execute(sql, who).fetchall()]

    def plan(self, run: Run, stage_key: str) -> Plan:
        """Those that nothing was found out about yet."""
        known = self._scores(run, stage_key)
        left = [identity for identity in self._hard(run) if identity not in known]
        parts = [left[at : at + self.config.shard] for at in range(0, len(left), self.config.shard)]
        return Plan([Shard(content_hash(part), part) for part in parts], (), len(left), "successes")

    async def work(self, run: Run, stage_key: str, shard: Shard) -> None:
        """Plays the shard's successes again, commits continuations and what they say; what a rerun
        may tell more of is left to it.
        """
        if (stage_key, shard.name) in run.ledger.refresh().named:
            return
        successes = list(run.ledger.trajectories(set(shard.items)))
        tasks = run.ledger.tasks({one.task_id for one in successes})
        shared = Continuations(run, shard.name)
        scores: list[Score] = []
        played: list[Trajectory] = []
        waiting = iter(successes)

        async def worker() -> None:
            for one in waiting:
                behind = evidence(one) if self.config.of == "unproven" else ()
                if behind:
                    scores.append(
                        Score(
                            one.trajectory_id,
                            SECOND_EVIDENCE,
                            None,
                            detail=PlayedAgain(reason="has_evidence", evidence=behind),
                        )
                    )
                else:
                    turn = first_effect(one)
                    found, attempts = await self._retried(
                        run, shared, one, tasks.get(one.task_id), turn
                    )
                    played.extend(attempts)
                    if found.open:
                        continue
                    scores.append(
                        Score(one.trajectory_id, SECOND_EVIDENCE, found.passes, turn, _label(found))
                    )
                run.progress.step(1)

        await run_workers(min(self.places.limit, max(len(successes), 1)), worker)
        ended = (
            run.ledger.commit(StageRef(self.name, evidence_key(stage_key)), trajectories=played)
            if played
            else []
        )
        whole = len(scores) == len(successes)
        if scores or whole:
            ordered = sorted(scores, key=lambda score: score.subject_id)
            run.ledger.commit(
                StageRef(self.name, stage_key), scores=ordered, name=shard.name if whole else ""
            )
        for attempt in ended:
            run.progress.say(ended_line(attempt))

    async def _retried(
        self, run: Run, shared: Continuations, success: Trajectory, task: Task | None, turn: int
    ) -> tuple[Retried, list[Trajectory]]:
        reason = await self._foreign(run, task, success) if success.synthesizer == IMPORT else None
        if reason is not None or task is None:
            return Retried(None, reason=reason or "no_task", open=reason in _OPEN), []
        spec = run.spec_of(task.env, task.env_config)
        if self.role.policy.deterministic and spec.deterministic and self.role.user is None:
            return Retried(None, reason="deterministic"), []
        works = [
            self._work(success, task, turn, draw, spec.version)
            for draw in range(1, CONTINUATIONS + 1)
        ]
        seen: list[Continuation] = []
        attempts: list[Trajectory] = []
        while len(seen) < CONTINUATIONS and _passes(seen) < PASSES:
            found, made = await shared.filled(
                works[len(seen) : len(seen) + ROUND], self.role.model, self.places
            )
            seen += found
            attempts += made
        return _concluded(seen), attempts

    async def _foreign(self, run: Run, task: Task | None, success: Trajectory) -> str | None:
        """Why an imported success says nothing: another policy's passes are no evidence for it, nor
        is a world that cannot be rebuilt.
        """
        if (success.policy, success.model) != (self.role.policy.name, self.role.policy.model):
            return "another_policy"
        return await why_not_replayable(run, task, success, self.limits.step_timeout_s)

    def _work(
        self, success: Trajectory, task: Task, turn: int, draw: int, version: str
    ) -> EpisodeSpec:
        policy = self.role.policy
        slot = slot_id(
            task_id=task.task_id,
            synthesizer=SECOND_EVIDENCE,
            trial=success.trial,
            seed=self.seed,
            policy=policy.identity,
            model=policy.model,
            sampling=policy.sampling,
            parent_id=success.trajectory_id,
            pivot_turn=turn,
            settings={
                "limits": self.limits.model_dump(),
                "world": version,
                "draw": draw,
                **user_identity(self.role),
            },
        )
        return EpisodeSpec(
            slot_id=slot,
            task=task,
            trial=success.trial,
            seed=self.seed,
            synthesizer=SECOND_EVIDENCE,
            policy=policy,
            limits=self.limits,
            role=self.config.role,
            user=self.role.user,
            start=BranchPoint(success, turn),
            draw=draw,
        )

    def _scores(self, run: Run, stage_key: str) -> dict[str, tuple[float | None, str | None]]:
        """By success: how many continuations passed, else why nothing is known."""
        rows = read(run.ledger, PlayedAgain, (SECOND_EVIDENCE,), stage_key=stage_key)
        return {row.subject_id: (row.value, row.about.reason) for row in rows}

    def report(self, run: Run, stage_key: str) -> Mapping[str, Any]:
        """Successes of hard tasks, those that were passed again, and why the others were not."""
        found = self._scores(run, stage_key)
        hard = len(self._hard(run))
        proven = sum(value is not None and value >= PASSES for value, _ in found.values())
        rejected = Counter(
            "not_passed_again" if value is not None else str(reason)
            for value, reason in found.values()
            if value is None or value < PASSES
        )
        rejected["not_played"] = hard - len(found)
        kept = {reason: count for reason, count in rejected.items() if count}
        return {
            "kind": "method",
            "unit": "successes",
            "attempted": hard,
            "verified": proven,
            "rejected": kept,
            "also": [],
        }


def _passes(seen: Sequence[Continuation]) -> int:
    return sum(one.outcome is Outcome.SUCCESS for one in seen)


def _concluded(seen: Sequence[Continuation]) -> Retried:
    """Enough passes count whatever was lost; too few only where what was lost could not have made
    up for them.
    """
    passes, lost = _passes(seen), [one for one in seen if one.outcome in (None, Outcome.UNKNOWN)]
    if passes >= PASSES or passes + len(lost) < PASSES:
        return Retried(passes, tuple(seen))
    return Retried(None, tuple(seen), "faults", any(one.open for one in lost))


def _label(found: Retried) -> PlayedAgain:
    ids = [one.trajectory_id for one in found.seen if one.trajectory_id is not None]
    return PlayedAgain(found.reason, None, len(found.seen), CONTINUATIONS, tuple(ids))


def _listed(names: set[Any] | frozenset[Any]) -> str:
    return ", ".join(f"'{name}'" for name in sorted(names))


def bind(
    name: str,
    config: SecondEvidenceSettings,
    flow: Flow,
    roles: Mapping[str, Role],
    world: EnvEntry,
) -> SecondEvidence:
    """The stage for a flow. Raises `ConfigError` for a role that the flow lacks."""
    if config.role == USER:
        raise ConfigError(
            f"role: {USER!r} plays the user of the world, not its agent; name the role whose "
            "successes are to be played again"
        )
    if config.role not in roles:
        raise ConfigError(
            f"second_evidence needs the role {config.role!r}: add `models: {{{config.role}: "
            "...}` to the flow"
        )
    role = roles[config.role]
    limits = config.limits or trial_limits(flow, config.role)
    return SecondEvidence(
        name, config, role, limits, flow.seed, places_for(RolloutSettings(live=config.live), role)
    )


SYNTHESIZER = Synthesizer(SecondEvidenceSettings, bind, of_world=True)
