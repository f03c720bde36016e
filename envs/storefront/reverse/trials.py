"""What the tests of a derived task need from the storefront: which worlds to explore, who must
fail, what must fail and what must pass, and what would be answered elsewhere.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from random import Random
from typing import Any

from synth.envs.storefront.audit.bots import BOTS as EVERY
from synth.envs.storefront.customer.script import KINDS, read_script
from synth.envs.storefront.tasks.intents import Draw, Intent
from synth.envs.storefront.tasks.side_requests import price_query
from synth.envs.storefront.tasks.wording import worded
from synth.envs.storefront.tools.transcript import decoded
from synth.envs.storefront.world.config import OF_THE_WORLD, validated
from synth.envs.storefront.world.world import world_of
from synth.schemas import Episode, Policy, Task, Tell, canonical_json

FIRST_WORLD = 10**15
"""Explorations take place in worlds of their own: those of template tasks have small seeds."""
OTHER_WORLDS = 2 * 10**15
"""Seeds of the worlds in which a question is asked again: neither template tasks nor explorations
are there.
"""
MOST_DRAWS = 100
"""A question that one draw in four makes is missed in one of 10^12 cases."""
FAILING = ("shotgun_talker", "look_up_then_stop", "write_all")
BOTS: Mapping[str, Callable[[Episode], Policy]] = {name: EVERY[name] for name in FAILING}
"""Bots that solve no task, whatever it asks for."""


def exploring(
    settings: Mapping[str, Any],
    seed: int,
) -> dict[str, Any]:
    """The settings of the world in which the exploration of a seed takes place; one that the
    settings name is kept.
    """
    given = validated(settings).world_seed

    return {**settings, "world_seed": FIRST_WORLD + seed if given is None else given}


def elsewhere(
    task: Task,
    seed: int,
) -> Sequence[Tell] | None:
    """What the task's questions would be answered in the world of another seed, each about
    something there that it can be asked about.
    """
    # without the task's facts: another world has other rows
    world = validated(task.env_config).model_dump(include=set(OF_THE_WORLD))
    settings = canonical_json({**world, "facts": {}, "world_seed": OTHER_WORLDS + seed}).decode()
    told: list[Tell] = []

    for place, request in enumerate(read_script(task.script).requests):
        answered = _answered(
            settings,
            request.kind,
            place,
            former=request.former,
        )

        if answered is None:
            return None

        told += answered

    return told or None


@lru_cache(maxsize=4096)
def _answered(
    settings: str,
    kind: str,
    place: int,
    *,
    former: bool,
) -> tuple[Tell, ...] | None:
    """The answer to a question of a kind about anything in the world of these settings."""
    config = validated(decoded(settings) or {})
    rng = Random(f"storefront/elsewhere/{settings}/{kind}/{place}")
    # nobody in particular asks: each draw takes the owner of an order
    draw = Draw(rng, config, world_of(config), place + 1, "")

    for _ in range(MOST_DRAWS if "answers" in KINDS[kind] else 0):
        intent = price_query(draw) if kind == "price_query" else _about_an_order(draw, kind)

        if intent is not None and intent.request.former is former:
            return intent.told

    return None


def _about_an_order(
    draw: Draw,
    kind: str,
) -> Intent | None:
    """A question about an order in the world; None where that one cannot be asked about."""
    order_id = draw.rng.choice(sorted(draw.base.tables["orders"]))
    at = replace(draw, customer_id=draw.base.row("orders", order_id)["customer_id"])
    calls = at.feasible(order_id).get(kind)

    return worded(at, draw.rng.choice(calls)) if calls else None
