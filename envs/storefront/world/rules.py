"""The policy's parameters, drawn per world seed, and the rules as functions of observable
values.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from random import Random
from typing import Any

from synth.envs.storefront.texts import texts

NEEDED_FACTORS = 2
"""R1."""
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
CANCELLABLE = frozenset({"pending", "processing"})
BEFORE_SHIPPING = CANCELLABLE


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
    drawn = VALUES[variant]
    days = rng.choice(drawn["window"])
    more = {"bronze": 0, **{tier: rng.choice(drawn[tier]) for tier in TIERS[1:]}}
    return Rules(
        window_days={tier: days + later for tier, later in more.items()},
        refund_limit_cents=rng.choice(drawn["refund_limit"]) * 100,
        final_sale=tuple(sorted(rng.sample(categories, rng.choice((1, 2))))),
        late_days=rng.choice(drawn["late_days"]),
        compensation_cents=rng.choice(drawn["compensation"]) * 100,
        in_force=frozenset(BY_WEIGHT[:in_force]),
        enforced=frozenset(enforceable(in_force)[: round(enforced_share * in_force)]),
    )


def days_since(earlier: str, later: str) -> int:
    """Whole days between two ISO dates."""
    return (date.fromisoformat(later) - date.fromisoformat(earlier)).days


def within_window(rules: Rules, tier: str, delivered: str, today: str) -> bool:
    """R4: the last day of the window still counts."""
    return "R4" not in rules.in_force or days_since(delivered, today) <= rules.window_days[tier]


def refused_by_status(kind: str, order: Mapping[str, Any]) -> str | None:
    """R3, R7, R9, R11: the rule that forbids a kind of request about an order as it stands now;
    an order is modified once, and takes one coupon.
    """
    row = texts("kinds").get(kind, {})
    used_up = {"exchange": order["modified"], "coupon": order["coupon"] is not None}.get(kind)
    forbidden = "rule" in row and (order["status"] not in row["in"] or used_up)
    return str(row["rule"]) if forbidden else None


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
