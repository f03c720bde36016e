"""What bounds an episode; a limit that the agent runs into truncates it, and is no fault."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from synth.schemas import Termination, Turn


class Limits(BaseModel):
    """Turns, completion tokens and seconds of the agent's own; seconds that a step of the world or
    of a policy may take; the stuck rule.

    A call to a model is bounded by the model's own timeouts: its wait for admission is nobody's
    fault.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_turns: int = Field(default=40, ge=1)
    max_tokens: int | None = Field(default=None, ge=1)
    time_s: float = Field(default=1800, gt=0)
    step_timeout_s: float = Field(default=60, gt=0)
    stuck_after: int = Field(default=4, ge=2)


def reached(
    limits: Limits, turns: Sequence[Turn], completion_tokens: int, waited_s: float
) -> Termination | None:
    """The limit that the agent has run into, if any; `waited_s` = seconds that its turns took."""
    if stuck(turns, limits.stuck_after):
        return Termination.STUCK
    if len(turns) >= limits.max_turns:
        return Termination.TURN_LIMIT
    if limits.max_tokens is not None and completion_tokens >= limits.max_tokens:
        return Termination.TOKEN_LIMIT
    if waited_s >= limits.time_s:
        return Termination.TIME_LIMIT
    return None


def stuck(turns: Sequence[Turn], repeats: int) -> bool:
    """Whether the last `repeats` turns did the same and were answered the same, call ids and a
    user's wording aside.
    """
    if len(turns) < repeats:
        return False
    last = [_doing(turn) for turn in turns[-repeats:]]
    return all(done == last[0] for done in last)


def _doing(turn: Turn) -> object:
    calls = [(call.name, call.arguments) for call in turn.tool_calls]
    return (
        turn.content,
        calls,
        [(o.as_given().content, o.source, o.error) for o in turn.observations],
    )
