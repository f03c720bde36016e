"""The policy's parameters, drawn per world seed, and the rules as functions of observable values."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from random import Random

TIERS = ("bronze", "silver", "gold")
RULE_IDS = ("R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8", "R9", "R10", "R11", "R14")
ENFORCED_BY_TOOLS = frozenset({"R3", "R5", "R7", "R9", "R11"})
CANCELLABLE = frozenset({"pending", "processing"})
BEFORE_SHIPPING = frozenset({"pending", "processing"})


@dataclass(frozen=True, slots=True)
class Rules:
    """Return window in days by tier, the most that may be refunded without escalation (cents), categories sold finally."""

    window_days: Mapping[str, int]
    refund_limit_cents: int
    final_sale: tuple[str, ...]


def draw_rules(rng: Random, categories: tuple[str, ...]) -> Rules:
    """Parameters for one world."""
    days = rng.choice((14, 21, 30, 45))
    window = {"bronze": days, "silver": days + rng.choice((7, 10)), "gold": days + rng.choice((20, 30))}
    return Rules(window, rng.choice((120, 150, 180, 240)) * 100, tuple(sorted(rng.sample(categories, rng.choice((1, 2))))))


def days_since(delivered: str, today: str) -> int:
    """Whole days between two ISO dates."""
    return (date.fromisoformat(today) - date.fromisoformat(delivered)).days


def within_window(rules: Rules, tier: str, delivered: str, today: str) -> bool:
    """R4: the last day of the window still counts."""
    return days_since(delivered, today) <= rules.window_days[tier]


def discounted_cents(gross_cents: int, discount_percent: int) -> int:
    """An amount after a percentage off, rounded half up to the cent."""
    return (gross_cents * (100 - discount_percent) + 50) // 100


def dollars(cents: int) -> float:
    """Cents as tools show them: a JSON number in dollars."""
    return cents / 100
