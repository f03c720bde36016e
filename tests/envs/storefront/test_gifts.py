"""Gifts: whom an order was placed for, and what somebody was given, stand in the lists of the two,
a surprise only in the giver's.
"""

from typing import Any

import msgspec

from synth.envs.storefront.self_play import at_once
from synth.envs.storefront.world.world import base_world
from tests.envs.storefront.playing import call, opened

BASE = base_world(0, 32, 122)
GIFTS = {key: row for key, row in BASE.tables["orders"].items() if row["recipient_id"] is not None}


def listed(customer_id: str, **arguments: Any) -> dict[str, Any]:
    async def look() -> str:
        env = opened()
        await env.reset(None)
        return (
            (await env.step(call("list_orders", customer_id=customer_id, **arguments)))
            .observations[0]
            .content
        )

    return msgspec.json.decode(at_once(look()), type=dict[str, Any])


def name(customer_id: str) -> str:
    return str(BASE.tables["customers"][customer_id]["name"])


def test_a_gift_is_for_somebody_else_and_not_for_another_account_of_the_giver() -> None:
    assert len(GIFTS) >= 8
    assert all(name(row["customer_id"]) != name(row["recipient_id"]) for row in GIFTS.values())


def test_the_giver_s_list_says_for_whom_an_order_was_placed() -> None:
    for order_id, row in GIFTS.items():
        pages = [
            listed(row["customer_id"], page=page)
            for page in range(1, listed(row["customer_id"])["pages"] + 1)
        ]
        mine = {
            order["order_id"]: order.get("gift_for") for page in pages for order in page["orders"]
        }
        assert mine[order_id] == name(row["recipient_id"])


def test_the_recipient_s_list_holds_what_was_delivered_and_no_surprise() -> None:
    for order_id, row in GIFTS.items():
        received = {
            gift["order_id"]: gift["from"] for gift in listed(row["recipient_id"])["gifts_received"]
        }
        assert received.get(order_id) == (
            name(row["customer_id"]) if row["status"] == "delivered" else None
        )
        assert listed(row["recipient_id"], status="pending")["gifts_received"] == []
