"""The work of a retry, or of an episode that it is compared with: its slot names everything that
determines it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from synth.engine.context import Role, Run
from synth.rollout.episode import EpisodeSpec
from synth.rollout.limits import Limits
from synth.rollout.start import BranchPoint
from synth.schemas.canonical import content_hash
from synth.schemas.identity import slot_id
from synth.schemas.task import Task
from synth.synthesizers.rollout import role_identity, user_identity

SYNTHESIZER = "reflect_retry"


@dataclass(frozen=True, slots=True)
class RetryWork:
    """Who plays, within which limits, under which seed."""

    role: Role
    role_name: str
    limits: Limits
    seed: int

    def identity(self) -> Mapping[str, Any]:
        """What of it determines an episode."""
        return {**role_identity(self.role), "limits": self.limits.model_dump(), "seed": self.seed}

    def make(
        self,
        run: Run,
        task: Task,
        *,
        trial: int,
        draw: int,
        start: BranchPoint | None,
        guidance: str | None,
        gold_informed: bool,
        synthesizer: str = SYNTHESIZER,
    ) -> EpisodeSpec:
        """The work, numbered after the attempts that the ledger has of its slot; `draw` gives it
        randomness of its own.
        """
        policy = self.role.policy
        slot = slot_id(
            task_id=task.task_id,
            synthesizer=synthesizer,
            trial=trial,
            seed=self.seed,
            policy=policy.identity,
            model=policy.model,
            sampling=policy.sampling,
            parent_id=None if start is None else start.trajectory.trajectory_id,
            pivot_turn=None if start is None else start.turn,
            settings={
                "limits": self.limits.model_dump(),
                "world": run.spec_of(task.env, task.env_config).version,
                "guidance": None if guidance is None else content_hash(guidance),
                "gold_informed": gold_informed,
                "draw": draw,
                **user_identity(self.role),
            },
        )
        return EpisodeSpec(
            slot_id=slot,
            task=task,
            trial=trial,
            seed=self.seed,
            synthesizer=synthesizer,
            policy=policy,
            limits=self.limits,
            role=self.role_name,
            user=self.role.user,
            first_attempt=run.ledger.state.next_attempt(slot),
            start=start,
            draw=draw,
            guidance=guidance,
            gold_informed=gold_informed,
        )
