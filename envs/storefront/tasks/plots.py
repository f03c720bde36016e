"""What a task is about: a customer, the request that makes it the kind of task that it is, and the
requests beside it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from synth.envs.storefront.check.injections import INJECTIONS
from synth.envs.storefront.tasks.ambiguous import draw_ambiguous
from synth.envs.storefront.tasks.intents import Draw, Intent, Maker
from synth.envs.storefront.tasks.look_ups import first_write
from synth.envs.storefront.tasks.pair_templates import draw_pair
from synth.envs.storefront.tasks.pairs import Pair, forbidden, pair_intent
from synth.envs.storefront.tasks.places import Place
from synth.envs.storefront.tasks.questions import gift_request, makers, out_of_scope, price_query
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
    what it needs.
    """

    order_id: str
    sides: tuple[Intent, ...]
    shown: BaseWorld
    facts: Mapping[str, Scalar]
    pair: Pair | None = None


def draw_plot(
    rng: Random,
    config: StorefrontConfig,
    base: BaseWorld,
    at: Place,
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
    subject_rng, others_rng, rest = Random(rng.random()), Random(rng.random()), Random(rng.random())
    core: _Core | None = None
    if at.kind != "feasible" or at.pair is not None:
        core = _core(subject_rng, config, base, at, number, customer_id)
        if core is None:
            return None
    shown = core.shown if core is not None else base
    others = _others(others_rng, config, shown, customer_id, operations, number, core)
    if others is None:
        return None
    if not _composes(config, others, held_out=held_out) or not _priced_apart(others):
        return None
    pages = max(1, -(-len(base.orders_of[customer_id]) // config.page_size))
    sides = [others] if core is None else [_whole(others, side, core.pair) for side in core.sides]
    if not all(
        config.look_ups[0] <= first_write(side, pages) <= config.look_ups[1] for side in sides
    ):
        return None
    facts = dict(core.facts) if core is not None else {}
    known = core.pair.known if core is not None and core.pair is not None else ()
    return Plot(
        customer_id, sides[0], {**facts, **_injected(rest, config, base, customer_id)}, known
    )


def _composes(config: StorefrontConfig, intents: Sequence[Intent], *, held_out: bool) -> bool:
    """Whether the variant has tasks of these kinds of requests together; `held_out`: of the
    held-out variant only such as train lacks.
    """
    kinds = {intent.request.kind for intent in intents}
    composed = any(composition <= kinds for composition in HELD_OUT_COMPOSITIONS)
    return not composed if config.variant == "train" else composed or not held_out


def _priced_apart(intents: Sequence[Intent]) -> bool:
    """Whether what is asked for its price is spoken of in no other request: an amount said of the
    one would be one of the other.
    """
    priced = [intent.request.noun for intent in intents if intent.request.kind == "price_query"]
    spoken = [intent.request.noun for intent in intents]
    return all(spoken.count(noun) == 1 for noun in priced)


def _whole(others: Sequence[Intent], side: Intent, pair: Pair | None) -> tuple[Intent, ...]:
    """All requests, with the one that the task is about in its place; where nothing can be done for
    the customer, all are denied.
    """
    every = tuple(
        side if other.request.number == side.request.number else other for other in others
    )
    if pair is None or not pair.known or not side.refusals:
        return every
    return tuple(
        intent
        if intent.request.kind == "price_query" or intent is side
        else forbidden(intent, pair)
        for intent in every
    )


def _core(
    rng: Random, config: StorefrontConfig, base: BaseWorld, at: Place, number: int, customer_id: str
) -> _Core | None:
    if at.pair is not None or at.kind == "refused":
        return _paired(rng, config, base, at, number, customer_id)
    if at.kind == "ambiguous":
        found = draw_ambiguous(Draw(rng, config, base, number, customer_id))
        return None if found is None else _Core(found[0], (found[1],), base, {})
    subjects = {"conditional": conditionals, "stale": stales, "done": settled}[at.kind](
        rng, base, customer_id
    )
    if not subjects:
        return None
    chosen: Subject = rng.choice(subjects)
    shown = patched(base, chosen.facts) if chosen.facts else base
    intent = chosen.make(Draw(rng, config, shown, number, customer_id))
    return _Core(chosen.order_id, (intent,), shown, dict(chosen.facts))


def _paired(
    rng: Random, config: StorefrontConfig, base: BaseWorld, at: Place, number: int, customer_id: str
) -> _Core | None:
    """The side that is asked for comes first."""
    pair = draw_pair(rng, base, customer_id)
    if pair is None:
        return None
    allowing = pair.facts(base, refused=False)
    shown = patched(base, tuple(sorted(allowing.items()))) if allowing else base
    state, refused_first = rng.getstate(), at.kind == "refused"
    sides = []
    for refused in (refused_first, not refused_first):
        rng.setstate(state)
        sides.append(
            pair_intent(Draw(rng, config, shown, number, customer_id), pair, refused=refused)
        )
    return _Core(pair.order_id, tuple(sides), shown, pair.facts(base, refused=refused_first), pair)


def _others(
    rng: Random,
    config: StorefrontConfig,
    base: BaseWorld,
    customer_id: str,
    operations: int,
    place_of_core: int,
    core: _Core | None,
) -> tuple[Intent, ...] | None:
    """All requests in their order: the core, and feasible ones of other kinds on other orders; None
    where there are too few.
    """
    subject = core.sides[0] if core is not None else None
    taken = core.order_id if core is not None else None
    plain = core is not None and core.pair is not None and bool(core.pair.known)
    steady = plain or (
        core is not None and core.pair is not None and core.pair.path.startswith("addresses/")
    )
    kind = subject.request.kind if subject is not None and not plain else None
    free = [key for key in base.orders_of[customer_id] if key != taken]
    rng.shuffle(free)
    intents: list[Intent] = []
    asked = 0
    for number in range(1, operations + 1):
        draw = Draw(rng, config, base, number, customer_id)
        spoken_of = {
            intent.request.noun
            for intent in (*intents, *([subject] if subject is not None else []))
        }
        if subject is not None and number == place_of_core:
            intents.append(subject)
            continue
        special = None if plain else _special(draw, intents, kind)
        if special is not None:
            intents.append(special)
            continue
        feasible: dict[str, Maker] = {}
        if rng.random() < PRICE_SHARE:
            intents.append(price_query(draw, spoken_of))
            continue
        while free and not feasible:
            key = free.pop()
            feasible = {
                name: make for name, make in makers(base, key, customer_id).items() if name != kind
            }
        if feasible:
            intent = _placed_for_another(feasible[rng.choice(sorted(feasible))](draw, key))
            intents.append(intent if steady else _reconsidered(draw, intent, intents, operations))
        else:
            asked += 1
            intents.append(price_query(draw, spoken_of))
    return tuple(intents) if asked <= max(1, operations // 3) else None


def _placed_for_another(intent: Intent) -> Intent:
    return (
        intent
        if intent.request.gift_for is None
        else replace(intent, twists=(*intent.twists, "by_other_person"))
    )


def _reconsidered(draw: Draw, intent: Intent, before: Sequence[Intent], operations: int) -> Intent:
    """Now and then a change of mind, where the customer is to be asked before a write; one request
    at most is taken back, and never the
    only one.
    """
    kind = intent.request.kind
    asks_first = draw.config.dialogue and "R2" in draw.base.rules.in_force
    if (
        not asks_first
        or kind not in WITHDRAWABLE
        or draw.rng.random() >= draw.config.changes_of_mind
    ):
        return intent
    may_withdraw = operations > 1 and not any("withdrawn" in other.twists for other in before)
    if kind not in CHANGEABLE and not may_withdraw:
        return intent
    return with_change_of_mind(draw, intent, may_withdraw=may_withdraw)


def _special(draw: Draw, intents: Sequence[Intent], subject_kind: str | None) -> Intent | None:
    """Now and then a request that is somebody else's matter, or the return of a gift; of each no
    more than one, and no gift beside a
    return that the task is about.
    """
    twists = {twist for intent in intents for twist in intent.twists}
    if (
        draw.rng.random() < OUT_OF_SCOPE_SHARE
        and "out_of_scope" not in twists
        and "R13" in draw.base.rules.in_force
    ):
        return out_of_scope(draw)
    returns = subject_kind == "return" or any(
        intent.request.gift_of or "by_other_person" in intent.twists for intent in intents
    )
    if draw.rng.random() < GIFT_SHARE and not returns and "R15" in draw.base.rules.in_force:
        return gift_request(draw)
    return None


def _injected(
    rng: Random, config: StorefrontConfig, base: BaseWorld, customer_id: str
) -> dict[str, Scalar]:
    """Now and then an instruction in the customer's file or in the product texts."""
    if rng.random() >= config.injections:
        return {}
    text = rng.choice(INJECTIONS).text
    if rng.random() < 0.7:
        return {f"notes/N-{base.tickets_of[customer_id][0]}.0/text": text}
    return {
        f"products/{product_id}/text": text
        for product_id in rng.sample(sorted(base.tables["products"]), 5)
    }
