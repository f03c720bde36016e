"""Orders with lines and shipments, in every status."""

from datetime import date, timedelta
from random import Random
from sys import intern

from synth.envs.storefront.world.catalogue import Row, Rows
from synth.envs.storefront.world.rules import Rules, discounted_cents

_STATUSES = (
    ("pending",) * 34
    + ("processing",) * 8
    + ("shipped",) * 15
    + ("delivered",) * 38
    + ("cancelled",) * 3
    + ("returned",) * 2
)
TRACKING_STATUSES = (
    "label_created",
    "in_transit",
    "out_for_delivery",
    "delayed",
    "at_pickup_point",
)
_CARRIERS = ("Heron", "Swift", "Kestrel")
LATE_SHARE = 0.3
GIFT_SHARE = 0.16
SEVERAL_COLOURS_SHARE = 0.12
PROMISED_WITHIN_DAYS = 4
TRANSIT_DAYS = (3, 3, 4, 4, 5, 5, 6, 7, 8, 9, 11, 13)
"""From the order to the door; some parcels come late enough for a compensation."""


def _owners(rng: Random, customer_ids: list[str], count: int) -> list[str]:
    """Who placed each order: at least two each, the rest spread unevenly, nobody above nine."""
    owners = [customer_id for customer_id in customer_ids for _ in range(2)][:count]
    busy = rng.sample(customer_ids, max(len(customer_ids) // 2, 1))
    spare = [customer_id for customer_id in busy for _ in range(7)]
    rng.shuffle(spare)
    return owners + spare[: count - len(owners)]


def _day(today: date, days_ago: int) -> str:
    """An ISO date; worlds share the text, of which each would hold hundreds."""
    return intern((today - timedelta(days=days_ago)).isoformat())


def _held(rows: Rows) -> dict[str, list[str]]:
    """Customer -> the rows that are theirs."""
    held: dict[str, list[str]] = {}
    for key in sorted(rows):
        held.setdefault(rows[key]["customer_id"], []).append(key)
    return held


def _recipient(rng: Random, customers: Rows, giver: str) -> str | None:
    """For whom an order was placed as a gift, if it was one: somebody else, not another account of
    the same person.
    """
    if rng.random() >= GIFT_SHARE:
        return None
    return rng.choice(
        [key for key in sorted(customers) if customers[key]["name"] != customers[giver]["name"]]
    )


def _several_colours(rng: Random, sku: str, variants: Rows) -> list[str]:
    """Two to four colours of one product in one size, so that its noun fits several lines."""
    same = [
        key
        for key, row in sorted(variants.items())
        if all(row[name] == variants[sku][name] for name in ("product_id", "size"))
    ]
    return rng.sample(same, min(len(same), rng.choice((2, 3, 4))))


def _draw_lines(rng: Random, favourites: list[str], skus: list[str], variants: Rows) -> list[Row]:
    lines: list[Row] = []
    described: set[tuple[str, str]] = set()
    chosen = [
        rng.choice(favourites if rng.random() < 0.55 else skus)
        for _ in range(rng.choice((1, 1, 1, 2, 2, 3)))
    ]
    for sku in (
        _several_colours(rng, chosen[0], variants)
        if rng.random() < SEVERAL_COLOURS_SHARE
        else chosen
    ):
        variant = variants[sku]
        description = (variant["colour"], variant["product_id"])
        if description in described:
            continue
        described.add(description)
        paid_cents = variant["former_price_cents"] if rng.random() < 0.3 else variant["price_cents"]
        quantity = rng.choice((1, 1, 1, 2, 3))
        lines.append(
            {
                "line": len(lines) + 1,
                "sku": sku,
                "quantity": quantity,
                "unit_price_cents": paid_cents,
                "status": "ordered",
            }
        )
    return lines


def draw_orders(
    rng: Random,
    people: dict[str, Rows],
    variants: Rows,
    coupons: Rows,
    rules: Rules,
    today: date,
    count: int,
) -> dict[str, Rows]:
    """Tables orders, lines, shipments, returns and refunds; a customer's orders are placed on
    different days, so that a date tells them
    apart.
    """
    customer_ids = sorted(people["customers"])
    skus = sorted(variants)
    favourites = {customer_id: rng.sample(skus, 4) for customer_id in customer_ids}
    addresses, payments = (_held(people[table]) for table in ("addresses", "payments"))
    used_days: dict[str, set[int]] = {customer_id: set() for customer_id in customer_ids}
    numbers = iter(rng.sample(range(10_000, 99_999), 2 * count))
    orders: Rows = {}
    lines: Rows = {}
    shipments: Rows = {}
    returns: Rows = {}
    refunds: Rows = {}
    for customer_id in _owners(rng, customer_ids, count):
        order_id = f"O-{next(numbers)}"
        status = rng.choice(_STATUSES)
        delivered_ago = None
        if status == "delivered":
            window = rules.window_days[people["customers"][customer_id]["tier"]]
            delivered_ago = (
                rng.randrange(window + 1, window + 40)
                if rng.random() < LATE_SHARE
                else rng.randrange(1, window + 1)
            )
            placed_ago = delivered_ago + rng.choice(TRANSIT_DAYS)
        elif status == "returned":
            delivered_ago = rng.randrange(2, 12)
            placed_ago = delivered_ago + rng.choice(TRANSIT_DAYS)
        elif status == "shipped":
            placed_ago = rng.randrange(3, 12)
        else:
            placed_ago = rng.randrange(0, 9)
        while placed_ago in used_days[customer_id]:
            placed_ago += 1
        used_days[customer_id].add(placed_ago)
        drawn = _draw_lines(rng, favourites[customer_id], skus, variants)
        coupon = rng.choice(sorted(coupons)) if rng.random() < 0.2 else None
        percent = coupons[coupon]["percent"] if coupon is not None else 0
        gross_cents = sum(line["unit_price_cents"] * line["quantity"] for line in drawn)
        orders[order_id] = {
            "customer_id": customer_id,
            "status": status,
            "placed": _day(today, placed_ago),
            "promised": _day(today, placed_ago - PROMISED_WITHIN_DAYS),
            "recipient_id": _recipient(rng, people["customers"], customer_id)
            if status not in ("cancelled", "returned")
            else None,
            "delivered": None if delivered_ago is None else _day(today, delivered_ago),
            "address_id": rng.choice(addresses[customer_id]),
            "payment_id": rng.choice(payments[customer_id]),
            "coupon": coupon,
            "discount_percent": percent,
            "total_cents": discounted_cents(gross_cents, percent),
            "refunded_cents": discounted_cents(gross_cents, percent) if status == "returned" else 0,
            "modified": False,
            "cancel_reason": "changed_mind" if status == "cancelled" else None,
        }
        for line in drawn:
            back = {"status": "returned", "return_method": "mail"} if status == "returned" else {}
            lines[f"{order_id}.{line['line']}"] = {"order_id": order_id, **line, **back}
        if status == "returned":
            came_back = _day(today, 1) + "T12:00"
            numbered = ",".join(str(line["line"]) for line in drawn)
            returns[f"RT-{order_id}.1"] = {
                "order_id": order_id,
                "lines": numbered,
                "method": "mail",
                "created": came_back,
            }
            refund = {
                "order_id": order_id,
                "amount_cents": orders[order_id]["total_cents"],
                "to": orders[order_id]["payment_id"],
            }
            refunds[f"RF-{order_id}.1"] = refund
        if status in ("shipped", "delivered", "returned"):
            arrives = -delivered_ago if delivered_ago is not None else rng.randrange(0, 13)
            shipments[f"S-{next(numbers)}"] = {
                "order_id": order_id,
                "carrier": rng.choice(_CARRIERS),
                "status": "delivered"
                if delivered_ago is not None
                else rng.choice(TRACKING_STATUSES),
                "arrives": _day(today, -arrives),
            }
    return {
        "orders": orders,
        "lines": lines,
        "shipments": shipments,
        "returns": returns,
        "refunds": refunds,
    }
