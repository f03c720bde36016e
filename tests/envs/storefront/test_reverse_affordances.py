"""What an explorer without a task is offered: ids that it has seen, writes of every kind, and what
a tool refuses by one rule.
"""

import re
from collections import Counter
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synth.envs.storefront import WORLD
from synth.envs.storefront.expert.affordances import MOST
from synth.envs.storefront.reverse.write_goal import LOOK_UPS
from synth.envs.storefront.self_play import at_once
from synth.envs.storefront.tools.schemas import WRITES
from synth.envs.storefront.tools.transcript import REFUSED
from synth.envs.storefront.world.config import validated
from synth.envs.storefront.world.world import world_of
from synth.schemas.environment import AgentTurn
from tests.envs.storefront.exploring import Desk
from tests.envs.storefront.playing import call

IDENTIFIER = re.compile(r"\b(?:C|O|A|V|PM|T)-\d+\b")


def texts(desk: Desk) -> str:
    """Everything that was observed."""
    assert desk.opening is not None
    seen = [*desk.opening.observations, *(seen for turn in desk.walk for seen in turn.observations)]
    return "\n".join(observation.content for observation in seen)


@pytest.mark.slow
@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(st.integers(0, 500), st.integers(0, 500))
def test_every_id_that_is_offered_was_observed_and_the_offer_is_the_same_when_asked_again(
    world: int, seed: int
) -> None:
    async def walk() -> None:
        rng, desk = Random(seed), await Desk({"world_seed": world}).open()
        for _ in range(16):
            offered = list(await desk.env.affordances())
            assert offered == list(await desk.env.affordances())
            assert len(offered) <= MOST
            seen = texts(desk)
            ids = {
                found
                for turn in offered
                for call in turn.tool_calls
                for found in IDENTIFIER.findall(call.arguments)
            }
            assert ids <= set(IDENTIFIER.findall(seen))
            if not offered:
                break
            await desk.look(rng.choice(offered))

    at_once(walk())


@pytest.mark.slow
@pytest.mark.parametrize("enforced", [0.0, 0.47, 0.66])
def test_what_is_offered_is_done_or_refused_by_a_rule(enforced: float) -> None:
    async def tried(world: int) -> list[str]:
        desk = await Desk({"world_seed": world, "enforced_share": enforced}).prepare()
        parked = await desk.env.snapshot()
        answers = []
        for turn in await desk.env.affordances():
            observed = (await desk.env.step(turn)).observations[0]
            answers.append(
                "done"
                if not observed.error
                else "refused"
                if REFUSED.match(observed.content)
                else observed.content
            )
            await desk.env.restore(parked)
        return answers

    answers = Counter(answer for world in range(8) for answer in at_once(tried(world)))
    assert answers.keys() == ({"done", "refused"} if enforced else {"done"})


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(st.integers(0, 10_000))
def test_asking_what_could_be_done_never_fails_whatever_was_done_before_with_whosever_orders(
    seed: int,
) -> None:
    async def walk() -> None:
        rng = Random(seed)
        desk = await Desk(
            {"world_seed": seed % 7, "enforced_share": rng.choice((0.0, 0.47))}
        ).open()
        tables = world_of(validated(desk.settings)).tables
        for _ in range(30):
            order_id, address_id, customer_id, code = (
                rng.choice(sorted(tables[name]))
                for name in ("orders", "addresses", "customers", "coupons")
            )
            deeds = [
                call("get_order", order_id=order_id),
                call("list_orders", customer_id=customer_id),
                call(
                    "create_return",
                    order_id=order_id,
                    lines=rng.choice(([1], [2, 1])),
                    method="mail",
                ),
                call("change_address", order_id=order_id, address_id=address_id),
                call("cancel_order", order_id=order_id, reason="other"),
                call("apply_coupon", order_id=order_id, code=code),
            ]
            await desk.look(rng.choice(deeds))
            for turn in rng.sample(
                offered := list(await desk.env.affordances()), min(len(offered), 1)
            ):
                await desk.look(turn)

    at_once(walk())


def test_every_writing_tool_and_every_look_up_that_answers_is_offered_in_a_few_worlds() -> None:
    async def tools(world: int) -> set[str]:
        desk = await Desk({"world_seed": world}).prepare()
        turns: list[AgentTurn] = list(await desk.env.affordances())
        return {call.name for turn in turns for call in turn.tool_calls}

    assert set.union(*(at_once(tools(world)) for world in range(3))) == WRITES | LOOK_UPS


def test_a_return_that_was_opened_is_refunded_before_anything_else() -> None:
    async def after_a_return() -> set[str]:
        for world in range(20):
            desk = await Desk({"world_seed": world}).prepare()
            for turn in await desk.offered("create_return"):
                if not (await desk.look(turn)).observations[0].error:
                    return {
                        call.name
                        for turn in await desk.env.affordances()
                        for call in turn.tool_calls
                    }
        raise AssertionError("no return in any world")

    assert at_once(after_a_return()) in ({"issue_refund"}, {"escalate"})


def test_explorers_of_different_worlds_meet_customers_with_orders_of_every_status() -> None:
    async def statuses(world: int) -> tuple[set[str], int]:
        desk = await Desk({"world_seed": world}).prepare()
        base = world_of(validated(desk.settings))
        read = {
            call.parsed()["order_id"]
            for turn in desk.walk
            for call in turn.tool_calls
            if call.name == "get_order"
        }
        return {base.tables["orders"][order_id]["status"] for order_id in read}, len(read)

    met = [at_once(statuses(world)) for world in range(10)]
    assert set.union(*(found for found, _ in met)) >= {
        "pending",
        "processing",
        "shipped",
        "delivered",
    }
    assert min(count for _, count in met) >= 4


def test_a_world_that_explores_offers_what_tasks_are_offered_where_there_is_a_task() -> None:
    async def offered() -> set[str]:
        env = WORLD.open({})
        await env.reset(WORLD.make_tasks({}, 1, 1)[0])
        return {call.name for turn in await env.affordances() for call in turn.tool_calls}

    assert at_once(offered()) == {"ask_customer", "reply", "get_policy", "finish"}
