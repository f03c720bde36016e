"""The policy's parameters, drawn per world seed, and what follows from them for single values."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from random import Random
from typing import Any

from synth.envs.storefront.texts import texts

NEEDED_FACTORS = 2
"""R1: identity factors that are verified before anything is read or written."""
TIERS = ("bronze", "silver", "gold")
RULE_IDS = tuple(f"R{number}" for number in range(1, 16))

_RULES: Mapping[str, Any] = texts("rules")
BY_WEIGHT: tuple[str, ...] = tuple(_RULES["by_weight"])
"""Which rules are in force where fewer than fifteen are: the first ones."""
ENFORCEABLE: tuple[str, ...] = tuple(_RULES["enforceable"])
"""Rules that a tool could enforce, the first ones first."""
ENFORCED_BY_TOOLS = frozenset(ENFORCEABLE[:7])
VALUES: Mapping[str, Mapping[str, list[int]]] = _RULES["values"]
"""What a variant draws its parameters from; train and held out share none."""
BY_STATUS: Mapping[str, Mapping[str, Any]] = _RULES["by_status"]
"""Write -> the rule by which an order's status forbids it, the statuses that do not, and why."""
BEFORE_SHIPPING = frozenset(BY_STATUS["cancel_order"]["in"])


@dataclass(frozen=True, slots=True)
class Rules:
    """Return window in days by tier, most that is refunded without escalation (cents), categories
    sold finally; days that a parcel may be late, and the compensation (cents) beyond; the rules in
    force, and those of them that tools enforce. `today` is the day on which they are applied.
    """

    today: str
    window_days: Mapping[str, int]
    refund_limit_cents: int
    final_sale: tuple[str, ...]
    late_days: int
    compensation_cents: int
    in_force: frozenset[str]
    enforced: frozenset[str]

    def within_window(
        self,
        tier: str,
        delivered: str,
    ) -> bool:
        """R4: the last day of the window still counts."""
        days = days_since(delivered, self.today)

        return "R4" not in self.in_force or days <= self.window_days[tier]

    def is_final_sale(self, category: str) -> bool:
        """R8."""
        return "R8" in self.in_force and category in self.final_sale

    def is_late(
        self,
        promised: str,
        delivered: str | None,
    ) -> bool:
        """R12: delivered more days after the promised one than a parcel may be late."""
        return delivered is not None and days_since(promised, delivered) > self.late_days

    def above_limit(self, amount_cents: int) -> bool:
        """R6."""
        return "R6" in self.in_force and amount_cents > self.refund_limit_cents


def enforceable(in_force: int) -> list[str]:
    """Of that many rules in force, those that tools can hold, the first ones first."""
    return [rule for rule in ENFORCEABLE if rule in BY_WEIGHT[:in_force]]


def draw_rules(
    rng: Random,
    today: str,
    categories: tuple[str, ...],
    variant: str,
    in_force: int,
    share: float,
) -> Rules:
    """Draws the parameters of one world, of whose rules tools enforce a share."""
    drawn = VALUES[variant]
    days = rng.choice(drawn["window"])
    more = {"bronze": 0, **{tier: rng.choice(drawn[tier]) for tier in TIERS[1:]}}

    return Rules(
        today,
        window_days={tier: days + later for tier, later in more.items()},
        refund_limit_cents=rng.choice(drawn["refund_limit"]) * 100,
        final_sale=tuple(sorted(rng.sample(categories, rng.choice((1, 2))))),
        late_days=rng.choice(drawn["late_days"]),
        compensation_cents=rng.choice(drawn["compensation"]) * 100,
        in_force=frozenset(BY_WEIGHT[:in_force]),
        enforced=frozenset(enforceable(in_force)[: round(share * in_force)]),
    )


def days_since(earlier: str, later: str) -> int:
    """Whole days between two ISO dates."""
    return (date.fromisoformat(later) - date.fromisoformat(earlier)).days


def discounted_cents(gross_cents: int, discount_percent: int) -> int:
    """An amount after a percentage off, rounded half up to the cent."""
    return (gross_cents * (100 - discount_percent) + 50) // 100


def dollars(cents: int) -> float:
    """Cents as tools show them: a JSON number in dollars."""
    return cents / 100
