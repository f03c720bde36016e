"""Questions of a customer that a look-up answers: put into words, and answered in the worlds of
other seeds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from random import Random
from typing import Any

from synth.envs.storefront.customer.script import read_script
from synth.envs.storefront.reverse.matters import Matter, Write
from synth.envs.storefront.reverse.refusals import MOST_DRAWS, draws, named
from synth.envs.storefront.reverse.writes import ANSWERS, LOOK_UPS
from synth.envs.storefront.tasks.intents import Draw, Intent
from synth.envs.storefront.tasks.questions import price_query
from synth.envs.storefront.tasks.requests import (
    makers,
)
from synth.envs.storefront.tools.transcript import Exchange, answered, decoded
from synth.envs.storefront.world.config import OF_THE_WORLD, validated
from synth.envs.storefront.world.world import world_of
from synth.schemas.canonical import canonical_json
from synth.schemas.check import ToldFact
from synth.schemas.environment import AgentTurn
from synth.schemas.reverse import NoGoal, Operation
from synth.schemas.task import Task
from synth.schemas.trajectory import ToolCall

OTHER_WORLDS = 2 * 10**15
"""Seeds of the worlds in which a question is asked again: neither template tasks nor explorations
are there.
"""


def question(
    operation: Operation, walk: Sequence[Exchange], draw: Draw, name: str
) -> Intent | NoGoal:
    """The request that a look-up answers; `name` seeds the words."""
    found = [(call, seen) for call, seen in answered(walk[operation.at]) if call.name in LOOK_UPS]
    if len(found) != 1:
        return NoGoal("not_a_question")
    call, seen = found[0]
    made, values = decoded(call.arguments) or {}, decoded(seen.content) or {}
    for drawn in draws(draw, name):
        intent = _asked(call.name, made, drawn)
        if intent is None:
            return NoGoal(f"not_asked:{call.name}")
        if all(_shows(values, _as_told(fact)) for fact in intent.told):
            return intent
    return NoGoal(f"no_words:{call.name}")


def _asked(tool: str, made: Mapping[str, Any], draw: Draw) -> Intent | None:
    """A question that such a call answers, in drawn words; None where no customer of this desk asks
    it.
    """
    base = draw.base
    if tool == "get_variant":
        known = made["sku"] in base.tables["variants"]
        return price_query(draw, sku=made["sku"]) if known else None
    order_id = str(made["order_id"])
    order = base.orders.get(order_id)
    if order is None or order["customer_id"] != draw.customer_id:
        return None
    make = makers(base, order_id, draw.customer_id).get(ANSWERS[tool])
    matter = Matter(order_id, [Write(tool, made)])
    return None if make is None else make(named(draw, matter), order_id)


def _as_told(fact: ToldFact) -> Any:
    """The value as tools show it: amounts in dollars there, in cents in a check."""
    return fact.value / 100 if isinstance(fact.value, int) else fact.value


def _shows(values: Any, wanted: Any) -> bool:
    """Whether the answer of the look-up holds a value."""
    if isinstance(values, dict | list):
        inner = values.values() if isinstance(values, dict) else values
        return any(_shows(value, wanted) for value in inner)
    return bool(values == wanted)


_TOLD_AS = {"money": "refund", "date": "arrival", "status": "parcel_status"}


def answer(told: Sequence[ToldFact]) -> AgentTurn:
    """All that is to be told, as an agent would tell it."""
    said = [{"about": fact.about, _TOLD_AS[fact.type]: _as_told(fact)} for fact in told]
    return AgentTurn(
        tool_calls=tuple(
            ToolCall(f"told_{at}", "tell_customer", canonical_json(arguments).decode())
            for at, arguments in enumerate(said)
        )
    )


def elsewhere(task: Task, seed: int) -> Sequence[ToldFact] | None:
    """What the task's questions would be answered in the world of another seed, each about
    something there that it can be asked about.
    """
    world = validated(task.env_config).model_dump(include=set(OF_THE_WORLD))
    settings = canonical_json({**world, "facts": {}, "world_seed": OTHER_WORLDS + seed}).decode()
    requests = read_script(task.script).requests
    told = [
        _answers(settings, f"{request.kind} {request.former}", place)
        for place, request in enumerate(requests)
    ]
    found = [fact for facts in told if facts is not None for fact in facts]
    return None if not told or None in told else found


@lru_cache(maxsize=4096)
def _answers(settings: str, kind: str, place: int) -> tuple[ToldFact, ...] | None:
    config = validated(decoded(settings) or {})
    rng = Random(f"storefront/elsewhere/{settings}/{kind}/{place}")
    draw = Draw(rng, config, world_of(config), place + 1, "")
    for _ in range(MOST_DRAWS):
        intent = _about_anything(draw, kind.partition(" ")[0])
        if intent is None:
            return None
        if f"{intent.request.kind} {intent.request.former}" == kind:
            return intent.told
    return None


def _about_anything(draw: Draw, kind: str) -> Intent | None:
    """A question of a kind about anything in a world that it can be asked about."""
    if kind == "price_query":
        return price_query(draw)
    orders = draw.base.orders if kind in ANSWERS.values() else {}
    for order_id in draw.rng.sample(sorted(orders), len(orders)):
        owner = orders[order_id]["customer_id"]
        make = makers(draw.base, order_id, owner).get(kind)
        if make is not None:
            return make(replace(draw, customer_id=owner), order_id)
    return None
