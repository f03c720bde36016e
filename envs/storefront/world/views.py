"""Orders, customers and products in the form in which tools show them; amounts are in dollars.

The policy, the goals and the expert read this form too: the world knows all of it, an agent what it
was shown.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import cache
from typing import Any, Protocol

from synth.envs.storefront.texts import texts
from synth.envs.storefront.world.catalogue import PRICE_CHANGED_DAYS_AGO, Row

Shown = dict[str, Any]
"""What a tool shows of one thing."""
Item = tuple[str, str]
"""Colour and noun."""
RowOf = Callable[[str, str], Row]
"""The row of a table under a key."""
_OF_ORDERS: Sequence[str] = texts("orders")["shown"]


class Known(Protocol):
    """What somebody knows of the shop: orders and customers' files by id, products by noun."""

    @property
    def orders(self) -> Mapping[str, Shown]:
        """Orders with their lines, by id."""
        ...

    @property
    def files(self) -> Mapping[str, Shown]:
        """Customers' files, by id."""
        ...

    @property
    def products(self) -> Mapping[str, Shown]:
        """Products with their variants, by noun."""
        ...


class Lazily(Mapping[str, Shown]):
    """A mapping whose values are made, once, when they are asked for."""

    def __init__(
        self,
        keys: Collection[str],
        make: Callable[[str], Shown],
    ) -> None:
        self._keys = keys
        self._make = cache(make)

    def __getitem__(self, key: str) -> Shown:
        return self._make(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


def columns(row: Row, *names: str) -> Shown:
    """Some columns of a row."""
    return {name: row[name] for name in names}


def order_shown(
    row: RowOf,
    order_id: str,
    line_keys: Iterable[str],
    *,
    verbose: bool = False,
) -> Shown:
    """An order with its lines; `verbose` adds the products' texts."""
    order = row("orders", order_id)

    return {
        "order_id": order_id,
        **columns(order, *_OF_ORDERS),
        "total": dollars(order["total_cents"]),
        "refunded": dollars(order["refunded_cents"]),
        "lines": [_line_shown(row, key, verbose=verbose) for key in line_keys],
    }


def _line_shown(
    row: RowOf,
    key: str,
    *,
    verbose: bool,
) -> Shown:
    """A line of an order, with its variant and product."""
    line = row("lines", key)
    variant = row("variants", line["sku"])
    product = row("products", variant["product_id"])

    return {
        **columns(line, "line", "sku", "quantity", "status"),
        **columns(variant, "colour", "size"),
        "product": product["name"],
        "category": product["category"],
        "unit_price": dollars(line["unit_price_cents"]),
        **({"text": product["text"]} if verbose else {}),
    }


def noun_of(product: str) -> str:
    """The noun of a product's name, which stands last."""
    return product.rpartition(" ")[2]


def item_of(line: Shown) -> Item:
    """How the item of a line is described."""
    return line["colour"], noun_of(line["product"])


def numbered(order: Shown, numbers: Collection[object]) -> list[Shown]:
    """The lines of an order with these numbers."""
    return [line for line in order["lines"] if line["line"] in numbers]


def cents_of(order: Shown, lines: Iterable[Shown]) -> int:
    """What was paid for lines of an order after its discount."""
    gross_cents = sum(round(line["unit_price"] * 100) * line["quantity"] for line in lines)

    return discounted_cents(gross_cents, order["discount_percent"])


def file_shown(
    row: RowOf,
    customer_id: str,
    held: Mapping[str, Sequence[str]],
) -> Shown:
    """A customer's file, with the notes that it began with.

    `held` are the keys of their addresses, payments and tickets.
    """
    customer = row("customers", customer_id)

    def listed(table: str, name: str, *shown: str) -> list[Shown]:
        """Rows that belong to the customer, each with its key under a name."""
        return [{name: key, **columns(row(table, key), *shown)} for key in held[table]]

    return {
        "customer_id": customer_id,
        **columns(customer, "name", "tier"),
        "store_credit": dollars(customer["credit_cents"]),
        "gift_balance": dollars(customer["gift_cents"]),
        "addresses": listed(
            "addresses",
            "address_id",
            "street",
            "city",
            "zip",
        ),
        "payment_methods": listed("payments", "payment_id", "kind", "last4"),
        "tickets": listed("tickets", "ticket_id", "subject"),
        "notes": [row("notes", f"N-{key}.0")["text"] for key in held["tickets"]],
    }


def cards_of(file: Shown) -> dict[str, str]:
    """Last four digits -> payment id of the cards on a customer's file."""
    ways = (way for way in file["payment_methods"] if way["kind"] == "card")

    return {way["last4"]: way["payment_id"] for way in ways}


def product_shown(
    row: RowOf, product_id: str, skus: Iterable[str], today: str | None = None
) -> Shown:
    """A product with its variants; with a day, with their price histories too."""

    def variant_shown(sku: str) -> Shown:
        """A variant as a product has it."""
        variant = row("variants", sku)
        history = {} if today is None else {"price_history": price_history(variant, today)}

        return {
            "sku": sku,
            **columns(variant, "colour", "size"),
            "price": dollars(variant["price_cents"]),
            "in_stock": variant["stock"] > 0,
            **history,
        }

    named = columns(
        row("products", product_id),
        "name",
        "category",
        "text",
    )

    return {"product_id": product_id, **named, "variants": list(map(variant_shown, skus))}


def price_history(variant: Row, today: str) -> list[Shown]:
    """The former price with the day on which it ended, and the price since."""
    # one day for all prices: a history has two entries
    changed = date.fromisoformat(today) - timedelta(days=PRICE_CHANGED_DAYS_AGO)
    day = changed.isoformat()

    return [
        {"until": day, "price": dollars(variant["former_price_cents"])},
        {"since": day, "price": dollars(variant["price_cents"])},
    ]


def discounted_cents(gross_cents: int, discount_percent: int) -> int:
    """An amount after a percentage off, rounded half up to the cent."""
    return (gross_cents * (100 - discount_percent) + 50) // 100


def dollars(cents: int) -> float:
    """Cents as tools show them: a JSON number in dollars."""
    return cents / 100
