"""Whose a reply is: the agent's, or a fault of the model's server. One table of finish reasons, one
of what else a reply says of itself.

A reply that is no agent's is asked for again; where that does not help, the attempt ends by a fault
(`model`, or that of whoever asked: `user_simulator`, `judge`), and is no label. docs/models.md
shows both tables.
"""

from collections.abc import Mapping

from synth.models.replies.reply_body import SentChoice, SentMessage, error_told

CUT_OFF, FILTERED = "cut_off", "content_filter"

FINISH_REASONS: Mapping[str, str | None] = {
    "stop": None,
    "tool_calls": None,
    "function_call": None,
    "length": CUT_OFF,
    "repetition": CUT_OFF,  # vLLM's, where a loop was noticed
    "content_filter": FILTERED,
}
"""The words that end a reply of the agent, each with the mask of its turn (None = it may carry
loss). Every other word, such as `error`, `abort`, `cancelled`, `timeout` or
`insufficient_system_resource`, and "" too, says that the server did not finish.

A server that names none (null, or no such field) is believed where there is anything in the reply.
"""
SILENT = 16
"""Tokens that a reply without any text may have taken: those that end it, or white space."""
CALLS = frozenset({"tool_calls", "function_call"})
ROLES = frozenset({None, "", "assistant"})


def mask_of(finish_reason: str | None) -> str | None:
    """The mask of a turn that ended so, None where it may carry loss."""
    return FINISH_REASONS.get(finish_reason) if finish_reason is not None else None


def unfinished(finish_reason: str | None) -> str | None:
    """Why a reply that ended so is not the agent's, or None."""
    if finish_reason is None or finish_reason in FINISH_REASONS:
        return None
    return (
        f"it ended by {finish_reason[:60]!r}, which is no end of a reply; known: "
        f"{', '.join(FINISH_REASONS)}"
    )


def why_a_fault(choice: SentChoice, message: SentMessage, tokens: int | None) -> str | None:
    """Why a choice is not the agent's, or None where it is; `tokens` = how many it is said to have
    taken, None where that is not told.
    """
    told = error_told(choice.error) or error_told(message.error)
    if told is not None:
        return f"it tells of an error: {told[:200]}"
    words, calls = message.content or message.refusal or message.thought, message.calls()
    drawn = max(tokens or 0, len(choice.token_ids or ()))
    # one that was filtered or cut off may well be empty
    empty = not (words or calls or tokens or choice.token_ids)
    faults = {
        "its message is not the assistant's": message.role not in ROLES,
        "a call in it names no function": any(
            call.function is None or call.function.name is None for call in calls
        ),
        "there is nothing in it: no content, no call, no refusal, no token": (
            empty and mask_of(choice.finish_reason) is None
        ),
        f"{drawn:,} tokens were drawn, and nothing of them is in it": (
            not (words or calls) and drawn > SILENT and mask_of(choice.finish_reason) is None
        ),
        "it ended by a call, and there is none in it": (
            choice.finish_reason in CALLS and not (calls or words)
        ),
    }
    found = (why for why, holds in faults.items() if holds)
    return unfinished(choice.finish_reason) or next(found, None)
