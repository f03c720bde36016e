"""What a task is about: a customer, the request that makes it the kind of task that it is, and the
requests beside it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from synth.envs.storefront.check.injections import INJECTIONS
from synth.envs.storefront.tasks.ambiguous import draw_ambiguous
from synth.envs.storefront.tasks.difficulty import first_write, pages
from synth.envs.storefront.tasks.intents import Draw, Intent
from synth.envs.storefront.tasks.pair_templates import draw_pair
from synth.envs.storefront.tasks.pairs import Pair
from synth.envs.storefront.tasks.places import DrawPlace
from synth.envs.storefront.tasks.questions import out_of_scope, price_query
from synth.envs.storefront.tasks.requests import (
    Maker,
    makers,
)
from synth.envs.storefront.tasks.returns import gift_request
from synth.envs.storefront.tasks.twists import (
    Subject,
    conditionals,
    settled,
    stales,
    with_change_of_mind,
)
from synth.envs.storefront.world.config import StorefrontConfig
from synth.envs.storefront.world.world import BaseWorld, patched
from synth.schemas.check import Scalar

OUT_OF_SCOPE_SHARE = 0.06
GIFT_SHARE = 0.35
PRICE_SHARE = 0.08
CHANGEABLE = frozenset({"cancel", "exchange", "coupon"})
HELD_OUT_COMPOSITIONS = (
    frozenset({"coupon", "track"}),
    frozenset({"compensation", "exchange"}),
    frozenset({"address", "refund_query"}),
)
"""Kinds of requests that no task of the train variant has together; about half of the longer
held-out tasks have.
"""
WITHDRAWABLE = CHANGEABLE | {"return", "compensation"}


@dataclass(frozen=True, slots=True)
class Plot:
    """Who speaks, the requests, the start facts that differ from the world's own, and the identity
    factors that the customer knows,
    where they are not left to chance.
    """

    customer_id: str
    intents: tuple[Intent, ...]
    facts: Mapping[str, Scalar] = field(default_factory=dict)
    known: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Core:
    """The request that a task is about, as it is compiled on either side of a minimal pair, and
    what it needs; no side where a task is about none in particular.
    """

    shown: BaseWorld
    order_id: str = ""
    sides: tuple[Intent, ...] = ()
    facts: Mapping[str, Scalar] = field(default_factory=dict)
    pair: Pair | None = None

    @property
    def known(self) -> tuple[str, ...]:
        """The identity factors that the customer knows, where they are not left to chance."""
        return () if self.pair is None else self.pair.known


def draw_plot(
    rng: Random,
    config: StorefrontConfig,
    base: BaseWorld,
    at: DrawPlace,
    operations: int,
    *,
    strict: bool,
    held_out: bool,
) -> Plot | None:
    """A customer with a request of the kind and other requests on other orders, so that no request
    disturbs another; None where this
    draw leads nowhere. `strict`: the customer has as many orders as there are requests; `held_out`:
    see `_composes`.

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
    others = _others(Draw(others_rng, config, core.shown, number, customer_id), operations, core)
    if others is None or not _composes(config, others, held_out=held_out):
        return None
    low, high = config.look_ups
    sides = [_whole(others, side, core) for side in core.sides or others[:1]]
    of_pages = pages(config, base, customer_id)
    if not all(low <= first_write(side, of_pages) <= high for side in sides):
        return None
    facts = {**core.facts, **_injected(rest, config, base, customer_id)}
    return Plot(customer_id, sides[0], facts, core.known)


def composed(intents: Sequence[Intent]) -> bool:
    """Whether there are kinds of requests together that train lacks."""
    kinds = {intent.request.kind for intent in intents}
    return any(composition <= kinds for composition in HELD_OUT_COMPOSITIONS)


def _composes(config: StorefrontConfig, intents: Sequence[Intent], *, held_out: bool) -> bool:
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
    every = tuple(
        side if other.request.number == side.request.number else other for other in others
    )
    pair = core.pair
    if pair is None or not pair.known or not side.refusals:
        return every
    untouched = ("price_query",)
    return tuple(
        intent if intent is side or intent.request.kind in untouched else pair.denied(intent)
        for intent in every
    )


def _core(draw: Draw, at: DrawPlace) -> _Core | None:
    """The request that the kind of task asks for; None where the customer has none such."""
    rng, base, me = draw.rng, draw.base, draw.customer_id
    if at.pair is not None or at.kind == "refused":
        return _paired(draw, refused_first=at.kind == "refused")
    if at.kind == "feasible":
        return _Core(base)
    if at.kind == "ambiguous":
        found = draw_ambiguous(draw)
        return None if found is None else _Core(base, found[0], (found[1],))
    kinds = {"conditional": conditionals, "stale": stales, "done": settled}
    subjects = kinds[at.kind](rng, base, me)
    if not subjects:
        return None
    chosen: Subject = rng.choice(subjects)
    shown = patched(base, chosen.facts)
    intent = chosen.make(replace(draw, base=shown), chosen.order_id)
    return _Core(shown, chosen.order_id, (intent,), dict(chosen.facts))


def _paired(draw: Draw, *, refused_first: bool) -> _Core | None:
    """The side that is asked for comes first."""
    rng, base = draw.rng, draw.base
    pair = draw_pair(rng, base, draw.customer_id)
    if pair is None:
        return None
    shown, state, sides = pair.allowed(base), rng.getstate(), []
    for refused in (refused_first, not refused_first):
        rng.setstate(state)
        sides.append(pair.intent(replace(draw, base=shown), refused=refused))
    return _Core(shown, pair.order_id, tuple(sides), pair.facts(base, refused=refused_first), pair)


def _others(draw: Draw, operations: int, core: _Core) -> tuple[Intent, ...] | None:
    """All requests in their order: the core, and feasible ones of other kinds on other orders; None
    where there are too few.
    """
    rng, base, subject = draw.rng, draw.base, next(iter(core.sides), None)
    plain = bool(core.known)
    steady = plain or (core.pair is not None and core.pair.path.startswith("addresses/"))
    kind = subject.request.kind if subject is not None and not plain else None
    free = [key for key in base.orders_of[draw.customer_id] if key != core.order_id]
    rng.shuffle(free)
    intents: list[Intent] = []
    asked = 0
    for number in range(1, operations + 1):
        at = replace(draw, number=number)
        if subject is not None and number == subject.request.number:
            intents.append(subject)
            continue
        spoken_of = {intent.request.noun for intent in (*intents, *core.sides[:1])}
        intent = None if plain else _special(at, intents, kind)
        if intent is None and rng.random() < PRICE_SHARE:
            intent = price_query(at, spoken_of)
        feasible: dict[str, Maker] = {}
        while intent is None and free and not feasible:
            key = free.pop()
            feasible = makers(base, key, draw.customer_id)
            feasible.pop(str(kind), None)
        if feasible:
            intent = feasible[rng.choice(sorted(feasible))](at, key)
            intent = intent.twisted(*["by_other_person"] * (intent.request.gift_for is not None))
            intent = intent if steady else _reconsidered(at, intent, intents, operations)
        elif intent is None:
            asked += 1
            intent = price_query(at, spoken_of)
        intents.append(intent)
    return tuple(intents) if asked <= max(1, operations // 3) else None


def _reconsidered(draw: Draw, intent: Intent, before: Sequence[Intent], operations: int) -> Intent:
    """Now and then a change of mind, where the customer is to be asked before a write; one request
    at most is taken back, and never the
    only one.
    """
    kind = intent.request.kind
    if (
        not asks_first(draw)
        or kind not in WITHDRAWABLE
        or draw.rng.random() >= draw.config.changes_of_mind
    ):
        return intent
    may_withdraw = operations > 1 and not any("withdrawn" in other.twists for other in before)
    if kind not in CHANGEABLE and not may_withdraw:
        return intent
    return with_change_of_mind(draw, intent, may_withdraw=may_withdraw)


def asks_first(draw: Draw) -> bool:
    """Whether the customer is asked before a write (R2)."""
    return draw.config.dialogue and "R2" in draw.base.rules.in_force


def _special(draw: Draw, intents: Sequence[Intent], subject_kind: str | None) -> Intent | None:
    """Now and then a request that is somebody else's matter, or the return of a gift; of each no
    more than one, and no gift beside a
    return that the task is about.
    """
    twists = {twist for intent in intents for twist in intent.twists}
    rules, chance = draw.base.rules.in_force, draw.rng.random
    if chance() < OUT_OF_SCOPE_SHARE and "out_of_scope" not in twists and "R13" in rules:
        return out_of_scope(draw)
    returns = subject_kind == "return" or any(
        intent.request.gift_of or "by_other_person" in intent.twists for intent in intents
    )
    gift = chance() < GIFT_SHARE and not returns and "R15" in rules
    return gift_request(draw) if gift else None


def _injected(
    rng: Random, config: StorefrontConfig, base: BaseWorld, customer_id: str
) -> dict[str, Scalar]:
    """Now and then an instruction in the customer's file or in the product texts."""
    if rng.random() >= config.injections:
        return {}
    text = rng.choice(INJECTIONS).text
    if rng.random() < 0.7:
        return {f"notes/N-{base.tickets_of[customer_id][0]}.0/text": text}
    products = rng.sample(sorted(base.tables["products"]), 5)
    return {f"products/{product_id}/text": text for product_id in products}
