"""Stretches of an exploration that make no task: the policy was broken, half a thing was done,
nobody asks for it, or it is held out.
"""

from typing import Any

import pytest

from synth.envs.storefront.self_play import at_once
from synth.envs.storefront.world.config import validated
from synth.envs.storefront.world.policy import STORE_CREDIT, days_since
from synth.envs.storefront.world.world import world_of
from synth.schemas.reverse import Draft, NoGoal
from tests.envs.storefront.exploring import Deed, Desk, found, one, then
from tests.envs.storefront.playing import call

LAX = {"enforced_share": 0.0}
"""Worlds in which no tool holds a rule."""


def order_of(desk: Desk, **columns: Any) -> str:
    """The first order of the customer with these values."""
    base = world_of(validated(desk.settings))
    mine = base.orders_of[
        next(
            iter(
                base.customers_by["email"][
                    desk.opening.observations[0].content.rsplit(" ", 1)[-1][:-1]
                ]
            )
        )
    ]  # type: ignore[union-attr]
    orders = base.tables["orders"]
    return next(
        (key for key in mine if all(orders[key][name] == value for name, value in columns.items())),
        "",
    )


def breach(rule: str) -> Deed:
    """Something that no tool of a lax world refuses, though the policy does."""

    async def act(desk: Desk) -> bool:
        base = world_of(validated(desk.settings))
        limit, window = base.rules.refund_limit_cents, max(base.rules.window_days.values())
        read = listed(desk)
        for order_id in [
            key
            for key, row in base.tables["orders"].items()
            if row["recipient_id"] is None and key in read
        ]:
            order, lines = (
                base.tables["orders"][order_id],
                [base.tables["lines"][key] for key in base.lines_of[order_id]],
            )
            categories = {
                base.tables["products"][base.tables["variants"][line["sku"]]["product_id"]][
                    "category"
                ]
                for line in lines
            }
            final, numbers = (
                bool(categories & set(base.rules.final_sale)),
                [line["line"] for line in lines],
            )
            late = (
                order["delivered"] is not None
                and days_since(order["delivered"], base.today) > window
            )
            back = call("create_return", order_id=order_id, lines=numbers, method="mail")
            refund = call(
                "issue_refund",
                order_id=order_id,
                amount=order["total_cents"] / 100,
                to=order["payment_id"],
            )
            cases = {
                "R3": order["status"] == "shipped"
                and [call("cancel_order", order_id=order_id, reason="changed_mind")],
                "R4": late and not final and [back, refund],
                "R6": order["delivered"]
                and not late
                and not final
                and order["total_cents"] > limit
                and [back, refund],
                "R8": order["status"] == "delivered" and not late and final and [back, refund],
                "R12": order["status"] == "delivered"
                and [call("issue_refund", order_id=order_id, amount=1, to=STORE_CREDIT)],
            }
            if cases[rule] and order["status"] != "returned":
                await desk.agree(*cases[rule])
                await desk.act(*cases[rule])
                return all(
                    operation.denied is None and operation.changed for operation in desk.operations
                )
        return False

    return act


def listed(desk: Desk) -> set[str]:
    """The orders that the explorer read."""
    return {
        c.parsed()["order_id"]
        for turn in desk.walk
        for c in turn.tool_calls
        if c.name == "get_order"
    }


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["R3", "R4", "R6", "R8", "R12"])
def test_what_the_written_policy_forbids_and_no_tool_does_is_no_task(rule: str) -> None:
    async def try_out() -> Draft | NoGoal:
        return await (await found(breach(rule), LAX)).drafted()

    assert at_once(try_out()) == NoGoal(f"policy_breach:{rule}")


def test_a_write_for_somebody_who_was_not_verified_is_no_task() -> None:
    async def try_out() -> Draft | NoGoal:
        desk = await Desk({"world_seed": 1}).open()
        await desk.act(
            call("cancel_order", order_id=order_of(desk, status="pending"), reason="other")
        )
        return await desk.drafted()

    assert at_once(try_out()) == NoGoal("policy_breach:R1")


def test_a_write_without_a_yes_is_no_task() -> None:
    async def try_out() -> Draft | NoGoal:
        desk = await Desk({"world_seed": 1}).open()
        while not any(
            c.name == "confirm_with_customer"
            for turn in await desk.env.affordances()
            for c in turn.tool_calls
        ):
            await desk.look((await desk.env.affordances())[0])
        await desk.act(
            call("cancel_order", order_id=order_of(desk, status="pending"), reason="changed_mind")
        )
        return await desk.drafted()

    assert at_once(try_out()) == NoGoal("policy_breach:R2")


def test_half_a_thing_is_no_task() -> None:
    async def try_out() -> Draft | NoGoal:
        return await (await found(one("create_return"), {})).drafted()

    assert at_once(try_out()) == NoGoal("half_a_return")


def test_a_note_on_the_ticket_of_somebody_else_is_no_task() -> None:
    async def try_out() -> Draft | NoGoal:
        desk = await found(one("add_note"), {})
        own = desk.operations[0].turn.tool_calls[0].parsed()["ticket_id"]
        other = await Desk(desk.settings).prepare()
        await other.act(
            call(
                "add_note",
                ticket_id="T-10000" if own != "T-10000" else "T-10001",
                text="Call back.",
            )
        )
        return await other.drafted()

    reason = at_once(try_out())
    assert isinstance(reason, NoGoal)
    assert reason.reason in ("note_on_another_ticket", "policy_breach:R1")


def test_neither_an_order_moved_and_then_cancelled_nor_an_unreported_fraud_makes_a_goal() -> None:
    async def try_out() -> list[Draft | NoGoal]:
        desk = await found(one("change_address"), {})
        order_id = desk.operations[0].turn.tool_calls[0].parsed()["order_id"]
        cancel = call("cancel_order", order_id=order_id, reason="changed_mind")
        await (await desk.agree(cancel)).act(cancel)
        other = await Desk({"world_seed": 2}).prepare()
        await other.act(call("escalate", reason_code="suspected_fraud", summary="Odd."))
        return [await desk.drafted(), await other.drafted()]

    assert at_once(try_out()) == [NoGoal("order_written_twice"), NoGoal("escalated_without_need")]


def test_requests_that_only_held_out_tasks_have_together_are_no_task_of_the_train_variant() -> None:
    async def try_out(variant: str) -> Draft | NoGoal:
        return await (
            await found(
                then(one("modify_lines"), one("issue_refund")), {"variant": variant}, range(60)
            )
        ).drafted()

    assert at_once(try_out("train")) == NoGoal("held_out_composition")
    assert isinstance(at_once(try_out("held_out")), Draft)
