"""The token cost of an attempt, C = c_in * uncached + c_hit * cached + c_out * out, over all roles
(rigor.md, retry); and the condition under which an attempt is kept.
"""

import json
from collections.abc import Iterable

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from synth.ledger.tables.role_reply import RoleReply
from synth.loss_turns import characters
from synth.schemas import Message, Outcome, SampledBy, Trajectory, Usage

CHARACTERS_PER_TOKEN = 4
"""Estimates turns that used no tokens, or did not say how many: turns of scripts, answers of rules.
"""


class Prices(BaseModel):
    """Prices per token, relative to a prompt token that no cache holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    uncached: float = Field(default=1.0, ge=0)
    cached: float = Field(default=0.1, ge=0)
    output: float = Field(default=4.0, ge=0)


class Tokens(msgspec.Struct, frozen=True):
    """Prompt tokens that no cache held, prompt tokens from a cache, and written tokens; `estimated`
    counts estimated turns and answers.
    """

    uncached: float = 0.0
    cached: float = 0.0
    output: float = 0.0
    estimated: int = 0

    def __add__(self, other: "Tokens") -> "Tokens":
        mine, theirs = map(msgspec.structs.astuple, (self, other))
        return Tokens(*map(sum, zip(mine, theirs, strict=True)))

    def at(self, prices: Prices) -> float:
        """The priced sum."""
        return (
            prices.uncached * self.uncached
            + prices.cached * self.cached
            + prices.output * self.output
        )


class ArmResult(msgspec.Struct, frozen=True):
    """The result of one arm on one failed trial; `kept` rows are verified and leak-clean."""

    price: float
    kept: int
    episodes: int
    overrun: float
    estimated: int


def tokens_of_attempts(attempts: Iterable[Trajectory]) -> Tokens:
    """The tokens of all attempts at a slot from their pivots on, faulty ones and the user's model
    included.
    """
    used = (_tokens_of_turns(each) + _measured(each.user_totals) for each in attempts)
    return sum(used, Tokens())


def tokens_of_reflection(
    messages: list[Message], text: str, replies: Iterable[RoleReply]
) -> Tokens:
    """The tokens of a reflection. One by rules is estimated as if a model had read the same log and
    written the same text.
    """

    read = sum(len(message["content"]) for message in messages)
    found = []

    for reply in replies:
        used = reply.usage
        usage = Usage(used.prompt_tokens, used.completion_tokens, used.cached_tokens)
        told = used.prompt_tokens > 0
        found.append(_measured(usage) if told else _estimate(read, 0, len(reply.content or "")))

    return sum(found or [_estimate(read, 0, len(text))], Tokens())


def _tokens_of_turns(trajectory: Trajectory) -> Tokens:
    """The first prompt of an attempt is in no cache, each later one as far as the one before it
    reached.
    """

    tools = json.dumps(trajectory.tools, ensure_ascii=False)
    heard = "".join(observation.content for observation in trajectory.opening)
    shown = len(tools + heard)
    shown += len(trajectory.system_prompt or "") + len(trajectory.guidance or "")
    cached = 0
    total = Tokens()

    for turn in trajectory.turns:
        written = characters(turn)
        sampled = turn.sampled_by is SampledBy.POLICY
        if sampled and turn.index >= (trajectory.pivot_turn or 0):
            usage = turn.usage
            if usage is not None and usage.prompt_tokens > 0:
                total += _measured(usage)
            else:
                total += _estimate(shown - cached, cached, written)

            cached = shown

        shown += written + sum(len(observation.content) for observation in turn.observations)

    return total


def _estimate(uncached: int, cached: int, written: int) -> Tokens:
    """Tokens by their characters."""
    per = CHARACTERS_PER_TOKEN
    return Tokens(uncached / per, cached / per, written / per, 1)


def _measured(usage: Usage) -> Tokens:
    """Tokens as the server counted them."""
    cached = usage.cached_tokens
    return Tokens(usage.prompt_tokens - cached, cached, usage.completion_tokens)


def solved(trajectory: Trajectory) -> float:
    """R: 1 where the check passed within the limits, else 0; a truncated attempt is not solved."""
    return float(trajectory.outcome is Outcome.SUCCESS)


def improved(base: Trajectory, retry: Trajectory) -> tuple[bool, str]:
    """The keep condition, (R2 > R1 and R2 >= 1) or (R2 >= 1 and fewer steps), and its reason in a
    word.
    """

    if not solved(retry):
        return False, f"still_{retry.outcome.value}"
    if not solved(base):
        return True, "solved"
    fewer = len(retry.turns) < len(base.turns)
    return fewer, "fewer_steps" if fewer else "no_improvement"
