"""The rank-surprisal ratio, from the student's rank and log-probability of every token (arXiv
2601.14249; official `rsr_cal.py`).
"""

from collections.abc import Iterable

import msgspec

from synth.schemas import TokenScore

MAX_RANK = 100
LEAST_SURPRISAL = 1e-12
"""Guards the quotient, as the official code does; a text that the student knows by heart scores
worst.
"""


class Sums(msgspec.Struct, frozen=True):
    """Of some tokens: their ranks, each capped before it is added, their surprisals in nats, and
    how many they are.
    """

    rank: float = 0.0
    nll: float = 0.0
    tokens: int = 0

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(self.rank + other.rank, self.nll + other.nll, self.tokens + other.tokens)

    @property
    def ratio(self) -> float | None:
        """Sum of the ranks over the sum of the surprisals; None of no tokens."""
        return self.rank / max(self.nll, LEAST_SURPRISAL) if self.tokens else None

    @property
    def means(self) -> tuple[float, float]:
        """Rank and nats per token."""
        return self.rank / self.tokens, self.nll / self.tokens


def summed(tokens: Iterable[TokenScore], max_rank: int = MAX_RANK) -> Sums:
    """The sums of tokens, in their order. A rank counts from 1, the likeliest token's."""
    rank, nll, count = 0, 0.0, 0
    for token in tokens:
        rank += min(token.rank, max_rank)
        nll -= token.logprob
        count += 1

    return Sums(float(rank), nll, count)
