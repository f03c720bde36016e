"""What an attempt has cost in priced tokens: C = c_in * uncached + c_hit * cached + c_out * out,
over all roles (rigor.md, retry).
"""

import json
from collections.abc import Iterable

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from synth.ledger.role_reply import RoleReply
from synth.schemas.model import Message
from synth.schemas.trajectory import SampledBy, Trajectory, Turn, Usage

CHARACTERS_PER_TOKEN = 4
"""Of the declared estimate for turns that used no tokens, or did not say how many: turns of
scripts, answers of rules.
"""


class Prices(BaseModel):
    """Per token, relative to one of a prompt that no cache holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    uncached: float = Field(default=1.0, ge=0)
    cached: float = Field(default=0.1, ge=0)
    output: float = Field(default=4.0, ge=0)


class Tokens(msgspec.Struct, frozen=True):
    """Of prompts that no cache held, of prompts that one did, and written; `estimated` says how
    many turns or answers were estimated.
    """

    uncached: float = 0.0
    cached: float = 0.0
    output: float = 0.0
    estimated: int = 0

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(
            self.uncached + other.uncached,
            self.cached + other.cached,
            self.output + other.output,
            self.estimated + other.estimated,
        )

    def at(self, prices: Prices) -> float:
        """The price."""
        return (
            prices.uncached * self.uncached
            + prices.cached * self.cached
            + prices.output * self.output
        )


def tokens_of_attempts(attempts: Iterable[Trajectory]) -> Tokens:
    """What all attempts at a slot have used from their pivots on, those that ended in faults too;
    with what the user's model used.
    """
    total = Tokens()
    for attempt in attempts:
        total = total + _tokens_of_turns(attempt) + _measured(attempt.user_totals)
    return total


def tokens_of_reflection(
    messages: list[Message], text: str, replies: Iterable[RoleReply]
) -> Tokens:
    """What a reflection has used. One by rules is estimated as if a model had read the same log and
    written the same text.
    """
    total, replied = Tokens(), False
    for reply in replies:
        replied = True
        usage = Usage(
            reply.prompt_tokens, reply.completion_tokens, reply.cached_tokens, reply.model_calls
        )
        total = total + (
            _measured(usage) if _tells(usage) else _estimate(messages, reply.content or "")
        )
    return total if replied else _estimate(messages, text)


def _estimate(messages: list[Message], text: str) -> Tokens:
    read = sum(len(message["content"]) for message in messages)
    return Tokens(read / CHARACTERS_PER_TOKEN, 0.0, len(text) / CHARACTERS_PER_TOKEN, 1)


def _tokens_of_turns(trajectory: Trajectory) -> Tokens:
    """The first prompt of an attempt is in no cache, each later one as far as the one before it
    reached.
    """
    shown = (
        len(trajectory.system_prompt or "")
        + len(json.dumps(trajectory.tools, ensure_ascii=False))
        + len(trajectory.guidance or "")
    )
    shown += sum(len(observation.content) for observation in trajectory.opening)
    cached, total, first = 0, Tokens(), trajectory.pivot_turn or 0
    for turn in trajectory.turns:
        written = _written(turn)
        if turn.index >= first and turn.sampled_by is SampledBy.POLICY:
            if turn.usage is not None and _tells(turn.usage):
                total = total + _measured(turn.usage)
            else:
                new, old, out = (
                    part / CHARACTERS_PER_TOKEN for part in (shown - cached, cached, written)
                )
                total = total + Tokens(new, old, out, 1)
            cached = shown
        shown += written + sum(len(observation.content) for observation in turn.observations)
    return total


def _written(turn: Turn) -> int:
    calls = sum(len(call.name) + len(call.arguments) for call in turn.tool_calls)
    return len(turn.content or "") + len(turn.thought or "") + calls


def _tells(usage: Usage) -> bool:
    return usage.prompt_tokens > 0


def _measured(usage: Usage) -> Tokens:
    return Tokens(
        usage.prompt_tokens - usage.cached_tokens, usage.cached_tokens, usage.completion_tokens
    )
