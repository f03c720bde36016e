"""What happens meanwhile: events on the virtual clock, a search index that lags, errors that
pass.
"""

import re
from typing import Any

import msgspec
import pytest

from synth.envs.storefront import WORLD
from synth.envs.storefront.customer.script import Script, ShopEvent
from synth.envs.storefront.env import StorefrontEnv
from synth.envs.storefront.self_play import at_once
from synth.envs.storefront.tools.shop import Elapsed, Shop
from synth.envs.storefront.tools.transcript import leaves
from synth.envs.storefront.world.config import StorefrontConfig
from synth.envs.storefront.world.state import State
from synth.envs.storefront.world.world import base_world
from synth.schemas.check import Check
from synth.schemas.task import Task
from tests.envs.storefront.playing import call, expert_episode, opened

LOOK = call("get_policy", topic="returns")


async def desk(
    *events: dict[str, Any], **settings: Any
) -> tuple[StorefrontEnv, dict[str, Any], Task]:
    """A storefront with these events; `order` stands for its first pending order, `sku` for an
    article.
    """
    env = opened()
    await env.reset(None)
    facts = dict(await env.facts())
    place = {
        "order": min(
            p.split("/")[1] for p, v in facts.items() if p.startswith("orders/") and v == "pending"
        )
    }
    place["sku"] = facts[f"lines/{place['order']}.1/sku"]
    queue = tuple(ShopEvent(**{**event, "key": place[event["key"]]}) for event in events)
    script = msgspec.to_builtins(Script(slots={}, events=queue))
    config = {"world_seed": 0, "transient_rate": 0, **settings}
    task = Task.identified(
        env="storefront", env_config=config, goal="Hello.", check=Check(), script=script
    )
    await env.reset(task)
    return env, {**facts, **place}, task


SHIPS = {"tick": 3, "table": "orders", "key": "order", "values": {"status": "shipped"}}


def shop(*events: ShopEvent) -> Shop:
    """A shop in which these events are to happen."""
    return Shop(State(base_world(0, 30, 80)), Script(events=events), StorefrontConfig(), Elapsed())


def test_events_happen_in_the_order_of_their_ticks_and_once() -> None:
    order_id, *_ = base_world(0, 30, 80).orders
    late, early = (
        ShopEvent(tick, "orders", order_id, {"status": status})
        for tick, status in ((5, "shipped"), (2, "processing"))
    )
    desk = shop(late, early)
    for _ in range(4):
        desk.tick()
    assert desk.elapsed.happened == [1]
    desk.run_out()
    desk.run_out()
    assert desk.elapsed.happened == [1, 0]
    assert desk.state.row("orders", order_id)["status"] == "shipped"


def test_a_write_is_raced_by_events_about_rows_that_it_names() -> None:
    one, other, *_ = base_world(0, 30, 80).orders
    events = [ShopEvent(50, "orders", key, {}, races=key == other) for key in (one, other)]
    desk = shop(*events)
    desk.race({"x": [one], "y": {"3": other}})
    assert desk.elapsed.happened == [1]
    assert set(leaves({"x": ["a", 1], "y": {"3": "b"}})) == {"a", 1, "b"}


def test_an_event_happens_at_its_tick_before_the_calls_of_that_step() -> None:
    async def play() -> list[str]:
        env, facts, _ = await desk(SHIPS)
        seen = [
            (await env.step(call("get_order", order_id=facts["order"]))).observations[0].content
            for _ in range(3)
        ]
        return [re.findall(r'"status":"(pending|shipped)"', text)[0] for text in seen]

    assert at_once(play()) == ["pending", "pending", "shipped"]


def test_a_racing_event_happens_just_before_the_write_that_names_its_row() -> None:
    async def play() -> tuple[str, str]:
        env, facts, _ = await desk({**SHIPS, "tick": 50, "races": True})
        read = await env.step(call("get_order", order_id=facts["order"]))
        write = await env.step(call("cancel_order", order_id=facts["order"], reason="other"))
        return read.observations[0].content, write.observations[0].content

    read, write = at_once(play())
    assert '"status":"pending"' in read
    assert write.startswith("denied: R3:")


def test_what_is_still_to_come_counts_in_the_check_and_happens_when_the_conversation_ends() -> None:
    async def play() -> tuple[Any, Any, Any]:
        env, facts, _ = await desk(SHIPS)
        path = f"orders/{facts['order']}/status"
        await env.step(LOOK)
        before = (await env.facts())[path], (await env.check()).facts[path]
        await env.step(call("finish", message="Goodbye."))
        return *before, (await env.facts())[path]

    assert at_once(play()) == ("pending", "shipped", "shipped")


@pytest.mark.slow
def test_asking_for_the_verdict_after_every_turn_changes_nothing() -> None:
    async def play(task: Task, ask: bool) -> list[Any]:
        env, seen = opened(), []
        await env.reset(task)
        while True:
            before = await env.facts()
            for _ in range(2 * ask):
                await env.check()
            assert await env.facts() == before
            response = await env.step(await env.expert(None, 3))
            seen.append(response)
            if response.done:
                verdict = await env.check()
                final = await env.facts()
                assert {path: final[path] for path in verdict.facts} == verdict.facts
                return [*seen, verdict, final]

    for task in WORLD.make_tasks(
        {"mix": {"feasible": 0, "refused": 0, "stale": 9}, "stale_events": (2, 2)}, 6, 12
    ):
        assert at_once(play(task, ask=True)) == at_once(play(task, ask=False))


def test_the_search_index_shows_a_write_after_one_tick() -> None:
    desk = shop()
    sku, other, *_ = desk.base.tables["variants"]
    start = desk.state.row("variants", sku)["stock"]
    for tick, stock in ((5, 4), (6, 0)):
        desk.elapsed.ticks = tick
        desk.write_variant(sku, stock=stock)
    seen = []
    for desk.elapsed.ticks in (5, 6, 7, 8):
        seen.append(desk.listed("variants", sku)["stock"])
        assert desk.listed("variants", other) == desk.state.row("variants", other)
    assert seen == [start, start, 4, 0]


def test_a_stale_search_says_in_stock_while_the_live_stock_is_gone_even_after_parking() -> None:
    async def play() -> list[bool]:
        env, facts, _ = await desk(
            {"tick": 2, "table": "variants", "key": "sku", "values": {"stock": 0}}
        )
        product = facts[f"variants/{facts['sku']}/product_id"]
        noun = facts[f"products/{product}/noun"]
        shown = []
        for _ in range(4):
            text = (await env.step(call("search_products", query=noun))).observations[0].content
            listed = re.search(rf'"in_stock":(true|false)[^{{}}]*"sku":"{facts["sku"]}"', text)
            assert listed is not None
            shown.append(listed[1] == "true")
            parked = await env.snapshot()
            env = opened()
            await env.restore(parked)
        return shown

    assert at_once(play()) == [True, True, True, False]


def test_a_transient_error_changes_nothing_and_the_same_call_succeeds_next() -> None:
    async def play() -> None:
        env, facts, _ = await desk(transient_rate=1)
        cancel = call("cancel_order", order_id=facts["order"], reason="other")
        before = (await env.step(LOOK)).state_key
        first, second = await env.step(cancel), await env.step(cancel)
        assert first.observations[0].content.startswith("transient: cancel_order")
        assert first.observations[0].error
        assert first.state_key == before
        assert not second.observations[0].error

    at_once(play())


def test_the_lag_is_declared_in_the_description_of_the_tool() -> None:
    async def play() -> str:
        return next(
            t["function"]["description"]
            for t in (await opened().reset(None)).tools
            if t["function"]["name"] == "search_products"
        )

    assert "lags" in at_once(play())


@pytest.mark.slow
def test_the_shop_overtakes_the_expert_who_then_denies() -> None:
    tasks = [
        t
        for t in WORLD.make_tasks({"mix": {"feasible": 0, "refused": 0, "stale": 9}}, 5, 60)
        if t.difficulty["refusal"]
    ]
    assert tasks
    for task in tasks:
        episode = at_once(expert_episode(task))
        assert any(call.name == "deny" for turn in episode.turns for call in turn.tool_calls)
        assert at_once(episode.env.check()).passed
