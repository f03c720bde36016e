"""Persistent misconceptions: what a planner wrongly believes, and in which states it shows."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any

from synth.envs.storefront.texts import texts
from synth.schemas.errors import ConfigError
from synth.schemas.profile import spared

WORDS: Mapping[str, Any] = texts("expert")
MISCONCEPTIONS: Mapping[str, str] = WORDS["misconceptions"]
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
def misconceptions(
    profile: str | None,
    seed: int,
) -> frozenset[str]:
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
