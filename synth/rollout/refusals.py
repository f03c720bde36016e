"""Whether an agent's model refused to play: by a field of its reply, by a filter, or in words."""

from collections.abc import Sequence

from synth.models.replies.reply import REFUSAL
from synth.models.reply_health import FILTERED, mask_of
from synth.schemas import Act, SampledBy, Termination, Turn
from synth.text.refusals import refuses


def refused(act: Act) -> bool:
    """Whether the server says so: the field `refusal`, or its filter; a call that stands beside is
    an act.
    """
    by_field = REFUSAL in act.repairs or mask_of(act.finish_reason) == FILTERED
    return by_field and not act.turn.tool_calls


def declined(turns: Sequence[Turn], ended: Termination) -> bool:
    """Whether an agent that never called a tool ended with words that refuse its task.

    One that has looked something up refuses for a reason of the task, and is judged by the check.
    """
    own = [turn for turn in turns if turn.sampled_by is SampledBy.POLICY]
    if ended in (Termination.DONE, Termination.FAULT) or not own:
        return False
    return not any(turn.tool_calls for turn in own) and refuses(own[-1].content or "")
