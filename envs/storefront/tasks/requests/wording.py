"""The requests that can be made of a customer's orders: what is feasible, and each in words."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from synth.envs.storefront.customer.script import KIND_OF, KINDS, Kind
from synth.envs.storefront.tasks.requests.returns import referent_of, returned
from synth.envs.storefront.tasks.requests.right_end import after
from synth.envs.storefront.tasks.requests.user_intents import Draw, Intent
from synth.envs.storefront.world.options import CustomerOptions
from synth.envs.storefront.world.policy import Call
from synth.envs.storefront.world.views import cents_of, item_of, numbered
from synth.envs.storefront.world.world import BaseWorld
from synth.schemas.check import ToldFact


def options_of(draw: Draw) -> CustomerOptions:
    """What the customer could ask for in the world that the request is drawn from."""
    base = draw.base
    me = draw.customer_id
    own = [base.orders[key] for key in base.orders_of.get(me, ())]
    ordered = {item_of(line) for order in own for line in order["lines"]}
    codes = sorted(base.tables["coupons"])

    return CustomerOptions(base, base.rules, me, codes=codes, ordered=ordered)


def feasible(draw: Draw, order_id: str) -> dict[str, list[Call]]:
    """The calls that serve a request about an order which no rule forbids, by kind.

    A city names one address of the customer, or as many as the words may leave open.
    """
    found: dict[str, list[Call]] = {}
    options = options_of(draw)
    # an address is told by its city, unless that is what the words leave open
    low, high = draw.config.ambiguity if draw.slot == "address" else (1, 1)

    for tool, made in options.of(order_id):
        clear = tool != "change_address" or low <= in_city(draw, made["address_id"]) <= high

        if clear and not options.forbidding((tool, made)):
            found.setdefault(KIND_OF[tool], []).append((tool, made))

    return found


def in_city(draw: Draw, address_id: str) -> int:
    """How many addresses on the customer's file are in the city of one."""
    city = draw.base.row("addresses", address_id)["city"]

    return [row["city"] for row in draw.base.files[draw.customer_id]["addresses"]].count(city)


def worded(draw: Draw, call: Call) -> Intent:
    """The request that a call serves, in words."""
    tool, made = call
    kind = KIND_OF[tool]
    row = KINDS[kind]
    base = draw.base
    order_id = made.get("order_id")

    if tool == "create_return":
        return returned(draw, **made)
    if order_id is None or tool == "escalate":
        return _about_no_order(draw, kind, call)

    order = base.orders[order_id]
    is_open = draw.slot == "address" and tool == "change_address"
    referent = referent_of(draw, order, made)
    details = {name: made[name] for name in row.get("details", ())}
    wanted = _wanted(base, made)
    free = tuple[str, ...]()

    if is_open:
        address = base.row("addresses", made["address_id"])
        # the street tells apart what the city does not
        details["street"] = address["street"]

        referent = replace(
            referent,
            candidates=in_city(draw, made["address_id"]),
        )

    if "reason" in details and draw.rng.random() < draw.config.reticence / 3:
        # the customer does not know one
        details = {}
        free = (f"orders/{order_id}/cancel_reason",)

    # drawn before the words, for a change of mind asks for the same
    tell = draw.asks_total(row.get("tells", 0))

    intent = draw.intent(
        kind,
        referent,
        call,
        wanted=wanted,
        missing=wanted is not None and not is_open and draw.leaves_out(),
        tell=tell,
        told=answer_to(base, call) if tell or "answers" in row else (),
        details=details,
    )

    return replace(intent, free=free)


def _wanted(base: BaseWorld, made: Mapping[str, Any]) -> str | None:
    """What a customer says that they want: a city, a colour, or a coupon."""
    if "address_id" in made:
        return str(base.row("addresses", made["address_id"])["city"])

    if isinstance(made.get("lines"), Mapping):
        return str(
            base.row(
                "variants",
                next(iter(made["lines"].values())),
            )["colour"]
        )

    return made.get("code")


def answer_to(base: BaseWorld, call: Call) -> list[ToldFact]:
    """What is told about a call: where a parcel is, what a return brings, the new total."""
    tool, made = call
    order_id = made["order_id"]

    if tool == "track_shipment":
        shipment = base.row("shipments", base.shipment_of[order_id][0])
        day = ToldFact("date", shipment["arrives"], order_id)

        return [
            ToldFact("status", shipment["status"], order_id),
            day,
        ]

    if tool in ("quote_refund", "create_return"):
        order = base.orders[order_id]

        return [
            ToldFact(
                "money",
                cents_of(order, numbered(order, made["lines"])),
                order_id,
            )
        ]

    # the total after the write, as the tool will compute it
    total_cents = after(base, [call]).row("orders", order_id)["total_cents"]

    return [ToldFact("money", total_cents, order_id)]


def _about_no_order(draw: Draw, kind: Kind, call: Call) -> Intent:
    """A question for a price, somebody else's matter (R13), or a note, word for word."""
    _, made = call

    if kind == "out_of_scope":
        asked = draw.plain(kind, kind, call)
        free = ("escalations/*/order_id",)

        return replace(
            asked,
            free=free,
            complications=("out_of_scope",),
        )

    if kind == "note":
        asked = draw.plain(
            kind,
            kind,
            call,
            ticket_id=made["ticket_id"],
            note=made["text"],
        )

        return replace(asked, free=("notes/*/created",))

    variant = draw.base.row("variants", made["sku"])
    noun = draw.base.row("products", variant["product_id"])["noun"]
    colour = variant["colour"]
    size = None if variant["size"] == "one" else variant["size"]
    # a price that never changed has no former one to ask for
    changed = variant["former_price_cents"] != variant["price_cents"]
    former = changed and draw.rng.random() < 0.25
    item = f"{colour} {noun}" + (f" in size {size}" if size else "")
    words = "former_price" if former else "price_query"

    stated = {
        "colour": colour,
        "noun": noun,
        "size": size,
        "former": former,
    }

    asked = draw.plain(kind, words, call, item=item, **stated)
    cents = variant["former_price_cents" if former else "price_cents"]

    return replace(asked, told=(ToldFact("money", cents, made["sku"]),))
