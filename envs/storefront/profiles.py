"""Persistent misconceptions: what a planner wrongly believes, and in which states it shows."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from schemas.errors import ConfigError

MISCONCEPTIONS: Mapping[str, tuple[float, str]] = {
    "first_match": (0.20, "takes the first account or order that fits an ambiguous description, without asking"),
    "first_page": (0.25, "never turns the page of a list of orders"),
    "ignores_window": (0.40, "performs returns that the window or final sale forbids"),
    "tries_anyway": (0.40, "calls cancel_order on a shipped order and leaves it at the tool's refusal"),
    "over_refuses": (0.20, "denies returns older than half the window"),
    "stops_early": (0.16, "forgets a question that stands last of three or more requests"),
    "wrong_refund": (0.18, "takes the order's total, or the price of one piece, for the refund"),
    "skips_confirmation": (0.15, "asks for neither details nor a yes, and assumes the usual"),
    "stale_reads": (0.20, "reports the total that it read before it wrote"),
    "ignores_limit": (0.25, "issues refunds above the limit itself"),
    "first_address": (0.25, "takes the first other address on file for the one that was named"),
    "ignores_size": (0.25, "takes the first variant of a colour, whatever its size"),
}
"""Name -> share of mixed trials that hold it, and what it does."""

MOST_HELD = 3
"""With more at a time hardly a task would be solved, and trials would differ more than tasks."""
CORRECT = "correct"
MIXED = "mixed"
PROFILES: tuple[str, ...] = (CORRECT, MIXED, *MISCONCEPTIONS)


@dataclass(frozen=True, slots=True)
class Strategy:
    """One of the right ways to work: none of these choices changes whether a task is solved."""

    identify_by: tuple[str, ...]
    order: str
    locate: str
    batches: bool
    collects: bool
    asks_to_close: bool
    checks_stock: bool


@lru_cache(maxsize=4096)
def misconceptions(profile: str | None, seed: int) -> frozenset[str]:
    """What a profile holds; for `mixed` it is drawn from the seed alone. Raises `ConfigError` for an unknown profile."""
    if profile in (None, CORRECT):
        return frozenset()
    if profile in MISCONCEPTIONS:
        return frozenset({str(profile)})
    if profile != MIXED:
        raise ConfigError(f"profile {profile!r} is not one of storefront's; allowed: {', '.join(PROFILES)}")
    rng = Random(f"storefront/profile/{seed}")
    held = [name for name, (share, _) in MISCONCEPTIONS.items() if rng.random() < share]
    return frozenset(rng.sample(held, min(len(held), MOST_HELD)))


@lru_cache(maxsize=4096)
def strategy(seed: int) -> Strategy:
    """The way of working that a seed stands for."""
    rng = Random(f"storefront/strategy/{seed}")
    identify_by = ["email", "phone", "zip"]
    rng.shuffle(identify_by)
    return Strategy(
        identify_by=tuple(identify_by),
        order=rng.choice(("stated", "reversed", "writes_first", "questions_first")),
        locate=rng.choice(("walk", "search")),
        batches=rng.random() < 0.5,
        collects=rng.random() < 0.5,
        asks_to_close=rng.random() < 0.4,
        checks_stock=rng.random() < 0.5,
    )
