"""What the stage under way has come to so far: outcomes, turns, tokens, money."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from synth.engine.numbers import counted_noun, short_count
from synth.schemas import Outcome, Trajectory, Usage

LEAST_CACHED = 0.01
"""Share of cached prompts below which the line does not mention it."""


def tokens_of(usage: Usage) -> int:
    """Prompt and completion tokens: what ceilings count."""
    return usage.prompt_tokens + usage.completion_tokens


def played(attempts: Sequence[Trajectory]) -> bool:
    """Whether a slot has a valid attempt; the last one made at it tells."""
    return attempts[-1].fault is None


def ended_in_faults(count: int) -> str:
    """For instance: 15 attempts ended in faults; an episode may have had several."""
    return f"{counted_noun(count, 'attempt')} ended in {'a fault' if count == 1 else 'faults'}"


@dataclass(eq=False)
class Spread:
    """Mean and standard error of numbers that come one by one (Welford)."""

    count: int = 0
    mean: float = 0.0
    _squares: float = 0.0

    def add(self, value: float) -> None:
        """Takes in one more."""
        self.count += 1
        away = value - self.mean
        self.mean += away / self.count
        self._squares += away * (value - self.mean)

    @property
    def standard_error(self) -> float:
        """Of the mean; unbounded below two values."""
        return (
            math.sqrt(self._squares / (self.count - 1) / self.count) if self.count > 1 else math.inf
        )


class RunCounts:
    """Episodes, successes, faults, turns, tokens and money of the stage under way; turns count when
    they are taken.

    `tokens` and `usd` spread over the slots that are done, each with all attempts made at it;
    `unpriced` counts who called a model whose
    price is not known; `replayed_tokens` came out of the journal, and took no time; `unplayed`
    slots were tried, and have no valid attempt.
    """

    def __init__(self) -> None:
        self.outcomes = Counter[str]()
        self.turns = self.replayed_tokens = 0
        self.role_tokens = Counter[str]()
        self.unplayed = self.unpriced = 0
        self.tokens, self.usd = Spread(), Spread()
        self._of_finished = self._of_turns = Usage()

    def turn(self, usage: Usage | None) -> None:
        """Counts a turn of an episode under way."""
        self.turns += 1
        if usage is not None:
            self._of_turns = self._of_turns + usage

    def spoke(self, usage: Usage, role: str) -> None:
        """Counts a reply of a role beside the agent's."""
        self.role_tokens[role] += tokens_of(usage)
        self._of_turns = self._of_turns + usage

    def add(self, attempts: Sequence[Trajectory]) -> None:
        """Counts all attempts at one slot."""
        slot = Usage()
        self.unplayed += not played(attempts)

        for trajectory in attempts:
            self.outcomes[trajectory.outcome] += 1
            for used in (trajectory.totals, trajectory.user_totals or Usage()):
                slot = slot + used
                self.unpriced += used.unpriced > 0

        self.tokens.add(tokens_of(slot))
        self.usd.add(slot.cost_usd or 0.0)
        self._of_finished = self._of_finished + slot

    @property
    def usage(self) -> Usage:
        """What was used so far. Finished episodes are among those whose turns were counted, where
        anybody counted them.
        """
        return max(self._of_turns, self._of_finished, key=tokens_of)

    def line(self, *, live: bool = False) -> str:
        """For instance: 61 % success, 2 attempts ended in faults, 1.2k turns, 9.2M tokens (40 %
        cached), $0.02 (turns while it runs).
        """
        invalid = self.outcomes[Outcome.INVALID]
        valid = sum(self.outcomes.values()) - invalid
        parts = []
        if valid:
            parts.append(f"{100 * self.outcomes[Outcome.SUCCESS] / valid:.0f} % success")
        if invalid:
            parts.append(ended_in_faults(invalid))
        if live and self.turns:
            parts.append(f"{short_count(self.turns)} {'turn' if self.turns == 1 else 'turns'}")

        usage = self.usage
        if tokens := tokens_of(usage):
            parts.append(f"{short_count(tokens)} tokens{self._made_of(usage)}")
        if usage.cost_usd is not None:
            parts.append(f"${usage.cost_usd:.2f}")
        return ", ".join(parts)

    def _made_of(self, usage: Usage) -> str:
        """How much of the prompts the server had in its cache, as far as it tells, and what roles
        beside the agent's have used.
        """
        parts = []
        share = usage.cached_tokens / usage.prompt_tokens if usage.prompt_tokens else 0.0
        if share >= LEAST_CACHED:
            parts.append(f"{100 * share:.0f} % of prompts cached")
        for role, tokens in self.role_tokens.items():
            parts.append(f"{short_count(tokens)} by the {role}")
        return f" ({', '.join(parts)})" if parts else ""

    def ending(self, *, live: bool = False) -> str:
        """The same as the end of a line."""
        line = self.line(live=live)
        return f", {line}" if line else ""
