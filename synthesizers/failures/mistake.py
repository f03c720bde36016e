"""What a rule puts in the place of a clean turn."""

from collections.abc import Callable
from random import Random

import msgspec

from synth.schemas.environment import AgentTurn
from synth.schemas.trajectory import ToolCall, Turn
from synth.synthesizers.failures.site import InjectionPoint


class Mistake(msgspec.Struct, frozen=True):
    """A turn that makes a mistake, and in words what is wrong with it."""

    turn: AgentTurn
    what: str


Rule = Callable[[InjectionPoint, Random], Mistake | None]
"""A mode's mistake at a site, drawn; None where the mode does not apply there."""


def instead(call: ToolCall, what: str) -> Mistake:
    """One call alone in the turn's place."""
    return Mistake(AgentTurn(tool_calls=(call,)), what)


def with_call(
    turn: Turn, old: ToolCall, new: ToolCall, what: str, *, words: bool = False
) -> Mistake:
    """The turn with one call exchanged; what it says and thinks goes with it only where `words` is
    set.
    """
    calls = tuple(new if call is old else call for call in turn.tool_calls)
    said = (turn.content, turn.thought) if words else (None, None)
    return Mistake(AgentTurn(said[0], calls, said[1]), what)
