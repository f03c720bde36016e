"""Steps that a judge suspects. Nothing more than a proposal: what it says is no label, and its
silence none either.
"""

import re
from collections.abc import Sequence

import msgspec

from synth.engine.asking import RoleClient, RoleRequest, UnreadableError, prompt
from synth.ledger.role_reply import RoleReply
from synth.schemas.model import Completion
from synth.schemas.trajectory import SampledBy, Trajectory
from synth.text.transcript.log import log_of

JUDGE = "judge"
"""The role that is asked, where a flow has it."""
PURPOSE = "suspected_steps"
_LIST = re.compile(r"\[[\d,\s]*\]")


async def suspected(
    asking: RoleClient, trajectory: Trajectory, most: int
) -> tuple[Sequence[RoleReply], tuple[int, ...] | None]:
    """Asks the judge for at most `most` turns of the policy's own: its replies, and the turns that
    it named. None where it was not understood or never will answer, as a context that is too long;
    the turns are None where a rerun may ask it.
    """
    own = [turn.index for turn in trajectory.turns if turn.sampled_by is SampledBy.POLICY]

    def read(completion: Completion) -> tuple[int, ...]:
        lists = _LIST.findall(completion.content or "")
        if len(lists) != 1:
            raise UnreadableError("it holds no JSON list of step numbers, or several")
        named = tuple(dict.fromkeys(msgspec.json.decode(lists[0], type=list[int])))
        if not set(named) <= set(own):
            raise UnreadableError(
                f"it names steps that the agent did not take; the log has {own[0]} to {own[-1]}"
            )
        return named[:most]

    if not own:
        return (), ()
    form = prompt("judge/steps_form").format(most)
    question = RoleRequest(
        purpose=PURPOSE,
        subject_id=trajectory.trajectory_id,
        task_id=trajectory.task_id,
        messages=[
            {"role": "system", "content": prompt("judge/steps_role")},
            {"role": "user", "content": f"{log_of(trajectory)}\n\n{form}"},
        ],
    )
    answer = await asking.ask(question, read)
    too_long = answer.fault is not None and answer.fault.context_overflow
    over = answer.value is not None or too_long or answer.unreadable is not None
    return answer.replies, answer.value or (() if over else None)
