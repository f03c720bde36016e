"""What is whispered to a retry, and the two transcripts of it: with the whisper, and without."""

from collections.abc import Sequence

from synth.schemas.environment import Opening
from synth.schemas.messages import view_messages
from synth.schemas.model import Message
from synth.schemas.policy import Guidance
from synth.schemas.trajectory import Trajectory

_BEFORE = "Before you go on, keep in mind:"
_AFTER = (
    "Act on this silently: do not mention it, nor that you were told anything. Whoever reads the "
    "conversation knows nothing of it, so use "
    "only what the conversation itself shows, and look up whatever you need."
)


def guidance_text(lessons: Sequence[str]) -> str:
    """The lessons so far as a short text that asks to apply them and not to mention them; the
    latest comes last.
    """
    return "\n".join(
        [_BEFORE, *(f"- {' '.join(lesson.split())}" for lesson in dict.fromkeys(lessons)), _AFTER]
    )


def guided_messages(trajectory: Trajectory, *, thoughts: bool = True) -> list[Message]:
    """The chat as the guided policy saw it; without guidance it is the transcript. Never for a data
    set that trains a policy.
    """
    guidance = (
        None
        if trajectory.guidance is None
        else Guidance(trajectory.guidance, trajectory.pivot_turn or 0)
    )
    opening = Opening(
        trajectory.system_prompt, trajectory.tools, trajectory.opening, trajectory.opening_state_key
    )
    return view_messages(opening, trajectory.turns, thoughts=thoughts, guidance=guidance)
