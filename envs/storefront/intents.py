"""One request of a customer that can be done, compiled: words, what the customer knows, and what must be true and said at the end."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from envs.storefront.config import StorefrontConfig
from envs.storefront.customer import PHRASES
from envs.storefront.referents import Referent, described, refer
from envs.storefront.rules import BEFORE_SHIPPING, CANCELLABLE, above_limit, discounted_cents, is_final_sale, is_late, within_window
from envs.storefront.script import Kind, Request, Revision
from envs.storefront.shop_events import ShopEvent
from envs.storefront.tool_schemas import STORE_CREDIT
from envs.storefront.wordings import TELL, WORDINGS
from envs.storefront.world import BaseWorld
from schemas.check import Refusal, RowPredicate, ToldFact


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
    """What a maker of intents draws from; `referent` fixes the words for the order, `customer_id` is who speaks."""

    rng: Random
    config: StorefrontConfig
    base: BaseWorld
    number: int
    customer_id: str
    ambiguous: bool = False
    referent: Referent | None = None

    def detail(self, name: str) -> str:
        """One of the customer's preferences."""
        return self.rng.choice(sorted(PHRASES[name]))

    def words(self, name: str, **parts: str | None) -> str:
        """One of the wordings of the variant."""
        return self.rng.choice(WORDINGS[name][self.config.variant]).format(**parts)

    def leaves_out(self) -> bool:
        """Whether the customer forgets to say what is wanted."""
        return self.rng.random() < self.config.missing and self.config.dialogue

    def refer(self, order_id: str, line_keys: list[str] | None = None) -> Referent:
        """Words for an order."""
        if self.referent is not None:
            return self.referent
        keys = line_keys or list(self.base.lines_of[order_id])
        return refer(self.rng, self.config, self.base, order_id, keys, ambiguous=self.ambiguous)

    def request(self, kind: Kind, text: str, referent: Referent, *, item: bool, wanted: str | None = None, tell: bool = False) -> Request:
        """The stated form; the item is part of it where the request is about one, or where it stands for the order."""
        spoken = item or not (referent.by_id or referent.after)
        colour, noun = described(self.base, referent.line_key) if spoken else (None, None)
        order_id, after = referent.stated_order, referent.after
        return Request(self.number, kind, text, order_id=order_id, colour=colour, noun=noun, wanted=wanted, tell_total=tell, after=after)


def where(referent: Referent, preposition: str) -> str:
    """The order of an item, where the item alone does not stand for it."""
    return f" {preposition} {referent.phrase}" if referent.by_id or referent.after else " that I ordered"


def cancel(draw: Draw, order_id: str) -> Intent:
    """An order is cancelled for the customer's reason; some do not know one."""
    referent = draw.refer(order_id)
    reason = draw.detail("reason") if draw.rng.random() >= draw.config.reticence / 3 else None
    request = draw.request("cancel", draw.words("cancel", order=referent.phrase), referent, item=False)
    known = {"cancel_reason": reason} if reason is not None else {}
    required = RowPredicate("orders", {"id": order_id, "status": "cancelled", **known})
    free = () if known else (f"orders/{order_id}/cancel_reason",)
    details = {**referent.details, **({"reason": reason} if reason is not None else {})}
    return Intent(request, details, (required,), free, referent=referent)


def category(base: BaseWorld, line_key: str) -> str:
    """The category of a line's product."""
    variant = base.tables["variants"][base.tables["lines"][line_key]["sku"]]
    return str(base.tables["products"][variant["product_id"]]["category"])


def returnable(base: BaseWorld, order_id: str, customer_id: str) -> list[str]:
    """Delivered lines within the window that are no final sale."""
    order = base.tables["orders"][order_id]
    tier = base.tables["customers"][customer_id]["tier"]
    if order["status"] != "delivered" or not within_window(base.rules, tier, order["delivered"], base.today):
        return []
    return [key for key in base.lines_of[order_id] if not is_final_sale(base.rules, category(base, key))]


def paid_cents(base: BaseWorld, order_id: str, line_keys: list[str]) -> int:
    """What was paid for the lines after the order's discount."""
    lines = [base.tables["lines"][key] for key in line_keys]
    gross_cents = sum(line["unit_price_cents"] * line["quantity"] for line in lines)
    return discounted_cents(gross_cents, base.tables["orders"][order_id]["discount_percent"])


def refunded(draw: Draw, order_id: str, line_keys: list[str], method: str | None, refund_to: str) -> tuple[list[RowPredicate], list[str]]:
    """What holds after a return of the lines, and what may change with it."""
    base, order = draw.base, draw.base.tables["orders"][order_id]
    amount_cents = paid_cents(base, order_id, line_keys)
    required = [RowPredicate("lines", {"id": key, "status": "return_requested", "return_method": method}) for key in line_keys]
    if above_limit(base.rules, amount_cents):
        required.append(RowPredicate("escalations", {"order_id": order_id, "reason_code": "refund_limit"}))
        required.append(RowPredicate("refunds", {"order_id": order_id}, count=0))
        return required, []
    to = STORE_CREDIT if refund_to == STORE_CREDIT or order["recipient_id"] is not None else order["payment_id"]
    required.append(RowPredicate("refunds", {"order_id": order_id, "amount_cents": amount_cents, "to": to}))
    required.append(RowPredicate("orders", {"id": order_id, "refunded_cents": amount_cents}))
    owner = order["recipient_id"] or order["customer_id"]
    return required, [f"customers/{owner}/credit_cents"] if to == STORE_CREDIT else []


def return_(draw: Draw, order_id: str) -> Intent:
    """An item, or the whole order where every line of it can be returned; the money goes where the customer wants it."""
    line_keys = returnable(draw.base, order_id, draw.customer_id)
    referent = draw.refer(order_id, line_keys)
    many = len(line_keys) == len(draw.base.lines_of[order_id]) > 1
    whole = (referent.by_id or referent.after is not None) and many and draw.rng.random() < 0.5
    if whole:
        request = draw.request("return", draw.words("return_all", order=referent.phrase), referent, item=False)
    else:
        text = draw.words("return", item=referent.item, where=where(referent, "from"))
        request, line_keys = draw.request("return", text, referent, item=True), [referent.line_key]
    method, refund_to = draw.detail("method"), draw.detail("refund_to")
    required, free = refunded(draw, order_id, line_keys, method, refund_to)
    details = {**referent.details, "method": method, "refund_to": refund_to}
    return Intent(request, details, tuple(required), tuple(free), referent=referent)


def gift_return(draw: Draw, order_id: str) -> Intent:
    """A gift is returned by its recipient, who gets store credit, whatever they would like."""
    base, order = draw.base, draw.base.tables["orders"][order_id]
    line_key = draw.rng.choice(returnable(base, order_id, draw.customer_id))
    item = " ".join(described(base, line_key))
    giver = base.tables["customers"][order["customer_id"]]["name"]
    referent = Referent(order_id, line_key, True, 1, f"order {order_id}", item)
    text = draw.words("gift_return", item=item, order_id=order_id, giver=giver)
    request = draw.request("return", text, referent, item=True)
    method, refund_to = draw.detail("method"), draw.detail("refund_to")
    required, free = refunded(draw, order_id, [line_key], method, refund_to)
    details = {"method": method, "refund_to": refund_to}
    return Intent(request, details, tuple(required), tuple(free), referent=referent, twists=("by_other_person",))


def other_colours(base: BaseWorld, line_key: str) -> dict[str, str]:
    """Colour -> sku of the variants that a line could be exchanged for: same size, in none of the customer's orders already, so that the
    words for other orders mean the same before and after."""
    line = base.tables["lines"][line_key]
    now = base.tables["variants"][line["sku"]]
    owner = base.tables["orders"][line["order_id"]]["customer_id"]
    present = {described(base, key) for order_id in base.orders_of[owner] for key in base.lines_of[order_id]}
    noun = described(base, line_key)[1]
    found = {}
    for sku in base.variants_of[now["product_id"]]:
        row = base.tables["variants"][sku]
        if row["size"] == now["size"] and (row["colour"], noun) not in present:
            found[row["colour"]] = sku
    return found


def exchange(draw: Draw, order_id: str, colour: str | None = None, tells: bool | None = None) -> Intent:
    """A line becomes another variant; the order's total follows."""
    base = draw.base
    referent = draw.refer(order_id, [key for key in base.lines_of[order_id] if other_colours(base, key)])
    options = other_colours(base, referent.line_key)
    if colour is None:
        colour = draw.rng.choice(sorted(options))
    tell, missing = draw.rng.random() < 0.6 if tells is None else tells, draw.leaves_out()
    line = base.tables["lines"][referent.line_key]
    others = [base.tables["lines"][key] for key in base.lines_of[order_id] if key != referent.line_key]
    gross_cents = sum(other["unit_price_cents"] * other["quantity"] for other in others)
    gross_cents += base.tables["variants"][options[colour]]["price_cents"] * line["quantity"]
    total_cents = discounted_cents(gross_cents, base.tables["orders"][order_id]["discount_percent"])
    text = draw.words(
        "exchange_missing" if missing else "exchange", item=referent.item, where=where(referent, "in"), wanted=None if missing else colour
    )
    request = draw.request("exchange", text + TELL * tell, referent, item=True, wanted=None if missing else colour, tell=tell)
    required = (
        RowPredicate("lines", {"id": referent.line_key, "sku": options[colour]}),
        RowPredicate("orders", {"id": order_id, "modified": True}),
    )
    free = (f"lines/{referent.line_key}/unit_price_cents", f"orders/{order_id}/total_cents", "variants/*/stock")
    told = (ToldFact("money", total_cents, order_id),) if tell else ()
    details = {**referent.details, **({"colour": colour} if missing else {})}
    return Intent(request, details, required, free, told, referent=referent, twists=("missing",) if missing else ())


def address(draw: Draw, order_id: str) -> Intent:
    """The order goes to another address on the customer's file."""
    base = draw.base
    order = base.tables["orders"][order_id]
    address_id = draw.rng.choice([key for key in base.addresses_of[order["customer_id"]] if key != order["address_id"]])
    city = base.tables["addresses"][address_id]["city"]
    referent, missing = draw.refer(order_id), draw.leaves_out()
    text = draw.words("address_missing" if missing else "address", order=referent.phrase, wanted=None if missing else city)
    request = draw.request("address", text, referent, item=False, wanted=None if missing else city)
    required = RowPredicate("orders", {"id": order_id, "address_id": address_id})
    details = {**referent.details, **({"city": city} if missing else {})}
    return Intent(request, details, (required,), referent=referent, twists=("missing",) if missing else ())


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
    text = draw.words("coupon_missing" if missing else "coupon", order=referent.phrase, wanted=None if missing else code) + TELL * tell
    request = draw.request("coupon", text, referent, item=False, wanted=None if missing else code, tell=tell)
    required = RowPredicate("orders", {"id": order_id, "coupon": code})
    free = (f"orders/{order_id}/total_cents", f"orders/{order_id}/discount_percent")
    told = (ToldFact("money", total_cents, order_id),) if tell else ()
    details = {**referent.details, **({"coupon": code} if missing else {})}
    return Intent(request, details, (required,), free, told, referent=referent, twists=("missing",) if missing else ())


def compensation(draw: Draw, order_id: str) -> Intent:
    """Store credit for a parcel that came too late."""
    base, order = draw.base, draw.base.tables["orders"][order_id]
    referent = draw.refer(order_id)
    request = draw.request("compensation", draw.words("compensation", order=referent.phrase), referent, item=False)
    amount_cents = base.rules.compensation_cents
    required = (
        RowPredicate("refunds", {"order_id": order_id, "amount_cents": amount_cents, "to": STORE_CREDIT}),
        RowPredicate("orders", {"id": order_id, "refunded_cents": amount_cents}),
    )
    return Intent(request, dict(referent.details), required, (f"customers/{order['customer_id']}/credit_cents",), referent=referent)


def deserves_compensation(base: BaseWorld, order_id: str) -> bool:
    """R12, for an order that cost more than the compensation."""
    order = base.tables["orders"][order_id]
    if order["status"] != "delivered" or order["total_cents"] <= base.rules.compensation_cents or "R12" not in base.rules.in_force:
        return False
    return is_late(base.rules, order["promised"], order["delivered"])


Maker = Callable[[Draw, str], Intent]


def writers(base: BaseWorld, order_id: str, customer_id: str) -> dict[str, Maker]:
    """The requests about an order that change something and can be done, by kind."""
    order = base.tables["orders"][order_id]
    found: dict[str, Maker] = {}
    if order["status"] in CANCELLABLE:
        found["cancel"] = cancel
    if order["status"] in BEFORE_SHIPPING:
        found["address"] = address
    if order["status"] == "pending" and any(other_colours(base, key) for key in base.lines_of[order_id]):
        found["exchange"] = exchange
    if order["status"] == "pending" and order["coupon"] is None:
        found["coupon"] = coupon
    if order["recipient_id"] is None and returnable(base, order_id, customer_id):
        found["return"] = return_
    if order["recipient_id"] is None and deserves_compensation(base, order_id):
        found["compensation"] = compensation
    return found
