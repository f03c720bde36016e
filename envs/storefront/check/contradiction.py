"""When a later sentence takes back a fact that was told."""

import re
from collections.abc import Iterable

from synth.envs.storefront.check.claims import claimed
from synth.envs.storefront.customer.told import SAID
from synth.envs.storefront.world.world import BaseWorld
from synth.schemas.check import Scalar, ToldFact

_REQUEST = re.compile(r"\brequest (\d{1,2})\b")
_WORD = re.compile(r"(?<![\w$-])[a-z]{4,}(?![\w-])")
_FILLERS = frozenset(
    {
        "request",
        "order",
        "your",
        "that",
        "this",
        "with",
        "from",
        "will",
        "would",
        "have",
        "been",
        "dollars",
        "about",
    }
)
_CORRECTS = re.compile(r"\b(?:sorry|correction|actually|instead|wrong|mistake|rather|correct)\b")
_PARCEL = frozenset(
    {"label_created", "in_transit", "out_for_delivery", "delayed", "at_pickup_point"}
)
"""Statuses that a shipped order's parcel may have: "shipped" does not contradict them."""


def contradicts(fact: ToldFact, telling: str, later: str, base: BaseWorld) -> set[Scalar]:
    """The other values of the fact's type that a later sentence states of the same thing; empty
    where it takes nothing back.

    The same thing: the sentence names what the fact is about, or the request under which it was
    told, and speaks of it in a word that
    the telling used, or in words of correction (a status needs no such word). A sentence that
    claims the fact's value, a question, and
    a status that is denied, supposed or held possible contradict nothing.
    """
    values = claimed(fact.type, later)
    if fact.type in ("status", "enum") and fact.value in _PARCEL:
        values = values - {"shipped"}
    if (
        not values
        or fact.value in values
        or later.rstrip().endswith("?")
        or not _same_subject(fact, telling, later, base)
    ):
        return set()
    return values if fact.type in ("status", "enum") or _same_matter(telling, later) else set()


def rivals(fact: ToldFact, telling: str, others: Iterable[str], base: BaseWorld) -> set[Scalar]:
    """All values of the fact's type that any sentence states of the same thing: many are a guess,
    however they are spread.
    """
    found: set[Scalar] = set()
    for other in others:
        if not other.rstrip().endswith("?") and _same_subject(fact, telling, other, base):
            found |= SAID[fact.type](other)
    return found | {fact.value}


def _same_subject(fact: ToldFact, telling: str, later: str, base: BaseWorld) -> bool:
    if fact.about in later:
        return True
    lowered = later.lower()
    if set(_REQUEST.findall(telling.lower())) & set(_REQUEST.findall(lowered)):
        return True
    variant = base.tables["variants"].get(fact.about)
    return (
        variant is not None
        and variant["colour"] in lowered
        and base.tables["products"][variant["product_id"]]["noun"] in lowered
    )


def _same_matter(telling: str, later: str) -> bool:
    lowered = later.lower()
    shared = set(_WORD.findall(telling.lower())) & set(_WORD.findall(lowered))
    return bool(shared - _FILLERS) or _CORRECTS.search(lowered) is not None
