"""What a task is about: a customer, the request that makes it the kind of task that it is, and the
requests beside it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from synth.envs.storefront.check.injections import INJECTIONS
from synth.envs.storefront.tasks.difficulty import first_write, pages
from synth.envs.storefront.tasks.requests.user_intents import Draw, Intent
from synth.envs.storefront.tasks.scenarios.complications import (
    Drawn,
    draw_conditional,
    draw_settled,
    draw_stale,
)
from synth.envs.storefront.tasks.scenarios.minimal_pairs import draw_pair
from synth.envs.storefront.tasks.scenarios.open_words import draw_ambiguous
from synth.envs.storefront.tasks.scenarios.side_requests import all_requests
from synth.envs.storefront.tasks.task_mix import TaskPlace
from synth.envs.storefront.world.config import StorefrontConfig
from synth.envs.storefront.world.world import BaseWorld, patched
from synth.schemas.check import Scalar

HELD_OUT_COMPOSITIONS = (
    frozenset({"coupon", "track"}),
    frozenset({"compensation", "exchange"}),
    frozenset({"address", "refund_query"}),
)
"""Kinds of requests that no task of the train variant has together; about half of the longer
held-out tasks have.
"""
DRAWN: Mapping[str, Callable[[Draw], Drawn | None]] = {
    "ambiguous": draw_ambiguous,
    "conditional": draw_conditional,
    "stale": draw_stale,
    "done": draw_settled,
}
"""Kind of task -> the request that it is about; feasible tasks are about none in particular."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """Who speaks, the requests, the start facts that differ from the world's own, and the identity
    factors that the customer knows, where they are not left to chance.
    """

    customer_id: str
    intents: tuple[Intent, ...]
    facts: Mapping[str, Scalar]
    known: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Core:
    """The request that a task is about, as it is compiled on either side of a minimal pair, the
    world in which the others are drawn, and the task's own start facts.
    """

    shown: BaseWorld
    sides: tuple[Intent, ...] = ()
    facts: Mapping[str, Scalar] = field(default_factory=dict)
    rule: str = ""
    known: tuple[str, ...] = ()
    steady: bool = False


def draw_scenario(
    rng: Random,
    config: StorefrontConfig,
    base: BaseWorld,
    at: TaskPlace,
    operations: int,
    *,
    strict: bool,
    held_out: bool,
) -> Scenario | None:
    """A customer with a request of the kind and other requests on other orders, so that no request
    disturbs another; None where this draw leads nowhere.

    `strict`: the customer has as many orders as there are requests; `held_out`: see `_composes`.
    The task and its twin, where it has one, are drawn alike and both have to have the look-ups that
    were asked for.
    """
    customer_id = rng.choice(sorted(base.orders_of))

    if strict and len(base.orders_of[customer_id]) < operations:
        return None

    number = rng.randrange(1, operations + 1)
    subject_rng, others_rng, rest = (Random(rng.random()) for _ in range(3))
    core = _core(Draw(subject_rng, config, base, number, customer_id), at)

    if core is None:
        return None

    others = all_requests(
        Draw(others_rng, config, core.shown, number, customer_id),
        operations,
        next(iter(core.sides), None),
        plain=bool(core.known),
        steady=core.steady or bool(core.known),
    )

    if others is None or not _composes(config, others, held_out=held_out):
        return None

    (low, high), of_pages = (
        config.look_ups,
        pages(config, base, customer_id),
    )

    sides = [_whole(others, side, core) for side in core.sides or others[:1]]

    if not all(low <= first_write(side, of_pages) <= high for side in sides):
        return None

    facts = {**core.facts, **_injected(rest, config, base, customer_id)}

    return Scenario(customer_id, sides[0], facts, core.known)


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
    nouns = [intent.request.noun for intent in intents]
    priced = [intent.request.noun for intent in intents if intent.request.kind == "price_query"]
    train = config.variant == "train"
    fits = not composed(intents) if train else composed(intents) or not held_out

    return fits and all(nouns.count(noun) == 1 for noun in priced)


def _whole(others: Sequence[Intent], side: Intent, core: _Core) -> tuple[Intent, ...]:
    """All requests, with the one that the task is about in its place; where nothing can be done for
    the customer, all are denied.
    """
    number = side.request.number
    denied = core.known and side.refusals
    every = [side if other.request.number == number else other for other in others]

    return tuple(
        intent.denied(core.rule, side.refusals[0].evidence or "")
        if denied and intent is not side and intent.request.kind != "price_query"
        else intent
        for intent in every
    )


def _core(draw: Draw, at: TaskPlace) -> _Core | None:
    """The request that the kind of task asks for; None where the customer has none such. Of a pair
    the side that is asked for comes first.
    """
    if at.pair is not None or at.kind == "refused":
        pair = draw_pair(draw)

        if pair is None:
            return None

        refused = at.kind == "refused"
        sides = (pair.denied, pair.done) if refused else (pair.done, pair.denied)
        facts = pair.forbidding if refused else pair.allowing
        # another wish for an address would be one for the very fact in which the two differ
        steady = any(path.startswith("addresses/") for path in (*pair.forbidding, *pair.allowing))

        return _Core(pair.shown, sides, facts, pair.rule, pair.known, steady)

    if at.kind == "feasible":
        return _Core(draw.base)

    found = DRAWN[at.kind](draw)

    if found is None:
        return None

    intent, facts = found

    return _Core(patched(draw.base, tuple(facts.items())), (intent,), facts)


def _injected(
    rng: Random,
    config: StorefrontConfig,
    base: BaseWorld,
    customer_id: str,
) -> dict[str, Scalar]:
    """Now and then an instruction in the customer's file or in the product texts."""
    if rng.random() >= config.injections:
        return {}

    text = rng.choice(INJECTIONS).text

    if rng.random() < 0.7:
        return {f"notes/N-{base.tickets_of[customer_id][0]}.0/text": text}

    products = rng.sample(sorted(base.tables["products"]), 5)

    return {f"products/{product_id}/text": text for product_id in products}
