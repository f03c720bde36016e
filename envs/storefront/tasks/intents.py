"""One request of a customer that can be done, compiled: words, what the customer knows, and what
must be true and said at the end.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from synth.envs.storefront.customer.customer import DETAILS
from synth.envs.storefront.customer.script import Kind, Request, Revision
from synth.envs.storefront.tasks.referents import Referent, Slot, described, refer
from synth.envs.storefront.texts import texts
from synth.envs.storefront.tools.schemas import STORE_CREDIT
from synth.envs.storefront.world.config import StorefrontConfig
from synth.envs.storefront.world.rules import discounted_cents, is_late
from synth.envs.storefront.world.shop_events import ShopEvent
from synth.envs.storefront.world.world import BaseWorld
from synth.schemas.check import Refusal, RowPredicate, ToldFact

WORDS: Mapping[str, Any] = texts("wordings")


@dataclass(frozen=True, slots=True)
class Intent:
    """A request with its share of script and check."""

    request: Request
    details: dict[str, str] = field(default_factory=dict)
    required: tuple[RowPredicate, ...] = ()
    free: tuple[str, ...] = ()
    told: tuple[ToldFact, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    referent: Referent | None = None
    revisions: tuple[Revision, ...] = ()
    events: tuple[ShopEvent, ...] = ()
    twists: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Draw:
    """What a maker of intents draws from; `referent` fixes the words for the order, `customer_id`
    is who speaks, `slot` is what the words
    leave open.
    """

    rng: Random
    config: StorefrontConfig
    base: BaseWorld
    number: int
    customer_id: str
    slot: Slot | None = None
    referent: Referent | None = None

    def detail(self, name: str) -> str:
        """One of the customer's preferences."""
        values: list[str] = sorted(DETAILS[name])
        return self.rng.choice(values)

    def words(self, name: str, **parts: str | None) -> str:
        """One of the wordings of the variant."""
        wordings: list[str] = WORDS["requests"][name][self.config.variant]
        return self.rng.choice(wordings).format(**parts)

    def leaves_out(self) -> bool:
        """Whether the customer forgets to say what is wanted."""
        return self.rng.random() < self.config.missing and self.config.dialogue

    def refer(self, order_id: str, line_keys: list[str] | None = None) -> Referent:
        """Words for an order."""
        if self.referent is not None:
            return self.referent
        keys = line_keys or list(self.base.lines_of[order_id])
        return refer(self.rng, self.config, self.base, order_id, keys, self.slot)

    def request(
        self,
        kind: Kind,
        text: str,
        referent: Referent,
        *,
        item: bool,
        wanted: str | None = None,
        tell: bool = False,
    ) -> Request:
        """The stated form; the item is part of it where the request is about one, or where it
        stands for the order.
        """
        colour, noun = (
            described(self.base, referent.line_key)
            if item or not referent.stands_alone
            else (None, None)
        )
        return Request(
            self.number,
            kind,
            text,
            order_id=referent.stated_order,
            colour=None if referent.by_noun else colour,
            noun=noun,
            wanted=wanted,
            tell_total=tell,
            after=referent.after,
            gift_of=referent.gift_of,
            gift_for=referent.gift_for,
        )


def where(referent: Referent, preposition: str) -> str:
    """The order of an item, where the item alone does not stand for it."""
    return f" {preposition} {referent.phrase}" if referent.stands_alone else " that I ordered"


def cancel(draw: Draw, order_id: str) -> Intent:
    """An order is cancelled for the customer's reason; some do not know one."""
    referent = draw.refer(order_id)
    reason = draw.detail("reason") if draw.rng.random() >= draw.config.reticence / 3 else None
    request = draw.request(
        "cancel", draw.words("cancel", order=referent.phrase), referent, item=False
    )
    known = {"cancel_reason": reason} if reason is not None else {}
    required = RowPredicate("orders", {"id": order_id, "status": "cancelled", **known})
    free = () if known else (f"orders/{order_id}/cancel_reason",)
    details = {**referent.details, **({"reason": reason} if reason is not None else {})}
    return Intent(request, details, (required,), free, referent=referent)


def other_colours(base: BaseWorld, line_key: str) -> dict[str, str]:
    """Colour -> sku of the variants that a line could be exchanged for: same size, in none of the
    customer's orders already, so that the
    words for other orders mean the same before and after.
    """
    line = base.tables["lines"][line_key]
    now = base.tables["variants"][line["sku"]]
    owner = base.tables["orders"][line["order_id"]]["customer_id"]
    present = {
        described(base, key)
        for order_id in base.orders_of[owner]
        for key in base.lines_of[order_id]
    }
    noun = described(base, line_key)[1]
    found = {}
    for sku in base.variants_of[now["product_id"]]:
        row = base.tables["variants"][sku]
        if row["size"] == now["size"] and (row["colour"], noun) not in present:
            found[row["colour"]] = sku
    return found


def exchange(
    draw: Draw, order_id: str, colour: str | None = None, tells: bool | None = None
) -> Intent:
    """A line becomes another variant; the order's total follows."""
    base = draw.base
    referent = draw.refer(
        order_id, [key for key in base.lines_of[order_id] if other_colours(base, key)]
    )
    options = other_colours(base, referent.line_key)
    if colour is None:
        colour = draw.rng.choice(sorted(options))
    tell, missing = draw.rng.random() < 0.6 if tells is None else tells, draw.leaves_out()
    line = base.tables["lines"][referent.line_key]
    others = [
        base.tables["lines"][key] for key in base.lines_of[order_id] if key != referent.line_key
    ]
    gross_cents = sum(other["unit_price_cents"] * other["quantity"] for other in others)
    gross_cents += base.tables["variants"][options[colour]]["price_cents"] * line["quantity"]
    total_cents = discounted_cents(gross_cents, base.tables["orders"][order_id]["discount_percent"])
    text = draw.words(
        "exchange_missing" if missing else "exchange",
        item=referent.item,
        where=where(referent, "in"),
        wanted=None if missing else colour,
    )
    request = draw.request(
        "exchange",
        text + WORDS["tell_total"] * tell,
        referent,
        item=True,
        wanted=None if missing else colour,
        tell=tell,
    )
    required = (
        RowPredicate("lines", {"id": referent.line_key, "sku": options[colour]}),
        RowPredicate("orders", {"id": order_id, "modified": True}),
    )
    free = (
        f"lines/{referent.line_key}/unit_price_cents",
        f"orders/{order_id}/total_cents",
        "variants/*/stock",
    )
    told = (ToldFact("money", total_cents, order_id),) if tell else ()
    details = {**referent.details, **({"colour": colour} if missing else {})}
    return Intent(
        request,
        details,
        required,
        free,
        told,
        referent=referent,
        twists=("missing",) if missing else (),
    )


def destinations(base: BaseWorld, order_id: str) -> dict[str, tuple[str, ...]]:
    """City -> addresses on the customer's file in it, but for the city that the order goes to
    now.
    """
    order, addresses = base.tables["orders"][order_id], base.tables["addresses"]
    found: dict[str, tuple[str, ...]] = {}
    for key in base.addresses_of[order["customer_id"]]:
        if addresses[key]["city"] != addresses[order["address_id"]]["city"]:
            found[addresses[key]["city"]] = (*found.get(addresses[key]["city"], ()), key)
    return found


def has_other_address(base: BaseWorld, order_id: str) -> bool:
    """Whether a city names one address that the order could go to."""
    return any(len(keys) == 1 for keys in destinations(base, order_id).values())


def address(draw: Draw, order_id: str) -> Intent:
    """The order goes to another address on the customer's file: the one in a city, or, where that
    is left open, one of several in it.
    """
    low, high = draw.config.ambiguity if draw.slot == "address" else (1, 1)
    fitting = {
        city: keys
        for city, keys in destinations(draw.base, order_id).items()
        if low <= len(keys) <= high
    }
    city = draw.rng.choice(sorted(fitting))
    address_id = draw.rng.choice(fitting[city])
    referent, missing = draw.refer(order_id), draw.slot != "address" and draw.leaves_out()
    referent = replace(referent, candidates=max(referent.candidates, len(fitting[city])))
    text = draw.words(
        "address_missing" if missing else "address",
        order=referent.phrase,
        wanted=None if missing else city,
    )
    request = draw.request("address", text, referent, item=False, wanted=None if missing else city)
    required = RowPredicate("orders", {"id": order_id, "address_id": address_id})
    street = (
        {"street": draw.base.tables["addresses"][address_id]["street"]}
        if draw.slot == "address"
        else {}
    )
    details = {**referent.details, **({"city": city} if missing else {}), **street}
    return Intent(
        request, details, (required,), referent=referent, twists=("missing",) if missing else ()
    )


def coupon(draw: Draw, order_id: str, code: str | None = None, tells: bool | None = None) -> Intent:
    """A coupon lowers the total of a pending order."""
    base = draw.base
    if code is None:
        code = draw.rng.choice(sorted(base.tables["coupons"]))
    tell, missing = draw.rng.random() < 0.75 if tells is None else tells, draw.leaves_out()
    referent = draw.refer(order_id)
    lines = [base.tables["lines"][key] for key in base.lines_of[order_id]]
    gross_cents = sum(line["unit_price_cents"] * line["quantity"] for line in lines)
    total_cents = discounted_cents(gross_cents, base.tables["coupons"][code]["percent"])
    text = (
        draw.words(
            "coupon_missing" if missing else "coupon",
            order=referent.phrase,
            wanted=None if missing else code,
        )
        + WORDS["tell_total"] * tell
    )
    request = draw.request(
        "coupon", text, referent, item=False, wanted=None if missing else code, tell=tell
    )
    required = RowPredicate("orders", {"id": order_id, "coupon": code})
    free = (f"orders/{order_id}/total_cents", f"orders/{order_id}/discount_percent")
    told = (ToldFact("money", total_cents, order_id),) if tell else ()
    details = {**referent.details, **({"coupon": code} if missing else {})}
    return Intent(
        request,
        details,
        (required,),
        free,
        told,
        referent=referent,
        twists=("missing",) if missing else (),
    )


def compensation(draw: Draw, order_id: str) -> Intent:
    """Store credit for a parcel that came too late."""
    base, order = draw.base, draw.base.tables["orders"][order_id]
    referent = draw.refer(order_id)
    request = draw.request(
        "compensation", draw.words("compensation", order=referent.phrase), referent, item=False
    )
    amount_cents = base.rules.compensation_cents
    required = (
        RowPredicate(
            "refunds", {"order_id": order_id, "amount_cents": amount_cents, "to": STORE_CREDIT}
        ),
        RowPredicate("orders", {"id": order_id, "refunded_cents": amount_cents}),
    )
    return Intent(
        request,
        dict(referent.details),
        required,
        (f"customers/{order['customer_id']}/credit_cents",),
        referent=referent,
    )


def deserves_compensation(base: BaseWorld, order_id: str) -> bool:
    """R12, for an order that cost more than the compensation."""
    order = base.tables["orders"][order_id]
    if (
        order["status"] != "delivered"
        or order["total_cents"] <= base.rules.compensation_cents
        or "R12" not in base.rules.in_force
    ):
        return False
    return is_late(base.rules, order["promised"], order["delivered"])


Maker = Callable[[Draw, str], Intent]
