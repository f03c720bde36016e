"""What stops a run: ceilings, and a model's server that only refuses. No new episode starts then;
running episodes finish.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from synth.boundary import FaultError
from synth.schemas import ConfigError, Fault, Flow, Usage

SILENT_REPLIES = 20
"""Replies without a token count after which it is clear that the server never gives one."""
HOUR_S = 3600.0
Quantity = Literal["tokens", "usd", "seconds"]


class Room(msgspec.Struct, frozen=True):
    """A ceiling in words, what it counts, and how much of that it leaves."""

    ceiling: str
    counts: Quantity
    left: float


@dataclass(kw_only=True, eq=False)
class Budget:
    """Tokens and money spent on a ledger, by earlier runs too, and this command's own time, against
    the flow's ceilings.
    """

    max_tokens: int | None = None
    max_cost_usd: float | None = None
    max_hours: float | None = None
    spent: Usage = field(default_factory=Usage)
    earlier_s: float = 0.0
    clock: Callable[[], float] = time.monotonic
    _silent: int = 0
    _counted: bool = False

    def __post_init__(self) -> None:
        self._began = self.clock() - self.earlier_s

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
        found = []
        if (most := self.max_tokens) is not None:
            found.append(Room(f"max_tokens {most:,}", "tokens", most - self.tokens))
        if (usd := self.max_cost_usd) is not None:
            left = usd - (self.spent.cost_usd or 0.0)
            found.append(Room(f"max_cost_usd {usd:g}", "usd", left))
        if (hours := self.max_hours) is not None:
            left = hours * HOUR_S - (self.clock() - self._began)
            found.append(Room(f"max_hours {hours:g}", "seconds", left))
        return found

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


IN_A_ROW = 10
"""Attempts that end in the same way with no answered turn between them."""


@dataclass(eq=False)
class Breaker:
    """Counts attempts that ended at the model, one after the other.

    Answers that asking again will not change (401, 403, 404, ...) count always; others (a lost
    connection, a late answer) only until
    the model has answered for the first time: later they pass, and a rerun tries their slots again.
    """

    _failed: int = 0
    _answered: bool = False
    _last: str = ""
    _unanswered: int = 0
    _detail: str = ""

    def answered(self) -> None:
        """The model decided a turn."""
        self._failed, self._answered = 0, True

    def failed(self, error: FaultError) -> None:
        """An attempt, or a question to a role, ended in this fault."""
        if error.context_overflow:  # said of one text; the next may be shorter
            return
        self._unanswered += 1
        self._detail = error.detail
        if error.fault in (Fault.MODEL, Fault.USER_SIMULATOR, Fault.JUDGE, Fault.TIMEOUT) and (
            error.final or not self._answered
        ):
            self._failed += 1
            self._last = error.detail.removeprefix("policy: ")

    def tripped(self) -> str | None:
        """What the server says and what to do, in one line, once it has refused too often; else
        None.
        """
        if self._failed < IN_A_ROW:
            return None
        return (
            f"{self._last}; stopped after {self._failed} attempts in a row that ended so: "
            "mend it and run again, what was done is kept"
        )

    def unheard(self) -> tuple[int, str] | None:
        """How many failed where nothing at all was answered, and what the last one said; else
        None.
        """
        return (self._unanswered, self._detail) if self._unanswered and not self._answered else None


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
