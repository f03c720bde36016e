"""What one act at a recorded state does to success against another one: live continuations on both
sides, counted.
"""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from synth.engine.context import Role, Run
from synth.models.admission import ConcurrencyLimit
from synth.rollout.episode import EpisodeSpec
from synth.rollout.limits import Limits
from synth.rollout.start import BranchPoint, ForcedAct
from synth.schemas.canonical import content_hash
from synth.schemas.identity import slot_id
from synth.schemas.outcome import Outcome
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory
from synth.stats.sequential import MOST, MOST_LOST, ROUND, decide_despite
from synth.synthesizers.continuations import Continuation, Continuations
from synth.synthesizers.rollout import user_identity

MIXED = "mixed"
"""The weights of a trajectory whose turns were not all sampled from the same."""
Method = Literal["sequential", "flip_deterministic"]


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """Successes among the continuations with a verdict, per side, and what the test made of them.

    `accepted` None: undefined, for the `reason` given; with `open` a rerun may still tell.
    `stopped_at` = continuations per side that
    were looked at; `invalid` = those of both sides that faults took. `good_ids`, `bad_ids`: the
    trajectories that were counted, and
    `good_solved`, `bad_solved` what each came to. `continuations`: all attempts that were made for
    this test, to be committed with its
    label (those that it shares with other tests are not among them). `weights_id` = what the server
    played all of them with; where it
    changed under way, the test is undefined.
    """

    accepted: bool | None
    method: Method
    good_successes: int
    good_n: int
    bad_successes: int
    bad_n: int
    stopped_at: int
    invalid: int
    good_ids: tuple[str, ...]
    bad_ids: tuple[str, ...]
    good_solved: tuple[bool, ...]
    bad_solved: tuple[bool, ...]
    continuations: list[Trajectory]
    weights_id: str | None = None
    reason: str | None = None
    open: bool = False

    def evidence(self) -> Mapping[str, Any]:
        """Counts and continuations, as every label that stands on the test carries them."""
        return {
            "q_pos": self.good_successes / self.good_n if self.good_n else None,
            "n_pos": self.good_n,
            "q_neg": self.bad_successes / self.bad_n if self.bad_n else None,
            "n_neg": self.bad_n,
            "method": self.method,
            "stopped_at": self.stopped_at,
            "invalid": self.invalid,
            "weights_id": self.weights_id,
            "pos_ids": list(self.good_ids),
            "neg_ids": list(self.bad_ids),
        }

    @property
    def difference(self) -> float | None:
        """q(good) - q(bad); None where a side has no verdict or the test is undefined."""
        if self.accepted is None or not self.good_n or not self.bad_n:
            return None
        return self.good_successes / self.good_n - self.bad_successes / self.bad_n


class _Side:
    """One act's continuations, in the order of their draws."""

    def __init__(self, works: list[EpisodeSpec]) -> None:
        self.works = works
        self.seen: list[Continuation] = []

    def next(self, count: int) -> list[EpisodeSpec]:
        """Those that come next."""
        return self.works[len(self.seen) : len(self.seen) + count]

    @property
    def valid(self) -> list[Continuation]:
        return [one for one in self.seen if one.trajectory_id is not None]

    @property
    def successes(self) -> int:
        return sum(one.outcome is Outcome.SUCCESS for one in self.valid)

    @property
    def lost(self) -> int:
        return sum(one.fault is not None for one in self.seen)

    def ids(self) -> tuple[str, ...]:
        """The trajectories that count."""
        return tuple(one.trajectory_id for one in self.valid if one.trajectory_id is not None)


async def step_effect(
    run: Run,
    shard: str,
    *,
    synthesizer: str,
    parent: Trajectory,
    task: Task,
    turn: int,
    good: ForcedAct,
    bad: ForcedAct,
    role_name: str,
    role: Role,
    limits: Limits,
    places: ConcurrencyLimit,
    seed: int,
    draws_from: int = 1,
    shared: Continuations | None = None,
) -> Effect:
    """Tests whether `good` instead of `bad` before turn `turn` of `parent` makes success likelier
    under the role's policy.

    Rounds of two continuations per side, at most eight; the recorded trajectory itself is never
    counted. The bad side takes the draws
    `draws_from` ... + 7, the good side the eight after them: both sides draw independently, also
    where both put the same act (A/A).
    Tests of one shard that pass the same `shared` play a side that they have in common once; so
    does one that the ledger has already. A
    policy that is deterministic, in a world that is, is asked once per side (`flip_deterministic`).
    Raises `SynthError` only for what
    stops the run.
    """
    shared = shared or Continuations(run, shard)
    spec = run.spec_of(task.env, task.env_config)
    flip = role.policy.deterministic and spec.deterministic and role.user is None

    def side(put: ForcedAct, first: int) -> _Side:
        works = []
        for draw in range(first, first + (1 if flip else MOST)):
            slot = put_slot(synthesizer, parent, turn, put, draw, role, limits, seed, spec.version)
            works.append(
                EpisodeSpec(
                    slot_id=slot,
                    task=task,
                    trial=parent.trial,
                    seed=seed,
                    synthesizer=synthesizer,
                    policy=role.policy,
                    limits=limits,
                    role=role_name,
                    user=role.user,
                    start=BranchPoint(parent, turn, (put,)),
                    draw=draw,
                )
            )
        return _Side(works)

    sides = ours, theirs = side(good, draws_from + MOST), side(bad, draws_from)
    made: list[Trajectory] = []

    def effect(accepted: bool | None, reason: str | None = None) -> Effect:
        return Effect(
            accepted=accepted,
            method="flip_deterministic" if flip else "sequential",
            good_successes=ours.successes,
            good_n=len(ours.valid),
            bad_successes=theirs.successes,
            bad_n=len(theirs.valid),
            stopped_at=len(theirs.seen),
            invalid=ours.lost + theirs.lost,
            good_ids=ours.ids(),
            bad_ids=theirs.ids(),
            good_solved=tuple(one.outcome is Outcome.SUCCESS for one in ours.valid),
            bad_solved=tuple(one.outcome is Outcome.SUCCESS for one in theirs.valid),
            continuations=made,
            weights_id=next(
                (
                    one.weights_id
                    for part in sides
                    for one in part.valid
                    if one.weights_id is not None
                ),
                None,
            ),
            reason=reason,
            open=accepted is None and any(one.open for part in sides for one in part.seen),
        )

    async with shared.at(parent.trajectory_id, turn):
        while True:
            new = [part.next(1 if flip else ROUND) for part in sides]
            found, attempts = await shared.filled(
                [work for works in new for work in works], role.model, places
            )
            made += attempts
            for part, works in zip(sides, new, strict=True):
                part.seen += found[: len(works)]
                del found[: len(works)]
            m, lost = len(theirs.seen), ours.lost + theirs.lost
            if any(
                one.trajectory_id is None and one.fault is None
                for part in sides
                for one in part.seen
            ):
                return effect(None, "not_started")
            if any(one.outcome is Outcome.UNKNOWN for part in sides for one in part.valid):
                return effect(None, "no_verdict")
            weights = {
                one.weights_id for part in sides for one in part.valid if one.weights_id is not None
            }
            if len(weights) > 1 or MIXED in weights:
                return effect(None, "mixed_weights")
            if lost > MOST_LOST * 2 * m:
                return effect(None, "faults")
            if flip:
                return effect(bool(ours.successes) and not theirs.successes)
            verdict = decide_despite(ours.successes, theirs.successes, theirs.lost, m)
            if verdict != "more":
                return effect(verdict == "accept")


def put_slot(
    synthesizer: str,
    parent: Trajectory,
    turn: int,
    put: ForcedAct,
    draw: int,
    role: Role,
    limits: Limits,
    seed: int,
    version: str,
) -> str:
    """Hash of all that determines a continuation; of what is answered in the world's place, as it
    would be at the recorded turn.
    """
    answers = parent.turns[turn].observations if turn < len(parent.turns) else ()
    policy = role.policy
    return slot_id(
        task_id=parent.task_id,
        synthesizer=synthesizer,
        trial=parent.trial,
        seed=seed,
        policy=policy.identity,
        model=policy.model,
        sampling=policy.sampling,
        parent_id=parent.trajectory_id,
        pivot_turn=turn,
        settings={
            "limits": limits.model_dump(),
            "world": version,
            "put": content_hash(
                [
                    put.act.turn,
                    put.mask,
                    put.injected,
                    None if put.alter is None else put.alter(answers),
                ]
            ),
            "draw": draw,
            **user_identity(role),
        },
    )
