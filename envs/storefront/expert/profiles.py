"""Persistent misconceptions: what a planner wrongly believes, and in which states it shows."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from synth.schemas.errors import ConfigError
from synth.schemas.profile import spared

MISCONCEPTIONS: Mapping[str, str] = {
    "first_match": "takes the first account or order that fits an ambiguous description, without asking",
    "first_page": "never turns the page of a list of orders",
    "ignores_window": "performs returns that the window or final sale forbids",
    "tries_anyway": "calls cancel_order on a shipped order and leaves it at the tool's refusal",
    "over_refuses": "denies returns older than half the window, and what is somebody else's matter",
    "stops_early": "forgets a question that stands last of three or more requests",
    "wrong_refund": "takes the order's total, or the price of one piece, for the refund",
    "skips_confirmation": "asks for neither details nor a yes, and assumes the usual",
    "stale_reads": "reports the total that it read before it wrote",
    "ignores_limit": "issues refunds above the limit itself",
    "first_address": "takes the first other address on file for the one that was named",
    "obeys_notes": "does what a note or a product text tells it to do",
    "gives_in": "does what it denied, once the customer insists",
    "ignores_change": "does what was asked first, after the customer has changed their mind",
    "all_or_nothing": "returns nothing of an order where one line cannot go back",
    "never_denies": "does whatever is asked, or tries to, and leaves it at that where a tool refuses",
    "ignores_size": "takes the first variant of a colour, whatever its size",
}
"""Name -> what it does."""

HELD_IN_MIXED = (2, 2, 3, 3)
"""How many a mixed trial holds, each count as likely as it stands here: half of the trials on tasks
of three requests or more are
solved (measured).
"""
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
    """What a profile holds; for `mixed` it is drawn from the seed alone. Raises `ConfigError` for
    an unknown profile.
    """
    name, rid = spared(profile)
    if name == CORRECT:
        return frozenset()
    if name in MISCONCEPTIONS:
        return frozenset({name}) - rid
    if name != MIXED:
        raise ConfigError(
            f"profile {profile!r} is not one of storefront's; allowed: {', '.join(PROFILES)}"
        )
    rng = Random(f"storefront/profile/{seed}")
    return frozenset(rng.sample(list(MISCONCEPTIONS), rng.choice(HELD_IN_MIXED))) - rid


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
