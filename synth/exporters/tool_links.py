"""Whether every tool result answers a call, and every call is answered: servers insist on it, chat
templates and trainers do not look.
"""

from synth.schemas.trajectory import Source, ToolCall, Trajectory

RESULT_WITHOUT_ID = "tool_result_without_id"
RESULT_WITHOUT_CALL = "tool_result_without_call"
CALL_WITHOUT_RESULT = "call_without_tool_result"


def broken_link(trajectory: Trajectory) -> str | None:
    """The first broken link by name, or None; calls of the last turn may stand unanswered, because
    the episode ended there.

    A result may come turns after its call. Imports link what their source tells by order alone;
    whatever has no id after that has none.
    """
    if any(observation.source is Source.TOOL for observation in trajectory.opening):
        return RESULT_WITHOUT_CALL
    waiting: list[tuple[int, ToolCall]] = []
    for at, turn in enumerate(trajectory.turns):
        waiting += [(at, call) for call in turn.tool_calls]
        for observation in turn.observations:
            if observation.source is not Source.TOOL:
                continue
            if not observation.call_id:
                return RESULT_WITHOUT_ID
            answered = next(
                (i for i, (_, call) in enumerate(waiting) if call.call_id == observation.call_id),
                None,
            )
            if answered is None:
                return RESULT_WITHOUT_CALL
            del waiting[answered]
    return (
        CALL_WITHOUT_RESULT
        if any(asked < len(trajectory.turns) - 1 for asked, _ in waiting)
        else None
    )
