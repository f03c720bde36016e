"""Whose a reply is: the agent's, or a fault of the model's server. One table of finish reasons, one
of what else a reply says of itself.

A reply that is no agent's is asked for again; where that does not help, the attempt ends by a fault
(`model`, or that of whoever asked: `user_simulator`, `judge`), and is no label. docs/models.md
shows both tables.
"""

from collections.abc import Callable, Mapping

import msgspec

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
CALLS = frozenset({"tool_calls", "function_call"})
ROLES = frozenset({None, "", "assistant"})


class ChoiceFacts(msgspec.Struct, frozen=True):
    """What a choice says of itself: `words` = content, thought or refusal; `tokens` = how many it
    took, None where that is not told.
    """

    finish_reason: str | None
    error: str | None = None
    role: str | None = None
    words: bool = False
    calls: int = 0
    unnamed: bool = False
    tokens: int | None = None


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


def _empty(said: ChoiceFacts) -> bool:
    """Nothing was written, and no token is told of; one that was filtered or cut off may well be
    empty.
    """
    return not (said.words or said.calls or said.tokens) and mask_of(said.finish_reason) is None


FAULTS: Mapping[str, Callable[[ChoiceFacts], bool]] = {
    "its message is not the assistant's": lambda said: said.role not in ROLES,
    "a call in it names no function": lambda said: said.unnamed,
    "there is nothing in it: no content, no call, no refusal, no token": _empty,
    "it ended by a call, and there is none in it": lambda said: (
        said.finish_reason in CALLS and not (said.calls or said.words)
    ),
}
"""What makes a choice a fault beside its finish reason and an error that it tells of, whatever its
finish reason is.
"""


def why_a_fault(said: ChoiceFacts) -> str | None:
    """Why a choice is not the agent's, or None where it is."""
    if said.error is not None:
        return f"it tells of an error: {said.error[:200]}"
    return unfinished(said.finish_reason) or next(
        (why for why, holds in FAULTS.items() if holds(said)), None
    )


def call_lost(finish_reason: str | None, calls: int, tools: int) -> str | None:
    """Why a reply that was read to its end is not the agent's: it ended by a call of a tool that
    was offered, and no call was found.
    """
    return (
        "it ended by a call, and none is found in it"
        if finish_reason in CALLS and tools and not calls
        else None
    )
