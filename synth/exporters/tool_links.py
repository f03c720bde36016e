"""Whether every tool result answers a call, and every call is answered: servers insist on it, chat templates and trainers do not look."""

from schemas.trajectory import Observation, Source, ToolCall, Trajectory

RESULT_WITHOUT_CALL = "tool_result_without_call"
CALL_WITHOUT_RESULT = "call_without_tool_result"


def broken_link(trajectory: Trajectory) -> str | None:
    """The first broken link by name, or None; calls of the last turn may stand unanswered, because the episode ended there.

    A result may come turns after its call. One without a `call_id` answers the first open call of its name (of any name, where it has
    none) of its own turn.
    """
    if any(observation.source is Source.TOOL for observation in trajectory.opening):
        return RESULT_WITHOUT_CALL
    waiting: list[tuple[int, ToolCall]] = []
    for at, turn in enumerate(trajectory.turns):
        waiting += [(at, call) for call in turn.tool_calls]
        for observation in turn.observations:
            if observation.source is not Source.TOOL:
                continue
            answered = next((i for i, (asked, call) in enumerate(waiting) if _answers(observation, call, own=asked == at)), None)
            if answered is None:
                return RESULT_WITHOUT_CALL
            del waiting[answered]
    return CALL_WITHOUT_RESULT if any(asked < len(trajectory.turns) - 1 for asked, _ in waiting) else None


def _answers(observation: Observation, call: ToolCall, *, own: bool) -> bool:
    if observation.call_id is not None:
        return observation.call_id == call.call_id
    return own and observation.name in (None, call.name)
