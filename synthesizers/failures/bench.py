"""What the attempts of one round share: the run, the policy under test, the roles that are asked,
and what was played already.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from synth.engine.asking import RoleClient
from synth.engine.context import Run
from synth.engine.study.bench import Bench
from synth.engine.study.player import DecisionState, Player
from synth.engine.study.step_effect import Effect, continued, step_effect
from synth.rollout.start import BranchPoint, ForcedAct
from synth.schemas.canonical import content_hash
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory
from synth.synthesizers.failures.settings import InjectionSettings

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


@dataclass(frozen=True, slots=True)
class InjectionContext:
    """One round's; all that comes of it goes to `made`."""

    made: Bench
    round: int
    settings: InjectionSettings
    asked: Mapping[str, RoleClient]
    """`injector` and `corrector`, and `policy`: its own model, for errors of its own; those that
    the flow has.
    """

    @property
    def run(self) -> Run:
        return self.made.run

    @property
    def player(self) -> Player:
        return self.made.player

    @property
    def patience(self) -> float:
        """Seconds that a step of the world may take."""
        return self.player.limits.step_timeout_s

    def able(self, task: Task, capability: str) -> bool:
        """Whether a task's world has a capability."""
        return capability in self.run.spec_of(task.env, task.env_config).capabilities

    async def played(self, state: DecisionState, puts: tuple[ForcedAct, ...]) -> Came:
        """One run from the state with the turns put there; the attempts are for the caller to
        keep.
        """
        work = continued(self.run, self.player, state, puts[0], 0)
        if len(puts) > 1:
            work = msgspec.structs.replace(
                work,
                slot_id=content_hash([work.slot_id, [put.act.turn for put in puts]]),
                start=BranchPoint(state.parent, state.turn, puts),
            )
        player = self.player
        (found,), attempts = await self.made.shared.filled([work], player.role.model, player.places)
        if found.trajectory_id is None:
            reason = f"fault:{found.fault}" if found.fault is not None else "not_started"
            return Came(None, attempts, reason, found.open)
        known = next((one for one in attempts if one.trajectory_id == found.trajectory_id), None)
        return Came(known or self.run.ledger.trajectory(found.trajectory_id), attempts)

    async def tested(
        self, state: DecisionState, good: ForcedAct, bad: ForcedAct, *, draws_from: int = 1
    ) -> Effect:
        """The test of `good` against `bad`; its continuations are kept apart."""
        effect = await step_effect(
            self.made.shared, self.player, state, good, bad, draws_from=draws_from
        )
        self.made.apart += effect.continuations
        return effect
