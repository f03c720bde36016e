"""The base world of one seed: immutable rows shared by every episode that plays in it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cached_property, lru_cache
from hashlib import blake2b
from random import Random
from weakref import WeakValueDictionary

from synth.envs.storefront.world.catalogue import CATEGORIES, Row, Rows, draw_catalogue
from synth.envs.storefront.world.config import StorefrontConfig
from synth.envs.storefront.world.customers import draw_customers
from synth.envs.storefront.world.orders import draw_orders
from synth.envs.storefront.world.policy import Rules, draw_rules
from synth.envs.storefront.world.views import Lazily, Shown, file_shown, order_shown, product_shown
from synth.schemas import ConfigError, Scalar, canonical_json

KEY_MODULUS = 1 << 128
UNKEYED_TABLES = frozenset({"notes"})
UNKEYED_COLUMNS = frozenset({"summary", "created"})
GROWING_TABLES = ("returns", "refunds", "notes", "escalations", "denials")
SESSION = ("conversation", "session")
INDICES = {
    "orders_of": ("orders", "customer_id"),
    "gifts_of": ("orders", "recipient_id"),
    "lines_of": ("lines", "order_id"),
    "addresses_of": ("addresses", "customer_id"),
    "payments_of": ("payments", "customer_id"),
    "variants_of": ("variants", "product_id"),
    "shipment_of": ("shipments", "order_id"),
    "tickets_of": ("tickets", "customer_id"),
}
"""Over which column of which table each index is."""
FIXED_COLUMNS = frozenset({"customer_id", "order_id", "product_id"})
"""Columns that no start fact may change, for indices stand on them."""

Index = Mapping[str, tuple[str, ...]]


def row_hash(
    table: str,
    key: str,
    row: Row,
) -> int:
    """128-bit hash of a row's logical content; verbatim notes and times do not enter."""
    if table in UNKEYED_TABLES:
        return 0

    kept = {column: value for column, value in row.items() if column not in UNKEYED_COLUMNS}
    blob = canonical_json([table, key, kept])

    return int.from_bytes(blake2b(blob, digest_size=16).digest(), "big")


OF_CUSTOMERS = ("customers", "addresses", "payments", "tickets", "orders")
"""Tables whose rows belong to a customer, and whose keys are theirs alone."""
PRIVATE = ("email", "phone", "street")


@dataclass(frozen=True, eq=False)
class BaseWorld:
    """All rows at the start, indices over what no tool changes, and the sum of the rows'
    hashes.

    `name` is what the world was drawn from. What tools would show of it is made when it is asked
    for.
    """

    name: tuple[object, ...]
    seed: int
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
    def today(self) -> str:
        """The first day of every episode."""
        return self.rules.today

    def row(
        self,
        table: str,
        key: str,
    ) -> Row:
        """A row that is known to exist. Raises `KeyError` else."""
        return self.tables[table][key]

    @cached_property
    def private_values(self) -> Mapping[str, Mapping[str, set[str]]]:
        """Whose each email, phone, street and id of a customer's row is, by its first word in small
        letters: an order is of who placed it and of whom it was given to.
        """
        found: dict[str, dict[str, set[str]]] = {}
        for table in OF_CUSTOMERS:
            for key, row in self.tables[table].items():
                given = (row.get(column) for column in ("customer_id", "recipient_id"))
                owners = {key} if table == "customers" else {str(one) for one in given if one}

                for value in (key, *(row[column] for column in PRIVATE if column in row)):
                    word = re.findall(r"\w+", value.lower())[0]
                    found.setdefault(word, {}).setdefault(value, set()).update(owners)

        return found

    @cached_property
    def orders(self) -> Mapping[str, Shown]:
        """Every order with its lines."""
        lines = self.lines_of

        return Lazily(
            self.tables["orders"],
            lambda key: order_shown(
                self.row,
                key,
                lines[key],
            ),
        )

    @cached_property
    def files(self) -> Mapping[str, Shown]:
        """Every customer's file."""
        held = self.held_by

        return Lazily(
            self.tables["customers"],
            lambda key: file_shown(
                self.row,
                key,
                held(key),
            ),
        )

    @cached_property
    def products(self) -> Mapping[str, Shown]:
        """Every product with its variants, by its noun."""
        ids = {row["noun"]: key for key, row in self.tables["products"].items()}
        skus = self.variants_of

        return Lazily(
            ids,
            lambda noun: product_shown(
                self.row,
                ids[noun],
                skus[ids[noun]],
            ),
        )

    def held_by(self, customer_id: str) -> dict[str, Sequence[str]]:
        """The keys of a customer's addresses, payments and tickets."""
        return {
            "addresses": self.addresses_of.get(customer_id, ()),
            "payments": self.payments_of.get(customer_id, ()),
            "tickets": self.tickets_of.get(customer_id, ()),
        }


def _index(
    rows: Mapping[str, Row],
    column: str,
) -> Index:
    """The keys of rows by the value of one column, sorted."""
    index: dict[str, tuple[str, ...]] = {}

    for key in sorted(rows):
        value = str(rows[key][column])
        index[value] = (*index.get(value, ()), key)

    return index


def _indices(tables: Mapping[str, Rows]) -> dict[str, Index]:
    """Every index, lists of orders with the newest first."""
    found = {index: _index(tables[table], column) for index, (table, column) in INDICES.items()}
    placed = {key: (row["placed"], key) for key, row in tables["orders"].items()}
    found["orders_of"] = {
        customer_id: tuple(sorted(keys, key=placed.__getitem__, reverse=True))
        for customer_id, keys in found["orders_of"].items()
    }

    return found


_ALIVE: WeakValueDictionary[tuple[object, ...], BaseWorld] = WeakValueDictionary()
"""Every world that an episode plays in, by name.

However many are open, and whatever the caches below have let go, each exists once.
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

    # variant and rules are not in the name: worlds of both variants have the same people
    rng = Random(f"storefront/{seed}/{customers}/{orders}")
    today = (date(2026, 1, 5) + timedelta(days=rng.randrange(0, 330))).isoformat()
    rules = draw_rules(rng, today, CATEGORIES, variant, in_force, enforced_share)
    tables: dict[str, Rows] = {table: {} for table in GROWING_TABLES}
    tables |= draw_catalogue(rng)
    tables |= draw_customers(rng, customers)
    tables |= draw_orders(rng, tables, rules, orders)
    tables[SESSION[0]] = {SESSION[1]: {"confirmed": False, "ended": False}}
    by = {column: _index(tables["customers"], column) for column in ("email", "phone", "name")}
    hashes = (
        row_hash(table, key, row) for table, rows in tables.items() for key, row in rows.items()
    )
    key_sum = sum(hashes) % KEY_MODULUS
    world = _ALIVE[name] = BaseWorld(
        name, seed, rules, tables, by, key_sum=key_sum, **_indices(tables)
    )

    return world


@lru_cache(maxsize=64)
def patched(
    base: BaseWorld,
    facts: tuple[tuple[str, Scalar], ...],
) -> BaseWorld:
    """The world with some start facts changed; rows and indices that they do not concern are
    shared.

    Raises `ConfigError` for a path that the world does not have.
    """
    name = (*base.name, facts)

    if (found := _ALIVE.get(name)) is not None:
        return found

    tables = dict(base.tables)
    key_sum = base.key_sum

    for path, value in facts:
        table, key, column = [*path.split("/", 2), "", ""][:3]
        old = tables.get(table, {}).get(key)

        if old is None or column not in old or column in FIXED_COLUMNS:
            raise ConfigError(
                f"env_config.facts: there is no {path} that could differ in the world of seed "
                f"{base.seed}"
            )

        new = {**old, column: value}
        tables[table] = {**tables[table], key: new}
        key_sum += row_hash(table, key, new) - row_hash(table, key, old)

    # the one index that a start fact can touch
    regifted = any(path.endswith("/recipient_id") for path, _ in facts)
    gifts = _index(tables["orders"], "recipient_id") if regifted else base.gifts_of

    key_sum %= KEY_MODULUS
    world = _ALIVE[name] = replace(base, name=name, tables=tables, gifts_of=gifts, key_sum=key_sum)

    return world


def world_of(
    config: StorefrontConfig,
    seed: int | None = None,
) -> BaseWorld:
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
