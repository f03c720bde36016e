"""The base world of one seed: immutable rows shared by every episode that plays in it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import lru_cache
from hashlib import blake2b
from random import Random
from weakref import WeakValueDictionary

from synth.envs.storefront.world.catalogue import CATEGORIES, Row, Rows, draw_catalogue
from synth.envs.storefront.world.config import StorefrontConfig
from synth.envs.storefront.world.orders import draw_orders
from synth.envs.storefront.world.people import draw_people
from synth.envs.storefront.world.rules import Rules, discounted_cents, draw_rules
from synth.schemas.canonical import canonical_json
from synth.schemas.check import Scalar
from synth.schemas.errors import ConfigError

KEY_MODULUS = 1 << 128
UNKEYED_TABLES = frozenset({"notes"})
UNKEYED_COLUMNS = frozenset({"summary", "created"})
GROWING_TABLES = ("returns", "refunds", "notes", "escalations", "denials")
SESSION = ("conversation", "session")
INDICES = {
    "gifts_of": ("orders", "recipient_id"),
    "lines_of": ("lines", "order_id"),
    "addresses_of": ("addresses", "customer_id"),
    "payments_of": ("payments", "customer_id"),
    "variants_of": ("variants", "product_id"),
    "shipment_of": ("shipments", "order_id"),
    "tickets_of": ("tickets", "customer_id"),
}
"""Over which column of which table each index is."""

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

    @property
    def orders(self) -> Mapping[str, Row]:
        """All orders."""
        return self.tables["orders"]

    @property
    def customers(self) -> Mapping[str, Row]:
        """All customers."""
        return self.tables["customers"]

    @property
    def addresses(self) -> Mapping[str, Row]:
        """All addresses."""
        return self.tables["addresses"]

    def variant(self, line_key: str) -> Row:
        """The variant that a line is of."""
        return self.tables["variants"][self.tables["lines"][line_key]["sku"]]

    def product(self, line_key: str) -> Row:
        """The product that a line is of."""
        return self.tables["products"][self.variant(line_key)["product_id"]]

    def cents(self, order_id: str, line_keys: Iterable[str], percent: int | None = None) -> int:
        """What was paid for lines of an order after its discount, or after another one."""
        lines = [self.tables["lines"][key] for key in line_keys]
        gross_cents = sum(line["unit_price_cents"] * line["quantity"] for line in lines)
        if percent is None:
            percent = self.orders[order_id]["discount_percent"]
        return discounted_cents(gross_cents, percent)


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
    if (found := _ALIVE.get(name)) is not None:
        return found
    rng = Random(f"storefront/{seed}/{customers}/{orders}")
    today = date(2026, 1, 5) + timedelta(days=rng.randrange(0, 330))
    rules = draw_rules(rng, CATEGORIES, variant, in_force, enforced_share)
    products, variants, coupons = draw_catalogue(rng)
    people = draw_people(rng, customers)
    tables: dict[str, Rows] = {
        **{table: {} for table in GROWING_TABLES},
        **{"products": products, "variants": variants, "coupons": coupons},
        **people,
        **draw_orders(rng, people, variants, coupons, rules, today, orders),
        SESSION[0]: {SESSION[1]: {"confirmed": False, "ended": False}},
    }
    hashes = (row_hash(table, key, row) for table in tables for key, row in tables[table].items())
    world = _ALIVE[name] = BaseWorld(
        name=name,
        seed=seed,
        today=today.isoformat(),
        rules=rules,
        tables=tables,
        customers_by={
            column: _index(people["customers"], column) for column in ("email", "phone", "name")
        },
        orders_of=_newest_first(tables["orders"]),
        key_sum=sum(hashes) % KEY_MODULUS,
        **{name: _index(tables[table], column) for name, (table, column) in INDICES.items()},
    )
    return world


def _newest_first(orders: Rows) -> Index:
    return {
        customer_id: tuple(sorted(keys, key=lambda key: (orders[key]["placed"], key), reverse=True))
        for customer_id, keys in _index(orders, "customer_id").items()
    }


@lru_cache(maxsize=64)
def patched(base: BaseWorld, facts: tuple[tuple[str, Scalar], ...]) -> BaseWorld:
    """The world with some start facts changed; rows and indices that they do not concern are
    shared.

    Raises `ConfigError` for a path that the world does not have.
    """
    name = (*base.name, facts)
    if (found := _ALIVE.get(name)) is not None:
        return found
    tables, key_sum = dict(base.tables), base.key_sum
    for path, value in facts:
        table, key, column = [*path.split("/", 2), "", ""][:3]
        old = tables.get(table, {}).get(key)
        if old is None or column not in old or column in ("customer_id", "order_id", "product_id"):
            raise ConfigError(
                f"env_config.facts: there is no {path} that could differ in the world of seed "
                f"{base.seed}"
            )
        new = {**old, column: value}
        tables[table] = {**tables[table], key: new}
        key_sum += row_hash(table, key, new) - row_hash(table, key, old)
    regifted = any(path.endswith("/recipient_id") for path, _ in facts)
    gifts = _index(tables["orders"], "recipient_id") if regifted else base.gifts_of
    world = _ALIVE[name] = replace(
        base, name=name, tables=tables, gifts_of=gifts, key_sum=key_sum % KEY_MODULUS
    )
    return world


def world_of(config: StorefrontConfig, seed: int | None = None) -> BaseWorld:
    """The world at the start that the settings stand for, or the one of a seed without their
    facts.
    """
    base = base_world(
        (config.world_seed or 0) if seed is None else seed,
        config.customers,
        config.orders,
        config.variant,
        config.rules_in_force,
        config.enforced_share,
    )
    facts = tuple(sorted(config.facts.items())) if seed is None else ()
    return patched(base, facts) if facts else base
