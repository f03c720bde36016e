"""The state key: logical, incremental, and back where it was after an undo."""

from dataclasses import replace

import pytest

from synth.envs.storefront.world.state import State
from synth.envs.storefront.world.world import KEY_MODULUS, base_world, row_hash
from synth.schemas.canonical import canonical_json

BASE = base_world(5, 32, 122)
ORDERS = sorted(BASE.tables["orders"])


def key_from_scratch(state: State) -> str:
    """The sum over all rows as they are, worked out without increments."""
    rows = {
        (table, key): row
        for table, of_table in BASE.tables.items()
        for key, row in of_table.items()
    } | state.changed
    return (
        f"{sum(row_hash(table, key, row) for (table, key), row in rows.items()) % KEY_MODULUS:032x}"
    )


def test_the_incremental_key_is_the_key_of_all_rows() -> None:
    state = State(BASE)
    assert state.key() == key_from_scratch(state)
    state.update("orders", ORDERS[0], modified=True)
    state.put("refunds", "RF-1", {"order_id": ORDERS[0], "amount_cents": 5, "to": "store_credit"})
    assert state.key() == key_from_scratch(state)


def test_an_undone_write_gives_the_key_and_the_facts_of_before() -> None:
    state = State(BASE)
    before = state.key()
    address_id = state.row("orders", ORDERS[0])["address_id"]
    state.update("orders", ORDERS[0], address_id="elsewhere")
    assert state.key() != before
    assert state.changed_facts() == {f"orders/{ORDERS[0]}/address_id": "elsewhere"}
    state.update("orders", ORDERS[0], address_id=address_id)
    assert state.key() == before
    assert state.changed == {}


def test_the_order_of_two_writes_does_not_matter() -> None:
    one, other = State(BASE), State(BASE)
    for state, order_ids in ((one, ORDERS[:2]), (other, ORDERS[1::-1])):
        for order_id in order_ids:
            state.update("orders", order_id, modified=True)
    assert one.key() == other.key() != State(BASE).key()


def test_notes_and_times_do_not_make_a_state_new() -> None:
    state = State(BASE)
    before = state.key()
    state.put(
        "notes", "N-1", {"ticket_id": "T-10000", "text": "hello", "created": "2026-01-01T09:01"}
    )
    assert state.key() == before
    assert state.facts()["notes/N-1/text"] == "hello"
    row = {"order_id": ORDERS[0], "lines": "1", "method": "mail", "created": "2026-01-01T09:01"}
    state.put("returns", "RT-1", row)
    at_one_time = state.key()
    state.put("returns", "RT-1", {**row, "created": "2026-01-01T09:02"})
    assert state.key() == at_one_time != before


def test_episodes_do_not_see_the_writes_of_others() -> None:
    state = State(BASE)
    state.update("orders", ORDERS[0], status="lost")
    assert State(BASE).row("orders", ORDERS[0])["status"] != "lost"
    assert replace(BASE).key_sum == BASE.key_sum


@pytest.mark.parametrize(("customers", "orders"), [(30, 80), (32, 122), (60, 200)])
def test_a_world_serialises_to_less_than_a_hundred_kilobytes(customers: int, orders: int) -> None:
    """Each table as one line of column names and its rows."""
    for seed in range(6):
        tables = base_world(seed, customers, orders).tables
        packed = {name: [sorted(next(iter(rows.values()), {}))] for name, rows in tables.items()}
        for name, rows in tables.items():
            packed[name] += [
                [key, *(row.get(column) for column in packed[name][0])] for key, row in rows.items()
            ]
        assert len(canonical_json(packed)) < 100_000
