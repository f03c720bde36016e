"""The base world: who lives in it, what they own, and that each world exists once however many
episodes are open in it.
"""

import gc
from collections import Counter

import pytest

from synth.envs.storefront import WORLD
from synth.envs.storefront.env import StorefrontEnv
from synth.envs.storefront.world.config import validated
from synth.envs.storefront.world.customers import LARGEST_FAMILY, SMALLEST_FAMILY
from synth.envs.storefront.world.world import BaseWorld, base_world, world_of

SIZES = [(30, 80), (32, 122), (47, 150), (60, 200)]


def worlds(customers: int, orders: int) -> list[BaseWorld]:
    return [base_world(seed, customers, orders) for seed in range(8)]


@pytest.mark.parametrize(("customers", "orders"), SIZES)
def test_two_to_four_customers_share_a_surname_and_one_person_in_ten_has_two_accounts(
    customers: int, orders: int
) -> None:
    for world in worlds(customers, orders):
        names = [row["name"] for row in world.tables["customers"].values()]
        assert len(names) == customers
        assert {SMALLEST_FAMILY, LARGEST_FAMILY} == {2, 4}
        assert set(Counter(name.split()[1] for name in names).values()) <= {2, 3, 4}
        accounts = Counter(names)
        assert set(accounts.values()) <= {1, 2}
        assert 0.08 <= sum(count == 2 for count in accounts.values()) / len(accounts) <= 0.12


def test_addresses_cards_and_items_are_such_that_words_for_them_fit_up_to_four() -> None:
    cities, cards, nouns = Counter[int](), Counter[int](), Counter[int]()
    for world in worlds(32, 122):
        tables = world.tables
        for customer_id in tables["customers"]:
            cities.update(
                Counter(
                    tables["addresses"][key]["city"] for key in world.addresses_of[customer_id]
                ).values()
            )
            cards.update(
                [
                    sum(
                        tables["payments"][key]["kind"] == "card"
                        for key in world.payments_of[customer_id]
                    )
                ]
            )
            streets = [
                tables["addresses"][key]["street"] for key in world.addresses_of[customer_id]
            ]
            assert len(set(streets)) == len(streets)
        for lines in world.lines_of.values():
            products = [
                tables["variants"][tables["lines"][key]["sku"]]["product_id"] for key in lines
            ]
            nouns.update(Counter(products).values())
    assert set(cities) == set(cards) == set(nouns) == {1, 2, 3, 4}


def test_orders_of_every_status_and_products_with_a_price_history_occur() -> None:
    every = worlds(32, 122)
    statuses = {row["status"] for world in every for row in world.tables["orders"].values()}
    assert statuses == {"pending", "processing", "shipped", "delivered", "cancelled", "returned"}
    variants = [row for world in every for row in world.tables["variants"].values()]
    assert sum(row["former_price_cents"] != row["price_cents"] for row in variants) > 0
    assert {row["size"] for row in variants} >= {"S", "M", "L", "one"}
    assert {row["tier"] for world in every for row in world.tables["customers"].values()} == {
        "bronze",
        "silver",
        "gold",
    }
    assert {row["kind"] for world in every for row in world.tables["payments"].values()} == {
        "card",
        "gift_balance",
    }


def test_a_returned_order_has_its_slip_and_its_refund() -> None:
    for world in worlds(32, 122):
        returned = {
            key for key, row in world.tables["orders"].items() if row["status"] == "returned"
        }
        assert {row["order_id"] for row in world.tables["returns"].values()} == returned
        assert {
            row["order_id"]: row["amount_cents"] for row in world.tables["refunds"].values()
        } == {key: world.tables["orders"][key]["refunded_cents"] for key in returned}


@pytest.mark.slow
def test_episodes_of_one_task_share_one_world_even_when_many_others_were_opened_in_between() -> (
    None
):
    tasks = WORLD.make_tasks({"tasks_per_world": 1}, 131, 50)
    first = [world_of(validated(task.env_config)) for task in tasks]
    again = [world_of(validated(task.env_config)) for task in tasks]
    assert all(one is other for one, other in zip(first, again, strict=True))


@pytest.mark.slow
def test_worlds_in_which_nobody_plays_are_let_go() -> None:
    def alive() -> int:
        gc.collect()
        return sum(isinstance(thing, BaseWorld) for thing in gc.get_objects())

    envs = [StorefrontEnv(validated({"world_seed": 900_000 + at})) for at in range(60)]
    assert len({id(env._shop.state.base) for env in envs}) == 60
    many = alive()
    envs.clear()
    assert alive() <= many - 25
