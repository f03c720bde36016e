"""Questions of a customer that a look-up answers: put into words, and answered in the worlds of
other seeds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from random import Random
from typing import Any

from synth.envs.storefront.customer.script import read_script
from synth.envs.storefront.env import world_of
from synth.envs.storefront.reverse.look_ups import LOOK_UPS
from synth.envs.storefront.reverse.matters import Matter, Write
from synth.envs.storefront.reverse.wishes import MOST_DRAWS, named
from synth.envs.storefront.tasks.intents import Draw, Intent
from synth.envs.storefront.tasks.questions import makers, price_query, refund_query, track
from synth.envs.storefront.tools.transcript import Exchange, answered, decoded
from synth.envs.storefront.world.config import OF_THE_WORLD, StorefrontConfig, validated
from synth.envs.storefront.world.world import BaseWorld
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
    operation: Operation,
    walk: Sequence[Exchange],
    name: str,
    number: int,
    config: StorefrontConfig,
    base: BaseWorld,
    customer_id: str,
) -> Intent | NoGoal:
    """The request of this number that a look-up answers; `name` seeds the words."""
    found = [(call, seen) for call, seen in answered(walk[operation.at]) if call.name in LOOK_UPS]
    if len(found) != 1:
        return NoGoal("not_a_question")
    call, seen = found[0]
    made = decoded(call.arguments) or {}
    values = decoded(seen.content) or {}
    for attempt in range(MOST_DRAWS):
        intent = _asked(
            call.name, made, Draw(Random(f"{name}/{attempt}"), config, base, number, customer_id)
        )
        if intent is None:
            return NoGoal(f"not_asked:{call.name}")
        if all(_shows(values, fact) for fact in intent.told):
            return intent
    return NoGoal(f"no_words:{call.name}")


def _asked(tool: str, made: Mapping[str, Any], draw: Draw) -> Intent | None:
    """A question that such a call answers, in drawn words; None where no customer of this desk asks
    it.
    """
    if tool == "get_variant":
        return (
            price_query(draw, sku=made["sku"])
            if made["sku"] in draw.base.tables["variants"]
            else None
        )
    order_id = str(made["order_id"])
    order = draw.base.tables["orders"].get(order_id)
    make = {"track_shipment": "track", "quote_refund": "refund_query"}[tool]
    if (
        order is None
        or order["customer_id"] != draw.customer_id
        or make not in makers(draw.base, order_id, draw.customer_id)
    ):
        return None
    return (track if make == "track" else refund_query)(
        named(draw, Matter(order_id, writes=[Write(tool, made)])), order_id
    )


def _shows(values: Mapping[str, Any], fact: ToldFact) -> bool:
    """Whether the answer of the look-up holds the fact: amounts in dollars there, in cents here."""
    wanted = (
        fact.value / 100 if fact.type == "money" and isinstance(fact.value, int) else fact.value
    )
    found: list[Any] = [values]
    while found:
        match found.pop():
            case dict() as mapping:
                found += mapping.values()
            case list() as entries:
                found += entries
            case value if value == wanted:
                return True
    return False


def answer(intents: Sequence[Intent]) -> AgentTurn:
    """All that is to be told, as an agent would tell it."""
    facts = [fact for intent in intents for fact in intent.told]
    return AgentTurn(
        tool_calls=tuple(
            ToolCall(f"told_{at}", "tell_customer", canonical_json(_told(fact)).decode())
            for at, fact in enumerate(facts)
        )
    )


_TOLD_AS = {"money": "refund", "date": "arrival", "status": "parcel_status"}


def _told(fact: ToldFact) -> dict[str, Any]:
    value = fact.value / 100 if isinstance(fact.value, int) else fact.value
    return {"about": fact.about, _TOLD_AS[fact.type]: value}


def elsewhere(task: Task, seed: int) -> Sequence[ToldFact] | None:
    """What the task's questions would be answered in the world of another seed, each about
    something there that it can be asked about.
    """
    config = validated(task.env_config)
    requests = read_script(task.script).requests
    settings = canonical_json(
        {
            **config.model_dump(include=set(OF_THE_WORLD)),
            "facts": {},
            "world_seed": OTHER_WORLDS + seed,
        }
    )
    told = [
        _answers(settings.decode(), f"{request.kind} {request.former}", place)
        for place, request in enumerate(requests)
    ]
    if not told or any(facts is None for facts in told):
        return None
    return [fact for facts in told for fact in facts or ()]


@lru_cache(maxsize=4096)
def _answers(settings: str, kind: str, place: int) -> tuple[ToldFact, ...] | None:
    config = validated(decoded(settings) or {})
    base, rng = world_of(config), Random(f"storefront/elsewhere/{settings}/{kind}/{place}")
    for _ in range(MOST_DRAWS):
        intent = _ANY[kind](Draw(rng, config, base, place + 1, "")) if kind in _ANY else None
        if intent is None:
            return None
        if f"{intent.request.kind} {intent.request.former}" == kind:
            return intent.told
    return None


def _about_some_order(kind: str) -> Callable[[Draw], Intent | None]:
    def ask(draw: Draw) -> Intent | None:
        orders = draw.base.tables["orders"]
        for order_id in draw.rng.sample(sorted(orders), len(orders)):
            owner = orders[order_id]["customer_id"]
            make = makers(draw.base, order_id, owner).get(kind)
            if make is not None:
                return make(replace(draw, customer_id=owner), order_id)
        return None

    return ask


_ANY: Mapping[str, Callable[[Draw], Intent | None]] = {
    "track False": _about_some_order("track"),
    "refund_query False": _about_some_order("refund_query"),
    "price_query False": price_query,
    "price_query True": price_query,
}
"""Kinds of questions (and whether it is about a former price): one about anything in a world."""
