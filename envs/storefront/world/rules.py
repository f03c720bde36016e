"""The policy's parameters, drawn per world seed, and the rules as functions of observable
values.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from random import Random

NEEDED_FACTORS = 2
"""R1."""
TIERS = ("bronze", "silver", "gold")
RULE_IDS = tuple(f"R{number}" for number in range(1, 16))
BY_WEIGHT = (
    "R3",
    "R4",
    "R1",
    "R2",
    "R5",
    "R8",
    "R11",
    "R6",
    "R7",
    "R9",
    "R10",
    "R14",
    "R12",
    "R15",
    "R13",
)
"""Which rules are in force where fewer than fifteen are: the first ones."""
ENFORCEABLE = ("R3", "R5", "R7", "R9", "R11", "R15", "R12", "R4", "R8", "R6")
"""Rules that a tool could enforce, the first ones first."""
ENFORCED_BY_TOOLS = frozenset(ENFORCEABLE[:7])
CANCELLABLE = frozenset({"pending", "processing"})
BEFORE_SHIPPING = frozenset({"pending", "processing"})


@dataclass(frozen=True, slots=True)
class Values:
    """What a variant draws its parameters from; train and held out share none."""

    window: tuple[int, ...]
    silver: tuple[int, ...]
    gold: tuple[int, ...]
    refund_limit: tuple[int, ...]
    late_days: tuple[int, ...]
    compensation: tuple[int, ...]


VALUES: Mapping[str, Values] = {
    "train": Values(
        (14, 21, 30, 45), (7, 10), (20, 30), (120, 150, 180, 240), (2, 4, 6), (5, 10, 15)
    ),
    "held_out": Values(
        (10, 18, 25, 60), (8, 12), (22, 33), (100, 135, 165, 210), (3, 5, 7), (8, 12, 20)
    ),
}


@dataclass(frozen=True, slots=True)
class Rules:
    """Return window in days by tier, most that may be refunded without escalation (cents),
    categories sold finally; days that a parcel
    may be late, and the compensation (cents) beyond; the rules in force, and those of them that
    tools enforce.
    """

    window_days: Mapping[str, int]
    refund_limit_cents: int
    final_sale: tuple[str, ...]
    late_days: int
    compensation_cents: int
    in_force: frozenset[str] = frozenset(RULE_IDS)
    enforced: frozenset[str] = ENFORCED_BY_TOOLS


def enforceable(in_force: int) -> list[str]:
    """Of that many rules in force, those that tools can hold, the first ones first."""
    return [rule for rule in ENFORCEABLE if rule in BY_WEIGHT[:in_force]]


def draw_rules(
    rng: Random,
    categories: tuple[str, ...],
    variant: str = "train",
    in_force: int = 15,
    enforced_share: float = 7 / 15,
) -> Rules:
    """Parameters for one world."""
    values = VALUES[variant]
    days = rng.choice(values.window)
    window = {
        "bronze": days,
        "silver": days + rng.choice(values.silver),
        "gold": days + rng.choice(values.gold),
    }
    limit_cents = rng.choice(values.refund_limit) * 100
    final_sale = tuple(sorted(rng.sample(categories, rng.choice((1, 2)))))
    enforced = frozenset(enforceable(in_force)[: round(enforced_share * in_force)])
    late_days, compensation_cents = (
        rng.choice(values.late_days),
        rng.choice(values.compensation) * 100,
    )
    return Rules(
        window,
        limit_cents,
        final_sale,
        late_days,
        compensation_cents,
        frozenset(BY_WEIGHT[:in_force]),
        enforced,
    )


def days_since(earlier: str, later: str) -> int:
    """Whole days between two ISO dates."""
    return (date.fromisoformat(later) - date.fromisoformat(earlier)).days


def within_window(rules: Rules, tier: str, delivered: str, today: str) -> bool:
    """R4: the last day of the window still counts."""
    return "R4" not in rules.in_force or days_since(delivered, today) <= rules.window_days[tier]


def is_final_sale(rules: Rules, category: str) -> bool:
    """R8."""
    return "R8" in rules.in_force and category in rules.final_sale


def is_late(rules: Rules, promised: str, delivered: str) -> bool:
    """R12: more days after the promised one than a parcel may be late."""
    return days_since(promised, delivered) > rules.late_days


def above_limit(rules: Rules, amount_cents: int) -> bool:
    """R6."""
    return "R6" in rules.in_force and amount_cents > rules.refund_limit_cents


def discounted_cents(gross_cents: int, discount_percent: int) -> int:
    """An amount after a percentage off, rounded half up to the cent."""
    return (gross_cents * (100 - discount_percent) + 50) // 100


def dollars(cents: int) -> float:
    """Cents as tools show them: a JSON number in dollars."""
    return cents / 100
