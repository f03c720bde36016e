"""Orders with lines and shipments, in every status."""

from collections.abc import Mapping
from datetime import date, timedelta
from random import Random
from sys import intern

from synth.envs.storefront.texts import texts
from synth.envs.storefront.world.catalogue import Row, Rows
from synth.envs.storefront.world.policy import Rules
from synth.envs.storefront.world.views import discounted_cents

_DRAWN = texts("orders")
_STATUSES = [status for status, weight in _DRAWN["statuses"].items() for _ in range(weight)]
TRACKING_STATUSES: tuple[str, ...] = tuple(_DRAWN["tracking"])
LATE_SHARE = 0.3
GIFT_SHARE = 0.16
SEVERAL_COLOURS_SHARE = 0.12
PROMISED_WITHIN_DAYS = 4


def draw_orders(
    rng: Random, tables: Mapping[str, Rows], rules: Rules, count: int
) -> dict[str, Rows]:
    """Draws the tables orders, lines, shipments, returns and refunds.

    A customer's orders are placed on different days, so that a date tells them apart.
    """
    names = ("orders", "lines", "shipments", "returns", "refunds")
    drawn: dict[str, Rows] = {name: {} for name in names}
    customers = tables["customers"]
    skus = sorted(tables["variants"])
    favourites = {customer_id: rng.sample(skus, 4) for customer_id in sorted(customers)}
    used_days: dict[str, set[int]] = {customer_id: set() for customer_id in customers}
    numbers = iter(rng.sample(range(10_000, 99_999), 2 * count))

    for customer_id in _owners(rng, sorted(customers), count):
        order_id = f"O-{next(numbers)}"
        status = rng.choice(_STATUSES)
        window = rules.window_days[customers[customer_id]["tier"]]
        delivered_ago, placed_ago = _ages(rng, status, window)

        while placed_ago in used_days[customer_id]:
            placed_ago += 1

        used_days[customer_id].add(placed_ago)
        lines = _lines(rng, favourites[customer_id], skus, tables["variants"])
        order = _order(rng, tables, customer_id, status)
        gross_cents = sum(line["unit_price_cents"] * line["quantity"] for line in lines)

        order |= {
            "placed": _day(rules, placed_ago),
            "promised": _day(rules, placed_ago - PROMISED_WITHIN_DAYS),
            "delivered": None if delivered_ago is None else _day(rules, delivered_ago),
            "total_cents": discounted_cents(gross_cents, order["discount_percent"]),
        }

        drawn["orders"][order_id] = order

        for line in lines:
            drawn["lines"][f"{order_id}.{line['line']}"] = {"order_id": order_id, **line}

        if status == "returned":
            _send_back(drawn, order_id, _day(rules, 1))

        if status in ("shipped", "delivered", "returned"):
            parcel = {"order_id": order_id, **_parcel(rng, order["delivered"], rules)}
            drawn["shipments"][f"S-{next(numbers)}"] = parcel

    return drawn


def _owners(
    rng: Random,
    customer_ids: list[str],
    count: int,
) -> list[str]:
    """Draws who placed each order: at least two each, the rest unevenly, nobody above nine."""
    owners = [customer_id for customer_id in customer_ids for _ in range(2)][:count]
    busy = rng.sample(customer_ids, max(len(customer_ids) // 2, 1))
    spare = [customer_id for customer_id in busy for _ in range(7)]
    rng.shuffle(spare)

    return owners + spare[: count - len(owners)]


def _day(rules: Rules, days_ago: int) -> str:
    """An ISO date; worlds share the text, of which each would hold hundreds."""
    return intern((date.fromisoformat(rules.today) - timedelta(days=days_ago)).isoformat())


def _ages(
    rng: Random,
    status: str,
    window: int,
) -> tuple[int | None, int]:
    """Draws how many days ago an order was delivered, if it was, and how many ago it was placed."""
    if status == "delivered":
        is_late = rng.random() < LATE_SHARE
        low, high = (window + 1, window + 39) if is_late else (1, window)
    else:
        low, high = _DRAWN["ages"][status]

    days = rng.randrange(low, high + 1)

    if status not in ("delivered", "returned"):
        return None, days

    return days, days + rng.choice(_DRAWN["transit_days"])


def _order(
    rng: Random,
    tables: Mapping[str, Rows],
    customer_id: str,
    status: str,
) -> Row:
    """Draws the row of an order, but for its days and what it cost."""
    coupons = tables["coupons"]
    coupon = rng.choice(sorted(coupons)) if rng.random() < 0.2 else None
    is_over = status in ("cancelled", "returned")

    def held(table: str) -> str:
        """One of the rows of a table that belong to the customer."""
        rows = tables[table]

        return rng.choice([key for key in sorted(rows) if rows[key]["customer_id"] == customer_id])

    return {
        "customer_id": customer_id,
        "status": status,
        "recipient_id": None
        if is_over
        else _recipient(
            rng,
            tables["customers"],
            customer_id,
        ),
        "address_id": held("addresses"),
        "payment_id": held("payments"),
        "coupon": coupon,
        "discount_percent": coupons[coupon]["percent"] if coupon is not None else 0,
        "refunded_cents": 0,
        "modified": False,
        "cancel_reason": "changed_mind" if status == "cancelled" else None,
    }


def _recipient(
    rng: Random,
    customers: Rows,
    giver: str,
) -> str | None:
    """Draws for whom an order was placed as a gift, if it was one.

    It is somebody else, not another account of the same person.
    """
    if rng.random() >= GIFT_SHARE:
        return None

    name = customers[giver]["name"]

    return rng.choice([key for key in sorted(customers) if customers[key]["name"] != name])


def _lines(rng: Random, favourites: list[str], skus: list[str], variants: Rows) -> list[Row]:
    """Draws the lines of one order; no two of them are described alike."""
    lines: list[Row] = []
    described: set[tuple[str, str]] = set()

    for sku in _chosen(rng, favourites, skus, variants):
        variant = variants[sku]
        description = (variant["colour"], variant["product_id"])

        if description in described:
            continue

        described.add(description)
        price = "former_price_cents" if rng.random() < 0.3 else "price_cents"

        lines.append(
            {
                "line": len(lines) + 1,
                "sku": sku,
                "quantity": rng.choice((1, 1, 1, 2, 3)),
                "unit_price_cents": variant[price],
                "status": "ordered",
            }
        )

    return lines


def _chosen(rng: Random, favourites: list[str], skus: list[str], variants: Rows) -> list[str]:
    """Draws what is ordered: at times several colours of one product."""
    chosen = [
        rng.choice(favourites if rng.random() < 0.55 else skus)
        for _ in range(rng.choice((1, 1, 1, 2, 2, 3)))
    ]

    if rng.random() >= SEVERAL_COLOURS_SHARE:
        return chosen

    # two to four colours of one product in one size, so that its noun fits several lines
    first = variants[chosen[0]]
    kind = {(column, first[column]) for column in ("product_id", "size")}
    same = [sku for sku in skus if kind <= variants[sku].items()]

    return rng.sample(same, min(len(same), rng.choice((2, 3, 4))))


def _send_back(
    drawn: Mapping[str, Rows],
    order_id: str,
    day: str,
) -> None:
    """Gives an order that came back its slip and its refund."""
    order = drawn["orders"][order_id]
    cents = order["total_cents"]
    order["refunded_cents"] = cents
    lines = [line for line in drawn["lines"].values() if line["order_id"] == order_id]

    for line in lines:
        line |= {"status": "returned", "return_method": "mail"}

    drawn["returns"][f"RT-{order_id}.1"] = {
        "order_id": order_id,
        "lines": ",".join(str(line["line"]) for line in lines),
        "method": "mail",
        "created": f"{day}T12:00",
    }

    paid = {"order_id": order_id, "amount_cents": cents, "to": order["payment_id"]}
    drawn["refunds"][f"RF-{order_id}.1"] = paid


def _parcel(
    rng: Random,
    delivered: str | None,
    rules: Rules,
) -> Row:
    """Draws a parcel, which has arrived or is on its way."""
    arrives = delivered or _day(rules, -rng.randrange(0, 13))
    carrier = rng.choice(_DRAWN["carriers"])
    status = "delivered" if delivered else rng.choice(TRACKING_STATUSES)

    return {"carrier": carrier, "status": status, "arrives": arrives}
