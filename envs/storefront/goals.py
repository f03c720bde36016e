"""Tasks without limit: a customer of a seeded world with one to six requests, solvable by construction."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import msgspec

from envs.storefront.config import StorefrontConfig, validated
from envs.storefront.intents import Draw, Intent, makers, price_query, refusal_maker
from envs.storefront.script import Script
from envs.storefront.world import BaseWorld, base_world
from schemas.check import Check
from schemas.task import Origin, Task

_SHARE_OF_COUNTS: Mapping[int, float] = {1: 0.24, 2: 0.25, 3: 0.22, 4: 0.14, 5: 0.09, 6: 0.06}
"""About half of the tasks have three requests or more."""
ALWAYS_FREE = ("conversation/*/*", "denials/*/*", "notes/*/*", "returns/*/*")
"""Slips of a return are free: what is returned, and how, stands in the lines, however many slips it took."""
WORLD_STRIDE = 1_000_003


def make_tasks(settings: Mapping[str, Any], seed: int, count: int) -> Sequence[Task]:
    """`count` tasks; the same ones for the same settings and seed, and a longer list starts with the shorter one.

    Raises `ConfigError` for settings that the storefront refuses.
    """
    config = validated(settings)
    return tuple(_make_task(config, seed, index) for index in range(count))


def _make_task(config: StorefrontConfig, seed: int, index: int) -> Task:
    world_seed = config.world_seed
    if world_seed is None:
        world_seed = seed * WORLD_STRIDE + index // config.tasks_per_world
    base = base_world(world_seed, config.customers, config.orders)
    rng = Random(f"storefront/task/{seed}/{index}")
    low, high = config.operations
    counts = range(low, high + 1)
    operations = rng.choices(counts, [_SHARE_OF_COUNTS[n] for n in counts])[0]
    refused = rng.random() < config.refusal_share
    customer_id, intents = _draw_intents(rng, config, base, operations, refused)
    customer = base.tables["customers"][customer_id]
    slots = {name: customer[name] for name in ("email", "phone", "zip")}
    if rng.random() < 0.25:
        del slots[rng.choice(("email", "phone"))]
    greets_with_email = "email" in slots and rng.random() < 0.3
    script = Script(
        name=customer["name"],
        slots=slots,
        requests=tuple(intent.request for intent in intents),
        details={str(intent.request.number): intent.details for intent in intents if intent.details},
    )
    refusals = tuple(refusal for intent in intents for refusal in intent.refusals)
    check = Check(
        required=tuple(predicate for intent in intents for predicate in intent.required),
        free=ALWAYS_FREE + tuple(dict.fromkeys(path for intent in intents for path in intent.free)),
        told=tuple(fact for intent in intents for fact in intent.told),
        refusals=refusals,
    )
    return Task.identified(
        env="storefront",
        env_config={"world_seed": world_seed, "customers": config.customers, "orders": config.orders},
        seed=seed,
        goal=_opening_words(customer["name"], slots["email"] if greets_with_email else None, intents),
        origin=Origin.TEMPLATE,
        check=check,
        script=msgspec.to_builtins(script),
        difficulty={
            "operations": len(intents),
            "kinds": [intent.request.kind for intent in intents],
            "by_description": sum(1 for request in script.requests if request.kind != "price_query" and request.order_id is None),
            "ambiguous": sum(1 for intent in intents if intent.candidates > 1),
            "refusal": refusals[0].rule if refusals else None,
        },
    )


def _draw_intents(rng: Random, config: StorefrontConfig, base: BaseWorld, operations: int, refused: bool) -> tuple[str, list[Intent]]:
    """A customer with enough orders and that many requests on different orders, so that no request disturbs another."""
    customer_ids = sorted(base.orders_of)
    rng.shuffle(customer_ids)
    customer_ids.sort(key=lambda customer_id: len(base.orders_of[customer_id]) < operations)
    for customer_id in customer_ids:
        order_ids = list(base.orders_of[customer_id])
        rng.shuffle(order_ids)
        refusable = [order_id for order_id in order_ids if refusal_maker(base, order_id) is not None]
        if refused and not refusable:
            continue
        refused_order = _refused_order(rng, base, refusable) if refused else None
        usable = [order_id for order_id in order_ids if order_id != refused_order and makers(base, order_id)]
        chosen = usable[: operations - (1 if refused else 0)]
        if rng.random() < 0.25 and len(chosen) > 1:
            chosen = chosen[:-1]
        places: list[str | None] = [*chosen, *([refused_order] if refused else [])]
        places += [None] * (operations - len(places))
        if places.count(None) > max(1, operations // 3):
            continue
        rng.shuffle(places)
        draws = [Draw(rng, config, base, number) for number in range(1, operations + 1)]
        return customer_id, [_draw_intent(draw, order_id, order_id == refused_order) for draw, order_id in zip(draws, places, strict=True)]
    return customer_ids[0], [price_query(Draw(rng, config, base, number)) for number in range(1, operations + 1)]


def _refused_order(rng: Random, base: BaseWorld, refusable: Sequence[str]) -> str:
    """Returns are refused more often than cancellations, which more orders would allow."""
    delivered = [order_id for order_id in refusable if base.tables["orders"][order_id]["status"] == "delivered"]
    return rng.choice(delivered if delivered and rng.random() < 0.7 else refusable)


def _draw_intent(draw: Draw, order_id: str | None, refused: bool) -> Intent:
    if order_id is None:
        return price_query(draw)
    refusal = refusal_maker(draw.base, order_id) if refused else None
    if refusal is not None:
        return refusal(draw, order_id)
    feasible = makers(draw.base, order_id)
    return feasible[draw.rng.choice(sorted(feasible))](draw, order_id)


def _opening_words(name: str, email: str | None, intents: Sequence[Intent]) -> str:
    email_words = f" My email is {email}." if email is not None else ""
    count = "one request" if len(intents) == 1 else f"{len(intents)} requests"
    lines = [f"{intent.request.number}. {intent.request.text}" for intent in intents]
    return f"Hello, this is {name}.{email_words} I have {count}:\n" + "\n".join(lines)
