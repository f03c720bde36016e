"""What a task is about: its kind by its place in the list, the request that makes it so, and the
requests beside it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from synth.envs.storefront.check.process import INJECTIONS
from synth.envs.storefront.tasks.complications import draw_conditional, draw_settled, draw_stale
from synth.envs.storefront.tasks.difficulty import first_write
from synth.envs.storefront.tasks.intents import Draw, Intent, Subject
from synth.envs.storefront.tasks.minimal_pairs import draw_pair
from synth.envs.storefront.tasks.open_words import draw_ambiguous
from synth.envs.storefront.tasks.side_requests import all_requests
from synth.envs.storefront.world.config import Mix, StorefrontConfig
from synth.schemas import Scalar

KINDS: tuple[str, ...] = tuple(Mix.model_fields)
GOLDEN = 0.6180339887498949
SILVER = 0.41421356237309503
"""Multiples of either, modulo one, fill the unit interval evenly however many there are, and
independently of the other.
"""
HELD_OUT_COMPOSITIONS = (
    frozenset({"coupon", "track"}),
    frozenset({"compensation", "exchange"}),
    frozenset({"address", "refund_query"}),
)
"""Kinds of requests that no task of the train variant has together; about half of the longer
held-out tasks have.
"""
DRAWN: Mapping[str, Callable[[Draw], Subject | None]] = {
    "ambiguous": draw_ambiguous,
    "conditional": draw_conditional,
    "stale": draw_stale,
    "done": draw_settled,
}
"""Kind of task -> the request that it is about; feasible tasks are about none in particular."""


@dataclass(frozen=True, slots=True)
class TaskPlace:
    """The kind of a task; the two tasks of a minimal pair stand side by side and share `pair`."""

    kind: str
    pair: int | None = None


def place(
    mix: Mix,
    seed: int,
    index: int,
) -> TaskPlace:
    """The task at an index, so that every stretch of a list has about the mix: of every two
    neighbours both belong to one pair, with twice the probability of the rarer half, or each is
    drawn from what the pairs leave of the mix.
    """
    weights = mix.model_dump()
    left = {kind: weight / sum(weights.values()) for kind, weight in weights.items()}
    paired = min(left["feasible"], left["refused"])
    start = Random(f"storefront/mix/{seed}").random()
    block, side = divmod(index, 2)

    # a pair holds one task of each of its two kinds
    if (start + block * GOLDEN) % 1.0 < 2 * paired:
        refused_first = Random(f"storefront/pair/{seed}/{block}").random() < 0.5

        return TaskPlace("refused" if refused_first is (side == 0) else "feasible", block)

    left["feasible"] -= paired
    left["refused"] -= paired
    # the start is stretched, so that the two series do not begin alike
    at = ((start * 7 + index * SILVER) % 1.0) * sum(left.values())

    for kind in KINDS:
        at -= left[kind]

        if at < 0:
            return TaskPlace(kind)

    # rounding may leave a hair above zero
    return TaskPlace(max(KINDS, key=lambda kind: left[kind]))


def draw_scenario(
    draw: Draw, at: TaskPlace, operations: int, *, strict: bool, held_out: bool
) -> Subject | None:
    """A request of the kind and other requests of the customer on other orders, so that no request
    disturbs another, in the place of the subject's sides; None where this draw leads nowhere.

    `strict`: the customer has as many orders as there are requests; `held_out`: see `_composes`.
    The task and its twin, where it has one, are drawn alike and both have to have the look-ups that
    were asked for.
    """
    if strict and len(draw.orders) < operations:
        return None

    number = draw.rng.randrange(1, operations + 1)
    # three streams, so that both sides of a pair draw the same others whatever its subject took
    subject_rng, others_rng, rest = (Random(draw.rng.random()) for _ in range(3))
    subject = _subject(replace(draw, rng=subject_rng, number=number), at)

    if subject is None:
        return None

    beside = replace(draw, rng=others_rng, base=subject.shown)
    others = all_requests(beside, operations, subject)

    if others is None or not _composes(draw.config, others, held_out=held_out):
        return None

    low, high = draw.config.look_ups
    # without a subject the first request stands for its own side
    sides = [_whole(others, side, subject) for side in subject.sides or others[:1]]

    if not all(low <= first_write(draw, side) <= high for side in sides):
        return None

    facts = {**subject.facts, **_injected(replace(draw, rng=rest))}

    return replace(subject, sides=sides[0], facts=facts)


def composed(intents: Sequence[Intent]) -> bool:
    """Whether there are kinds of requests together that train lacks."""
    kinds = {intent.request.kind for intent in intents}

    return any(composition <= kinds for composition in HELD_OUT_COMPOSITIONS)


def _composes(
    config: StorefrontConfig,
    intents: Sequence[Intent],
    *,
    held_out: bool,
) -> bool:
    """Whether the variant has tasks of these kinds of requests together (`held_out`: of the
    held-out variant only such as train lacks), and what is asked for its price is spoken of in no
    other request: an amount said of the one would be one of the other.
    """
    # a price is told of a sku, an order's total of the order: only the noun could confuse them
    nouns = [intent.request.noun for intent in intents]
    priced = [intent.request.noun for intent in intents if intent.request.kind == "price_query"]
    train = config.variant == "train"
    fits = not composed(intents) if train else composed(intents) or not held_out

    return fits and all(nouns.count(noun) == 1 for noun in priced)


def _whole(
    others: Sequence[Intent],
    side: Intent,
    subject: Subject,
) -> tuple[Intent, ...]:
    """All requests, with the one that the task is about in its place; where nothing can be done for
    the customer, all are denied.
    """
    number = side.request.number
    # somebody who cannot be verified is denied everything but prices, which are no secret
    denied = subject.known and side.refusals
    every = [side if other.request.number == number else other for other in others]

    return tuple(
        intent.denied(subject.rule, side.refusals[0].evidence or "")
        if denied and intent is not side and intent.request.kind != "price_query"
        else intent
        for intent in every
    )


def _subject(
    draw: Draw,
    at: TaskPlace,
) -> Subject | None:
    """The request that the kind of task asks for; None where the customer has none such."""
    if at.pair is not None or at.kind == "refused":
        return draw_pair(draw, refused=at.kind == "refused")

    return Subject(draw.base) if at.kind == "feasible" else DRAWN[at.kind](draw)


def _injected(draw: Draw) -> dict[str, Scalar]:
    """Now and then an instruction in the customer's file or in the product texts."""
    rng = draw.rng

    if rng.random() >= draw.config.injections:
        return {}

    text = rng.choice(INJECTIONS).text

    if rng.random() < 0.7:
        return {f"notes/N-{draw.base.tickets_of[draw.customer_id][0]}.0/text": text}

    # in several, for nobody knows which product will be looked at
    products = rng.sample(sorted(draw.base.tables["products"]), 5)

    return {f"products/{product_id}/text": text for product_id in products}
