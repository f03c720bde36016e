"""Ceilings: they stop new episodes, running ones finish."""

from schemas.trajectory import Usage


class Budget:
    """Tokens and money spent on a ledger, by earlier runs too, against the flow's ceilings."""

    def __init__(self, *, max_tokens: int | None = None, max_cost_usd: float | None = None, spent: Usage | None = None) -> None:
        self.max_tokens = max_tokens
        self.max_cost_usd = max_cost_usd
        self.spent = spent or Usage()

    def add(self, usage: Usage) -> None:
        """Counts what an episode used."""
        self.spent = self.spent + usage

    def exhausted(self) -> str | None:
        """Which ceiling is reached, in words, or None."""
        tokens = self.spent.prompt_tokens + self.spent.completion_tokens
        if self.max_tokens is not None and tokens >= self.max_tokens:
            return f"max_tokens {self.max_tokens:,} is reached"
        if self.max_cost_usd is not None and (self.spent.cost_usd or 0.0) >= self.max_cost_usd:
            return f"max_cost_usd {self.max_cost_usd:g} is reached"
        return None
