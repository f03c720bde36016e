"""Ceilings: they stop new episodes, running ones finish."""

import time
from collections.abc import Callable
from typing import Literal

import msgspec

from synth.schemas.errors import ConfigError
from synth.schemas.flow import Flow
from synth.schemas.trajectory import Usage

SILENT_REPLIES = 20
"""Replies without a token count after which it is clear that the server never gives one."""
HOUR_S = 3600.0
Quantity = Literal["tokens", "usd", "seconds"]


class Room(msgspec.Struct, frozen=True):
    """A ceiling in words, what it counts, and how much of that it leaves."""

    ceiling: str
    counts: Quantity
    left: float


class Budget:
    """Tokens and money spent on a ledger, by earlier runs too, and this command's own time, against
    the flow's ceilings.
    """

    def __init__(
        self,
        *,
        max_tokens: int | None = None,
        max_cost_usd: float | None = None,
        max_hours: float | None = None,
        spent: Usage | None = None,
        earlier_s: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.max_tokens = max_tokens
        self.max_cost_usd = max_cost_usd
        self.max_hours = max_hours
        self.spent = spent or Usage()
        self._clock = clock
        self._began = clock() - earlier_s
        self._silent = 0
        self._counted = False

    def add(self, usage: Usage) -> None:
        """Counts what a turn used."""
        self.spent = self.spent + usage
        if usage.prompt_tokens or usage.completion_tokens:
            self._counted = True
        elif usage.calls:
            self._silent += 1

    def recount(self, committed: Usage) -> None:
        """Counts what other workers have spent, by what all have committed."""
        if committed.prompt_tokens + committed.completion_tokens > self.tokens or (
            (committed.cost_usd or 0.0) > (self.spent.cost_usd or 0.0)
        ):
            self.spent = committed

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens so far."""
        return self.spent.prompt_tokens + self.spent.completion_tokens

    def room(self) -> list[Room]:
        """What each ceiling leaves."""
        left = []
        if self.max_tokens is not None:
            left.append(
                Room(f"max_tokens {self.max_tokens:,}", "tokens", self.max_tokens - self.tokens)
            )
        if self.max_cost_usd is not None:
            left.append(
                Room(
                    f"max_cost_usd {self.max_cost_usd:g}",
                    "usd",
                    self.max_cost_usd - (self.spent.cost_usd or 0.0),
                )
            )
        if self.max_hours is not None:
            left.append(
                Room(
                    f"max_hours {self.max_hours:g}",
                    "seconds",
                    self.max_hours * HOUR_S - (self._clock() - self._began),
                )
            )
        return left

    def exhausted(self) -> str | None:
        """Which ceiling is reached, in words, or None."""
        for room in self.room():
            if room.left <= 0:
                return f"{room.ceiling} is reached"
        limited = self.max_tokens is not None or self.max_cost_usd is not None
        if self._counted or self._silent < SILENT_REPLIES or not limited:
            return None
        return (
            f"{'max_cost_usd' if self.max_tokens is None else 'max_tokens'} cannot be held, "
            "because the server does not say how many tokens its replies took"
        )

    def overrun(self) -> str | None:
        """How far over its ceilings a run ended, or None."""
        over = {room.counts: -room.left for room in self.room() if room.left < 0}
        if "tokens" in over:
            how = f"{self.tokens:,} tokens used, {over['tokens']:,} over max_tokens"
        elif "usd" in over:
            how = f"${self.spent.cost_usd or 0.0:,.4g} spent, ${over['usd']:,.4g} over max_cost_usd"
        else:
            return None
        return f"{how}: episodes under way were finished"


def require_prices(flow: Flow) -> None:
    """Raises `ConfigError` where the flow has a ceiling in money, and a model without a price."""
    if flow.max_cost_usd is None:
        return
    for role, settings in flow.models.items():
        if "model" in settings and settings.get("price") is None:
            raise ConfigError(
                f"max_cost_usd needs the price of model {settings['model']}: add `price: {{input: "
                "..., output: ...}` "
                f"(USD per million tokens, 0 where it is free) to models.{role}, or use max_tokens"
            )
