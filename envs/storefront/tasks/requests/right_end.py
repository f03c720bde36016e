"""What the right calls make of a world: what a check requires at the end follows from it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from synth.envs.fact_pattern import matches
from synth.envs.storefront.customer.script import Script
from synth.envs.storefront.tools.shop import Elapsed, Shop
from synth.envs.storefront.tools.write import WRITES
from synth.envs.storefront.world.config import StorefrontConfig
from synth.envs.storefront.world.policy import Call
from synth.envs.storefront.world.shop_events import ShopEvent
from synth.envs.storefront.world.state import State
from synth.envs.storefront.world.world import BaseWorld
from synth.schemas.check import RowPredicate, Scalar

ALWAYS_FREE = (
    *(
        "conversation/*/*",
        "denials/*/*",
        "notes/*/*",
        "returns/*/*",
    ),
    *("variants/*/stock", "escalations/*/summary"),
)
"""Slips of a return are free: what is returned, and how, stands in the lines, however many slips it
took.
"""


def after(
    base: BaseWorld,
    calls: Iterable[Call],
    events: Iterable[ShopEvent] = (),
) -> State:
    """The state after events and the writes among the calls."""
    shop = Shop(State(base), Script(), StorefrontConfig(), Elapsed())
    # a tool that holds R15 asks who was verified, and here nobody was
    shop.rules = replace(base.rules, enforced=frozenset())

    # a racing event is faster than any write
    for event in events:
        shop.state.update(event.table, event.key, **event.values)

    for tool, arguments in calls:
        if tool in WRITES:
            WRITES[tool](shop, **arguments)

    return shop.state


def required(state: State, free: Sequence[str]) -> Iterator[RowPredicate]:
    """The rows that differ from the start, in the columns that do and are not free; an old row is
    named by its key, a new one by its content.
    """
    rows: dict[tuple[str, str], dict[str, Scalar]] = {}

    for path, value in state.changed_facts().items():
        table, key, column = path.split("/", 2)

        if not any(matches(pattern, path) for pattern in free):
            rows.setdefault((table, key), {})[column] = value

    for (table, key), where in rows.items():
        # the keys of new rows depend on how an agent got there
        is_old = key in state.base.tables[table]
        yield RowPredicate(table, {"id": key, **where} if is_old else where)
