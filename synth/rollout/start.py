"""Where an episode begins that continues a recorded one: before which turn, and what is done there
in the policy's place.
"""

from collections.abc import Callable

import msgspec

from synth.schemas import Act, AgentTurn, Observation, SampledBy, Trajectory, Turn

PREFIX_MASK = "before_pivot"

Alter = Callable[[tuple[Observation, ...]], tuple[Observation, ...]]
"""What an agent is shown in place of the world's answers, as many as they are; the world itself is
as its own answers say.
"""


class ForcedAct(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that the policy does not decide: a recorded one done again, an alternative, an
    injected error, or a planted fault.

    `injected` names what was put there; `mask` says why nothing is trained on it, None where it may
    be.
    """

    act: Act
    mask: str | None
    injected: str | None = None
    alter: Alter | None = None


class BranchPoint(msgspec.Struct, frozen=True):
    """Before turn `turn` of `trajectory`; the turns `put` come first, then the policy decides."""

    trajectory: Trajectory
    turn: int
    put: tuple[ForcedAct, ...] = ()

    def prefix(self) -> list[Turn]:
        """The recorded turns before it: never trained on here, and paid for where they were
        made.
        """
        return [
            msgspec.structs.replace(
                turn, mask=turn.mask or PREFIX_MASK, usage=None, latency_ms=None
            )
            for turn in self.trajectory.turns[: self.turn]
        ]


def recorded_act(turn: Turn) -> Act:
    """A recorded turn as an act to be put: what it has used was paid for where it was sampled."""
    return Act(
        turn=AgentTurn(turn.content, turn.tool_calls, turn.thought),
        sampled_by=SampledBy.REPLAYED,
        prompt_token_ids=turn.prompt_token_ids,
        completion_token_ids=turn.completion_token_ids,
        logprobs=turn.logprobs,
        repairs=turn.repairs,
        raw=turn.raw,
    )
