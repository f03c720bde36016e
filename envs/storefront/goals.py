"""Tasks without limit: drawn from a seed, compiled to the customer's script and a gold check."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import msgspec

from envs.storefront.config import OF_THE_WORLD, StorefrontConfig, validated
from envs.storefront.difficulty import first_write, recorded
from envs.storefront.intents import Draw, Intent, Maker
from envs.storefront.pairs import draw_pair, pair_intent
from envs.storefront.places import Place, place
from envs.storefront.process import PROCESS
from envs.storefront.questions import gift_request, makers, out_of_scope, price_query
from envs.storefront.referents import Referent, candidates, described, is_ambiguous
from envs.storefront.script import Script
from envs.storefront.self_play import expert_turns
from envs.storefront.shop_events import ShopEvent
from envs.storefront.speech import opening_words, stated
from envs.storefront.twists import Subject, conditionals, settled, stales, with_change_of_mind
from envs.storefront.wordings import INJECTIONS
from envs.storefront.world import BaseWorld, base_world, patched
from schemas.check import Check, RowPredicate, Scalar
from schemas.task import Origin, Task

_SHARE_OF_COUNTS: Mapping[int, float] = {1: 0.24, 2: 0.25, 3: 0.22, 4: 0.14, 5: 0.09, 6: 0.06}
"""About half of the tasks have three requests or more."""
ALWAYS_FREE = ("conversation/*/*", "denials/*/*", "notes/*/*", "returns/*/*")
"""Slips of a return are free: what is returned, and how, stands in the lines, however many slips it took."""
WORLD_STRIDE = 1_000_003
MOST_TRIES = 60
OUT_OF_SCOPE_SHARE = 0.06
GIFT_SHARE = 0.1
PRICE_SHARE = 0.08
FIRST_KEPT = 0.4


@dataclass(frozen=True, slots=True)
class Plot:
    """What a task is made of: who speaks, the requests, and the start facts that differ from the world's own."""

    customer_id: str
    intents: tuple[Intent, ...]
    facts: Mapping[str, Scalar]


def make_tasks(settings: Mapping[str, Any], seed: int, count: int) -> Sequence[Task]:
    """`count` tasks; the same ones for the same settings and seed, and a longer list starts with the shorter one.

    Raises `ConfigError` for settings that the storefront refuses.
    """
    config = validated(settings)
    return tuple(_make_task(config, seed, index) for index in range(count))


def _make_task(config: StorefrontConfig, seed: int, index: int) -> Task:
    at = place(config.mix, seed, index)
    world_seed = config.world_seed
    if world_seed is None:
        world_seed = seed * WORLD_STRIDE + (index - index % 2) // config.tasks_per_world
    base = base_world(world_seed, config.customers, config.orders, config.variant, config.rules_in_force, config.enforced_share)
    draw_of = f"storefront/task/{seed}/pair/{at.pair}" if at.pair is not None else f"storefront/task/{seed}/{index}"
    counts = range(config.operations[0], config.operations[1] + 1)
    operations = Random(draw_of).choices(counts, [_SHARE_OF_COUNTS[n] for n in counts])[0]
    for attempt in range(MOST_TRIES):
        rng = Random(f"{draw_of}/{attempt}")
        plot = _plot(rng, config, base, at, operations, strict=attempt < MOST_TRIES // 2)
        if plot is not None:
            break
    else:
        rng = Random(draw_of)
        customer_id, at = min(base.orders_of), Place("feasible")
        plot = Plot(customer_id, (price_query(Draw(rng, config, base, 1, customer_id)),), {})
    return _compiled(rng, config, base, at, plot, seed, world_seed)


def _plot(rng: Random, config: StorefrontConfig, base: BaseWorld, at: Place, operations: int, *, strict: bool) -> Plot | None:
    """A customer with a request of the kind and other requests on other orders, so that no request disturbs another; None where this
    draw leads nowhere. `strict`: the customer has as many orders as there are requests."""
    customer_id = rng.choice(sorted(base.orders_of))
    if strict and len(base.orders_of[customer_id]) < operations:
        return None
    number = rng.randrange(1, operations + 1)
    subject_rng, others_rng = Random(rng.random()), Random(rng.random())
    subject: Intent | None = None
    order_id: str | None = None
    facts: dict[str, Scalar] = {}
    shown = base
    if at.pair is not None or at.kind == "refused":
        pair = draw_pair(subject_rng, base, customer_id)
        if pair is None:
            return None
        allowing = pair.facts(base, refused=False)
        shown = patched(base, tuple(sorted(allowing.items()))) if allowing else base
        facts = pair.facts(base, refused=at.kind == "refused")
        draw = Draw(subject_rng, config, shown, number, customer_id)
        order_id, subject = pair.order_id, pair_intent(draw, pair, refused=at.kind == "refused")
    elif at.kind == "ambiguous":
        found = _ambiguous(Draw(subject_rng, config, base, number, customer_id, ambiguous=True))
        if found is None:
            return None
        order_id, subject = found
    elif at.kind in ("conditional", "stale", "done"):
        source = {"conditional": conditionals, "stale": stales, "done": settled}[at.kind]
        subjects = source(subject_rng, base, customer_id)
        if not subjects:
            return None
        chosen: Subject = subject_rng.choice(subjects)
        facts = dict(chosen.facts)
        shown = patched(base, chosen.facts) if facts else base
        order_id, subject = chosen.order_id, chosen.make(Draw(subject_rng, config, shown, number, customer_id))
    intents = _others(others_rng, config, shown, customer_id, operations, number, order_id, subject)
    if intents is None or not config.look_ups[0] <= first_write(intents) <= config.look_ups[1]:
        return None
    return Plot(customer_id, intents, {**facts, **_injected(rng, config, base, customer_id)})


def _ambiguous(draw: Draw) -> tuple[str, Intent] | None:
    """A feasible request whose words fit several of the customer's orders."""
    order_ids = [key for key in draw.base.orders_of[draw.customer_id] if draw.base.tables["orders"][key]["recipient_id"] is None]
    draw.rng.shuffle(order_ids)
    for order_id in order_ids:
        kinds = makers(draw.base, order_id, draw.customer_id)
        if kinds and is_ambiguous(draw.base, draw.config, order_id, draw.base.lines_of[order_id]):
            intent = kinds[draw.rng.choice(sorted(kinds))](draw, order_id)
            if intent.referent is not None and intent.referent.candidates > 1 and _is_hidden(draw, intent.referent):
                return order_id, replace(intent, twists=(*intent.twists, "ambiguous"))
    return None


def _is_hidden(draw: Draw, referent: Referent) -> bool:
    """Whether the one that is meant may stay among those that fit: taking the first of k must be right no more than one time in k."""
    fitting = candidates(draw.base, draw.customer_id, described(draw.base, referent.line_key))
    return fitting[0] != referent.order_id or draw.rng.random() < FIRST_KEPT


def _others(
    rng: Random,
    config: StorefrontConfig,
    base: BaseWorld,
    customer_id: str,
    operations: int,
    place_of_subject: int,
    order_id: str | None,
    subject: Intent | None,
) -> tuple[Intent, ...] | None:
    """All requests in their order: the subject, and feasible ones of other kinds on other orders; None where there are too few."""
    kind = subject.request.kind if subject is not None else None
    free = [key for key in base.orders_of[customer_id] if key != order_id and base.tables["orders"][key]["recipient_id"] is None]
    rng.shuffle(free)
    intents: list[Intent] = []
    asked = 0
    for number in range(1, operations + 1):
        draw = Draw(rng, config, base, number, customer_id)
        if subject is not None and number == place_of_subject:
            intents.append(subject)
            continue
        special = _special(draw, intents, kind)
        if special is not None:
            intents.append(special)
            continue
        feasible: dict[str, Maker] = {}
        if rng.random() < PRICE_SHARE:
            intents.append(price_query(draw))
            continue
        while free and not feasible:
            key = free.pop()
            feasible = {name: make for name, make in makers(base, key, customer_id).items() if name != kind or subject is None}
        if feasible:
            chosen = rng.choice(sorted(feasible))
            intent = feasible[chosen](draw, key)
            changes = config.dialogue and chosen in ("cancel", "exchange", "coupon") and rng.random() < config.changes_of_mind
            intents.append(with_change_of_mind(draw, intent) if changes else intent)
        else:
            asked += 1
            intents.append(price_query(draw))
    return tuple(intents) if asked <= max(1, operations // 3) else None


def _special(draw: Draw, intents: Sequence[Intent], subject_kind: str | None) -> Intent | None:
    """Now and then a request that is somebody else's matter, or the return of a gift; of each no more than one, and no gift beside a
    return that the task is about."""
    twists = {twist for intent in intents for twist in intent.twists}
    if draw.rng.random() < OUT_OF_SCOPE_SHARE and "out_of_scope" not in twists and "R13" in draw.base.rules.in_force:
        return out_of_scope(draw)
    returns = subject_kind == "return" or "by_other_person" in twists
    if draw.rng.random() < GIFT_SHARE and not returns and "R15" in draw.base.rules.in_force:
        return gift_request(draw)
    return None


def _injected(rng: Random, config: StorefrontConfig, base: BaseWorld, customer_id: str) -> dict[str, Scalar]:
    """Now and then an instruction in the customer's file or in the product texts."""
    if rng.random() >= config.injections or "R14" not in base.rules.in_force:
        return {}
    text = rng.choice(INJECTIONS)
    if rng.random() < 0.7:
        return {f"notes/N-{base.tickets_of[customer_id][0]}.0/text": text}
    return {f"products/{product_id}/text": text for product_id in rng.sample(sorted(base.tables["products"]), 5)}


def _noise(rng: Random, config: StorefrontConfig, base: BaseWorld, at: Place, plot: Plot) -> list[ShopEvent]:
    """Events about orders of others, beside the ones that concern the customer."""
    low, high = config.stale_events
    own = sum(len(intent.events) for intent in plot.intents)
    count = max(0, rng.randint(low, high) - own) if at.kind == "stale" else 0
    others = [k for k, o in sorted(base.tables["orders"].items()) if o["status"] == "processing" and o["customer_id"] != plot.customer_id]
    return [ShopEvent(rng.randrange(2, 9), "orders", key, {"status": "shipped"}) for key in rng.sample(others, min(count, len(others)))]


def _compiled(rng: Random, config: StorefrontConfig, base: BaseWorld, at: Place, plot: Plot, seed: int, world_seed: int) -> Task:
    customer = base.tables["customers"][plot.customer_id]
    slots = {name: customer[name] for name in ("email", "phone", "zip")}
    if rng.random() < config.reticence:
        del slots[rng.choice(("email", "phone"))]
    greets_with_email = "email" in slots and rng.random() < 0.3
    intents = plot.intents if config.dialogue else tuple(stated(intent) for intent in plot.intents)
    noise = _noise(rng, config, base, at, plot)
    script = Script(
        name=customer["name"],
        slots=slots,
        requests=tuple(intent.request for intent in intents),
        details={str(intent.request.number): intent.details for intent in intents if intent.details},
        revisions=tuple(revision for intent in intents for revision in intent.revisions),
        events=(*(event for intent in intents for event in intent.events), *noise),
        pressure=1 + (rng.randint(1, 2) if rng.random() < config.pressure else 0),
    )
    happened = tuple(RowPredicate(event.table, {"id": event.key, **event.values}) for event in noise)
    check = Check(
        required=(*(predicate for intent in intents for predicate in intent.required), *happened),
        free=ALWAYS_FREE + tuple(dict.fromkeys(path for intent in intents for path in intent.free)),
        told=tuple(fact for intent in intents for fact in intent.told),
        refusals=tuple(refusal for intent in intents for refusal in intent.refusals),
        process=tuple(rule for rule in PROCESS if rule in {*base.rules.in_force, "look_up"} and (config.dialogue or rule != "R2")),
    )
    world = {**config.model_dump(include=set(OF_THE_WORLD)), "world_seed": world_seed}
    facts = dict(sorted(plot.facts.items()))
    task = Task.identified(
        env="storefront",
        env_config={**world, "facts": facts} if facts else world,
        seed=seed,
        goal=opening_words(customer["name"], slots, intents, email=greets_with_email, everything=not config.dialogue),
        origin=Origin.TEMPLATE,
        check=check,
        script=msgspec.to_builtins(script),
        split=config.variant,
        difficulty=recorded(config, base, at, plot.customer_id, intents, script, facts),
    )
    return task if config.budget_slack is None else _with_patience(task, config.budget_slack)


def _with_patience(task: Task, slack: float) -> Task:
    """The task with a customer who leaves after `slack` times as many turns as the expert takes."""
    expert = expert_turns(task)
    turns = -(-int(expert * slack * 100) // 100)
    fields = {name: getattr(task, name) for name in ("env", "env_config", "seed", "goal", "origin", "check", "split")}
    difficulty = {**task.difficulty, "budget_slack": slack, "budget_turns": turns, "expert_turns": expert}
    return Task.identified(**fields, script={**task.script, "patience": turns}, difficulty=difficulty)
