"""Products, their variants with price and stock, and coupons."""

from random import Random
from typing import Any

from synth.envs.storefront.texts import texts

Row = dict[str, Any]
Rows = dict[str, Row]
"""The rows of a table by key."""

_SOLD = texts("catalogue")
CATEGORIES: tuple[str, ...] = tuple(_SOLD["categories"])
COLOURS: tuple[str, ...] = tuple(_SOLD["colours"])
SIZES = ("S", "M", "L")
NOUNS = frozenset(noun for noun, *_ in _SOLD["products"])
PRICE_CHANGED_DAYS_AGO = 30


def draw_catalogue(rng: Random) -> dict[str, Rows]:
    """Draws the tables products, variants and coupons.

    There is one product per noun, so that a colour and a noun describe an item.
    """
    products: Rows = {}
    variants: Rows = {}
    numbers = iter(rng.sample(range(1000, 9999), 400))

    for noun, category, low, high in _SOLD["products"]:
        product_id = f"P-{next(numbers)}"

        products[product_id] = {
            "name": f"{rng.choice(_SOLD['brands'])} {noun}",
            "noun": noun,
            "category": category,
            "text": f"Made for every day: {noun}, {category}.",
        }

        sizes = rng.sample(SIZES, 2) if category == "clothing" else ["one"]
        price_cents = rng.randrange(low, high) * 100

        for colour in rng.sample(COLOURS, rng.choice((3, 4))):
            for size in sizes:
                kind = {"product_id": product_id, "colour": colour, "size": size}
                variants[f"V-{next(numbers)}"] = {**kind, **_offer(rng, price_cents)}

    coupons = {
        f"{code}{rng.randrange(10, 99)}": {"percent": rng.choice((5, 10, 15, 20)), "active": True}
        for code in _SOLD["coupons"]
    }

    return {"products": products, "variants": variants, "coupons": coupons}


def _offer(rng: Random, price_cents: int) -> Row:
    """Draws the prices of a variant, now and before, about its product's, and the stock."""
    raised_cents = rng.choice((-300, 0, 250, 500)) + rng.choice((0, 50, 95, 99))
    now_cents = price_cents + raised_cents

    return {
        "price_cents": now_cents,
        "former_price_cents": now_cents + rng.choice((-200, 0, 0, 300)),
        "stock": rng.randrange(8, 60),
    }
