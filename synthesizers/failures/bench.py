"""What the attempts of one round share: the run, the policy under test, the roles that are asked,
and what was played already.
"""

from dataclasses import dataclass, field

import msgspec

from synth.engine.asking import RoleClient
from synth.engine.context import Role, Run
from synth.ledger.ledger import Score
from synth.ledger.role_reply import RoleReply
from synth.models.admission import ConcurrencyLimit
from synth.rollout.episode import EpisodeSpec
from synth.rollout.limits import Limits
from synth.rollout.start import BranchPoint, ForcedAct
from synth.schemas.canonical import content_hash
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory
from synth.synthesizers.continuations import Continuations
from synth.synthesizers.failures.settings import InjectionSettings
from synth.synthesizers.step_effect import Effect, put_slot, step_effect

SYNTHESIZER = "failure_injection"
CONTROL_DRAWS = 101
"""From where an A/A control draws: its continuations are nobody else's."""


class Came(msgspec.Struct, frozen=True):
    """What an injected run came to: a trajectory, or `reason`; `open` where a rerun may do
    better.
    """

    trajectory: Trajectory | None
    attempts: list[Trajectory]
    reason: str = ""
    open: bool = False


@dataclass(slots=True)
class Made:
    """All that is to be committed of the attempts: in sight of the flow, and kept apart."""

    seen: list[Trajectory] = field(default_factory=list)
    apart: list[Trajectory] = field(default_factory=list)
    scores: list[Score] = field(default_factory=list)
    replies: list[tuple[str, RoleReply]] = field(default_factory=list)
    """With the attempt that each was asked for."""
    left: set[str] = field(default_factory=set)
    """Attempts that are left to a rerun."""
    again: bool = False
    """Whether anything is."""

    def paid_for(self, *, stopped: bool) -> list[RoleReply]:
        """The replies to commit: a journal that outlives a stopped round gives those of open
        attempts once more, and they are paid once.
        """
        return [reply for attempt, reply in self.replies if not (stopped and attempt in self.left)]


@dataclass(frozen=True, slots=True)
class InjectionContext:
    """One round's."""

    run: Run
    shard: str
    round: int
    settings: InjectionSettings
    role: Role
    limits: Limits
    places: ConcurrencyLimit
    seed: int
    shared: Continuations
    asking: RoleClient | None
    """The policy's own model, for errors of its own; None where it has none."""
    injector: RoleClient | None
    corrector: RoleClient | None = None
    made: Made = field(default_factory=Made)

    async def played(
        self, parent: Trajectory, task: Task, turn: int, puts: tuple[ForcedAct, ...]
    ) -> Came:
        """One run from the state with the turns put there; the attempts are for the caller to
        keep.
        """
        role, replaying = self.role, self.settings.evidence == "replay"
        version = self.run.spec_of(task.env, task.env_config).version
        slot = put_slot(
            SYNTHESIZER, parent, turn, puts[0], 0, role, self.limits, self.seed, version
        )
        if len(puts) > 1:
            slot = content_hash([slot, [put.act.turn for put in puts]])
        work = EpisodeSpec(
            slot_id=slot,
            task=task,
            trial=parent.trial,
            seed=self.seed,
            synthesizer=SYNTHESIZER,
            policy=role.policy,
            limits=self.limits,
            role=None if replaying else self.settings.role,
            user=role.user,
            start=BranchPoint(parent, turn, puts),
        )
        (found,), attempts = await self.shared.filled([work], role.model, self.places)
        if found.trajectory_id is None:
            return Came(
                None,
                attempts,
                f"fault:{found.fault}" if found.fault is not None else "not_started",
                found.open,
            )
        known = next((one for one in attempts if one.trajectory_id == found.trajectory_id), None)
        return Came(known or self.run.ledger.trajectory(found.trajectory_id), attempts)

    async def tested(
        self,
        parent: Trajectory,
        task: Task,
        turn: int,
        good: ForcedAct,
        bad: ForcedAct,
        *,
        draws_from: int = 1,
    ) -> Effect:
        """The test of `good` against `bad`; its continuations are kept apart."""
        effect = await step_effect(
            self.run,
            self.shard,
            synthesizer=SYNTHESIZER,
            parent=parent,
            task=task,
            turn=turn,
            good=good,
            bad=bad,
            role_name=self.settings.role,
            role=self.role,
            limits=self.limits,
            places=self.places,
            seed=self.seed,
            draws_from=draws_from,
            shared=self.shared,
        )
        self.made.apart += effect.continuations
        return effect
