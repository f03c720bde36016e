"""The base world of one seed: immutable rows shared by every episode that plays in it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import lru_cache
from hashlib import blake2b
from random import Random
from weakref import WeakValueDictionary

from synth.envs.storefront.world.catalogue import CATEGORIES, Row, Rows, draw_catalogue
from synth.envs.storefront.world.orders import draw_orders
from synth.envs.storefront.world.people import draw_people
from synth.envs.storefront.world.rules import Rules, draw_rules
from synth.schemas.canonical import canonical_json
from synth.schemas.check import Scalar
from synth.schemas.errors import ConfigError

KEY_MODULUS = 1 << 128
UNKEYED_TABLES = frozenset({"notes"})
UNKEYED_COLUMNS = frozenset({"summary", "created"})
GROWING_TABLES = ("returns", "refunds", "notes", "escalations", "denials")
SESSION = ("conversation", "session")

Index = Mapping[str, tuple[str, ...]]


def row_hash(table: str, key: str, row: Row) -> int:
    """128-bit hash of a row's logical content; verbatim notes and times do not enter."""
    if table in UNKEYED_TABLES:
        return 0
    kept = {column: value for column, value in row.items() if column not in UNKEYED_COLUMNS}
    return int.from_bytes(
        blake2b(canonical_json([table, key, kept]), digest_size=16).digest(), "big"
    )


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class BaseWorld:
    """All rows at the start, indices over what no tool changes, and the sum of the rows' hashes.
    `name` is what it was drawn from.
    """

    name: tuple[object, ...]
    seed: int
    today: str
    rules: Rules
    tables: Mapping[str, Mapping[str, Row]]
    customers_by: Mapping[str, Index]
    orders_of: Index
    gifts_of: Index
    lines_of: Index
    addresses_of: Index
    payments_of: Index
    variants_of: Index
    shipment_of: Index
    tickets_of: Index
    key_sum: int


def _index(rows: Mapping[str, Row], column: str) -> Index:
    index: dict[str, tuple[str, ...]] = {}
    for key in sorted(rows):
        value = str(rows[key][column])
        index[value] = (*index.get(value, ()), key)
    return index


_ALIVE: WeakValueDictionary[tuple[object, ...], BaseWorld] = WeakValueDictionary()
"""Every world that an episode plays in, by name: however many are open, and whatever the caches
below have let go, each exists once.
"""


@lru_cache(maxsize=32)
def base_world(
    seed: int,
    customers: int,
    orders: int,
    variant: str = "train",
    in_force: int = 15,
    enforced_share: float = 0.47,
) -> BaseWorld:
    """The world of a seed; the same one every time, shared by the episodes that play in it."""
    name = (seed, customers, orders, variant, in_force, enforced_share)
    world = _ALIVE.get(name)
    if world is None:
        world = _ALIVE[name] = _drawn(
            name, seed, customers, orders, variant, in_force, enforced_share
        )
    return world


def _drawn(
    name: tuple[object, ...],
    seed: int,
    customers: int,
    orders: int,
    variant: str,
    in_force: int,
    enforced_share: float,
) -> BaseWorld:
    rng = Random(f"storefront/{seed}/{customers}/{orders}")
    today = date(2026, 1, 5) + timedelta(days=rng.randrange(0, 330))
    rules = draw_rules(rng, CATEGORIES, variant, in_force, enforced_share)
    products, variants, coupons = draw_catalogue(rng)
    people = draw_people(rng, customers)
    sales = draw_orders(rng, people, variants, coupons, rules, today, orders)
    tables: dict[str, Rows] = {
        "products": products,
        "variants": variants,
        "coupons": coupons,
        **people,
        **sales,
    }
    tables.update({table: {} for table in GROWING_TABLES if table not in tables})
    tables[SESSION[0]] = {SESSION[1]: {"confirmed": False, "ended": False}}
    key_sum = (
        sum(
            row_hash(table, key, row) for table, rows in tables.items() for key, row in rows.items()
        )
        % KEY_MODULUS
    )
    return _indexed(name, seed, today.isoformat(), rules, tables, key_sum)


def _indexed(
    name: tuple[object, ...],
    seed: int,
    today: str,
    rules: Rules,
    tables: Mapping[str, Mapping[str, Row]],
    key_sum: int,
) -> BaseWorld:
    orders = tables["orders"]
    by_placed = {
        customer_id: tuple(
            sorted(
                order_ids, key=lambda order_id: (orders[order_id]["placed"], order_id), reverse=True
            )
        )
        for customer_id, order_ids in _index(orders, "customer_id").items()
    }
    return BaseWorld(
        name=name,
        seed=seed,
        today=today,
        rules=rules,
        tables=tables,
        customers_by={
            column: _index(tables["customers"], column) for column in ("email", "phone", "name")
        },
        orders_of=by_placed,
        gifts_of=_index(orders, "recipient_id"),
        lines_of=_index(tables["lines"], "order_id"),
        addresses_of=_index(tables["addresses"], "customer_id"),
        payments_of=_index(tables["payments"], "customer_id"),
        variants_of=_index(tables["variants"], "product_id"),
        shipment_of=_index(tables["shipments"], "order_id"),
        tickets_of=_index(tables["tickets"], "customer_id"),
        key_sum=key_sum,
    )


@lru_cache(maxsize=64)
def patched(base: BaseWorld, facts: tuple[tuple[str, Scalar], ...]) -> BaseWorld:
    """The world with some start facts changed; rows and indices that they do not concern are
    shared.

    Raises `ConfigError` for a path that the world does not have.
    """
    name = (*base.name, facts)
    world = _ALIVE.get(name)
    if world is None:
        world = _ALIVE[name] = _changed(base, name, facts)
    return world


def _changed(
    base: BaseWorld, name: tuple[object, ...], facts: tuple[tuple[str, Scalar], ...]
) -> BaseWorld:
    tables = dict(base.tables)
    key_sum = base.key_sum
    for path, value in facts:
        table, _, rest = path.partition("/")
        key, _, column = rest.partition("/")
        old = tables.get(table, {}).get(key)
        if old is None or column not in old or column in ("customer_id", "order_id", "product_id"):
            raise ConfigError(
                f"env_config.facts: there is no {path} that could differ in the world of seed "
                f"{base.seed}"
            )
        new = {**old, column: value}
        tables[table] = {**tables[table], key: new}
        key_sum += row_hash(table, key, new) - row_hash(table, key, old)
    gifts = (
        _index(tables["orders"], "recipient_id")
        if any(path.endswith("/recipient_id") for path, _ in facts)
        else base.gifts_of
    )
    return replace(base, name=name, tables=tables, gifts_of=gifts, key_sum=key_sum % KEY_MODULUS)
