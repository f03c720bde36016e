"""Half of the rules are enforced by tools; the other half can be broken."""

from typing import Any

from synth.envs.storefront import WORLD
from synth.envs.storefront.env import StorefrontEnv
from synth.envs.storefront.self_play import at_once
from synth.schemas.trajectory import Observation
from tests.envs.storefront.playing import call, opened


async def desk() -> tuple[StorefrontEnv, dict[str, Any]]:
    env = opened()
    await env.reset(None)
    return env, dict(await env.facts())


def orders(facts: dict[str, Any], **columns: Any) -> list[str]:
    """Ids of the orders with these column values."""
    ids = {path.split("/")[1] for path in facts if path.startswith("orders/")}
    return sorted(
        key
        for key in ids
        if all(facts[f"orders/{key}/{column}"] == value for column, value in columns.items())
    )


async def first(env: StorefrontEnv, name: str, /, **arguments: Any) -> Observation:
    return (await env.step(call(name, **arguments))).observations[0]


def test_r3_a_shipped_order_is_not_cancelled_and_a_pending_one_is() -> None:
    async def play() -> None:
        env, facts = await desk()
        before = (await env.step(call("get_policy", topic="returns"))).state_key
        shipped, pending = orders(facts, status="shipped")[0], orders(facts, status="pending")[0]
        denied = await env.step(call("cancel_order", order_id=shipped, reason="other"))
        assert denied.observations[0].content.startswith("denied: R3:")
        assert denied.observations[0].error
        assert denied.state_key == before
        assert not (await first(env, "cancel_order", order_id=pending, reason="other")).error
        assert (await env.facts())[f"orders/{pending}/status"] == "cancelled"
        assert (
            await first(env, "cancel_order", order_id=pending, reason="other")
        ).content.startswith("conflict:")

    at_once(play())


def test_r7_lines_are_modified_once() -> None:
    async def play() -> None:
        env, facts = await desk()
        order_id = orders(facts, status="pending", modified=False)[0]
        sku = facts[f"lines/{order_id}.1/sku"]
        product = facts[f"variants/{sku}/product_id"]
        others = sorted(
            p.split("/")[1]
            for p, v in facts.items()
            if p.endswith("/product_id") and v == product and sku not in p
        )
        stock = facts[f"variants/{others[0]}/stock"]
        quantity = facts[f"lines/{order_id}.1/quantity"]
        assert not (
            await first(env, "modify_lines", order_id=order_id, lines={"1": others[0]})
        ).error
        assert (await env.facts())[f"variants/{others[0]}/stock"] == stock - quantity
        again = await first(env, "modify_lines", order_id=order_id, lines={"1": others[1]})
        assert again.content.startswith("denied: R7:")

    at_once(play())


def test_r5_a_refund_goes_to_the_original_method_or_to_credit_and_never_exceeds_what_was_paid() -> (
    None
):
    async def play() -> None:
        env, facts = await desk()
        order_id = orders(facts, status="delivered", recipient_id=None)[0]
        other = next(
            p.split("/")[1]
            for p in facts
            if p.startswith("payments/") and facts[f"orders/{order_id}/payment_id"] not in p
        )
        total = facts[f"orders/{order_id}/total_cents"] / 100
        original = facts[f"orders/{order_id}/payment_id"]
        assert (
            await first(env, "issue_refund", order_id=order_id, amount=1, to=original)
        ).content.startswith("conflict:")
        assert not (
            await first(env, "create_return", order_id=order_id, lines=[1], method="mail")
        ).error
        assert (
            await first(env, "issue_refund", order_id=order_id, amount=1, to=other)
        ).content.startswith("denied: R5:")
        assert (
            await first(
                env, "issue_refund", order_id=order_id, amount=total + 0.01, to="store_credit"
            )
        ).content.startswith("conflict:")
        assert (
            await first(env, "issue_refund", order_id=order_id, amount=1.005, to="store_credit")
        ).content.startswith("validation:")
        assert not (
            await first(env, "issue_refund", order_id=order_id, amount=total, to="store_credit")
        ).error
        customer_id = facts[f"orders/{order_id}/customer_id"]
        credit = f"customers/{customer_id}/credit_cents"
        assert (await env.facts())[credit] == facts[credit] + facts[
            f"orders/{order_id}/total_cents"
        ]

    at_once(play())


def test_r11_an_address_changes_before_shipping_and_only_to_one_on_file() -> None:
    async def play() -> None:
        env, facts = await desk()
        pending, shipped = orders(facts, status="pending")[0], orders(facts, status="shipped")[0]
        owner = facts[f"orders/{pending}/customer_id"]
        owned = {
            p.split("/")[1]: v == owner
            for p, v in facts.items()
            if p.startswith("addresses/") and p.endswith("/customer_id")
        }
        foreign = next(key for key, mine in owned.items() if not mine)
        current = facts[f"orders/{pending}/address_id"]
        mine = next(key for key, is_mine in owned.items() if is_mine and key != current)
        assert (
            await first(env, "change_address", order_id=pending, address_id=foreign)
        ).content.startswith("denied: R11:")
        assert (
            await first(env, "change_address", order_id=shipped, address_id=mine)
        ).content.startswith("denied: R11:")
        start = (await env.step(call("get_policy", topic="returns"))).state_key
        moved = (
            await env.step(call("change_address", order_id=pending, address_id=mine))
        ).state_key
        back = (
            await env.step(call("change_address", order_id=pending, address_id=current))
        ).state_key
        assert moved != start == back

    at_once(play())


def test_r4_and_r8_and_r1_stand_only_in_the_policy_so_that_they_can_be_broken() -> None:
    async def play() -> None:
        env, facts = await desk()
        opening = await env.reset(None)
        assert all(
            f"{rule}: " in (opening.system_prompt or "") for rule in ("R1", "R2", "R4", "R6", "R8")
        )
        oldest = min(
            orders(facts, status="delivered"), key=lambda key: facts[f"orders/{key}/delivered"]
        )
        assert not (
            await first(env, "create_return", order_id=oldest, lines=[1], method="mail")
        ).error

    at_once(play())


def test_errors_are_of_five_kinds_and_each_says_its_own() -> None:
    async def play() -> dict[str, str]:
        env, facts = await desk()
        unlucky = WORLD.open({"transient_rate": 1})
        await unlucky.reset(None)
        pending, shipped, delivered = (
            orders(facts, status=status)[0] for status in ("pending", "shipped", "delivered")
        )
        answers = {
            "validation": await first(env, "cancel_order", order_id=pending, reason="whim"),
            "not_found": await first(env, "get_order", order_id="O-1"),
            "denied": await first(env, "cancel_order", order_id=shipped, reason="other"),
            "conflict": await first(
                env, "create_return", order_id=pending, lines=[1], method="mail"
            ),
            "transient": (await unlucky.step(call("get_order", order_id=delivered))).observations[
                0
            ],
        }
        assert all(seen.error for seen in answers.values())
        return {kind: seen.content for kind, seen in answers.items()}

    for kind, text in at_once(play()).items():
        assert text.startswith(f"{kind}: "), text
        assert len(text.split()) > 3
        assert "\n" not in text
