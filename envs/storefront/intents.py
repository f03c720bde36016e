"""One request of a customer, compiled: words, what the customer knows, and what must be true and said at the end."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from envs.storefront.config import StorefrontConfig
from envs.storefront.customer import PHRASES
from envs.storefront.referents import Referent, described, refer
from envs.storefront.rules import BEFORE_SHIPPING, CANCELLABLE, discounted_cents, within_window
from envs.storefront.script import Kind, Request
from envs.storefront.tool_schemas import STORE_CREDIT
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
    candidates: int = 1


@dataclass(frozen=True, slots=True)
class Draw:
    """What a maker of intents draws from."""

    rng: Random
    config: StorefrontConfig
    base: BaseWorld
    number: int

    def detail(self, name: str) -> str:
        """One of the customer's preferences."""
        return self.rng.choice(sorted(PHRASES[name]))

    def refer(self, order_id: str, line_keys: list[str] | None = None) -> Referent:
        """Words for an order."""
        return refer(self.rng, self.config, self.base, order_id, line_keys or list(self.base.lines_of[order_id]))

    def request(self, kind: Kind, text: str, referent: Referent, *, item: bool, wanted: str | None = None, tell: bool = False) -> Request:
        """The stated form; the item is part of it where the request is about one, or where it stands for the order."""
        colour, noun = described(self.base, referent.line_key) if item or not referent.by_id else (None, None)
        return Request(self.number, kind, text, referent.stated_order, colour, noun, None, wanted, tell)


def _cancel(draw: Draw, order_id: str) -> Intent:
    referent = draw.refer(order_id)
    reason = draw.detail("reason")
    text = draw.rng.choice(("Please cancel {}.", "I want to cancel {}.", "Could you cancel {} for me?")).format(referent.phrase)
    request = draw.request("cancel", text, referent, item=False)
    required = RowPredicate("orders", {"id": order_id, "status": "cancelled", "cancel_reason": reason})
    return Intent(request, {**referent.details, "reason": reason}, (required,), candidates=referent.candidates)


def _refused_cancel(draw: Draw, order_id: str) -> Intent:
    intent = _cancel(draw, order_id)
    refusal = Refusal(str(draw.number), "R3", order_id)
    return Intent(intent.request, intent.details, refusals=(refusal,), candidates=intent.candidates)


def returnable(base: BaseWorld, order_id: str, *, late: bool = False, final_sale: bool = False) -> list[str]:
    """Delivered lines that are (not) past the window and (not) final sale."""
    order = base.tables["orders"][order_id]
    tier = base.tables["customers"][order["customer_id"]]["tier"]
    if order["status"] != "delivered" or within_window(base.rules, tier, order["delivered"], base.today) is late:
        return []
    return [key for key in base.lines_of[order_id] if (_category(base, key) in base.rules.final_sale) is final_sale]


def _category(base: BaseWorld, line_key: str) -> str:
    variant = base.tables["variants"][base.tables["lines"][line_key]["sku"]]
    return str(base.tables["products"][variant["product_id"]]["category"])


def _return_words(draw: Draw, order_id: str, line_keys: list[str]) -> tuple[Referent, Request, list[str]]:
    """An item, or the whole order where every line of it qualifies."""
    referent = draw.refer(order_id, line_keys)
    whole = referent.by_id and len(line_keys) == len(draw.base.lines_of[order_id]) > 1 and draw.rng.random() < 0.5
    if whole:
        text = f"I want to return everything from {referent.phrase}."
        return referent, draw.request("return", text, referent, item=False), line_keys
    where = f" from {referent.phrase}" if referent.by_id else " that I ordered"
    text = draw.rng.choice(("I want to return the {}{}.", "Please take back the {}{}.")).format(referent.item, where)
    return referent, draw.request("return", text, referent, item=True), [referent.line_key]


def _paid_cents(base: BaseWorld, order_id: str, line_keys: list[str]) -> int:
    lines = [base.tables["lines"][key] for key in line_keys]
    gross_cents = sum(line["unit_price_cents"] * line["quantity"] for line in lines)
    return discounted_cents(gross_cents, base.tables["orders"][order_id]["discount_percent"])


def _return(draw: Draw, order_id: str) -> Intent:
    base = draw.base
    order = base.tables["orders"][order_id]
    referent, request, line_keys = _return_words(draw, order_id, returnable(base, order_id))
    method, refund_to = draw.detail("method"), draw.detail("refund_to")
    amount_cents = _paid_cents(base, order_id, line_keys)
    required = [RowPredicate("lines", {"id": key, "status": "return_requested", "return_method": method}) for key in line_keys]
    free: tuple[str, ...] = ()
    if amount_cents > base.rules.refund_limit_cents:
        required.append(RowPredicate("escalations", {"order_id": order_id, "reason_code": "refund_limit"}))
        required.append(RowPredicate("refunds", {"order_id": order_id}, count=0))
    else:
        to = STORE_CREDIT if refund_to == STORE_CREDIT else order["payment_id"]
        required.append(RowPredicate("refunds", {"order_id": order_id, "amount_cents": amount_cents, "to": to}))
        required.append(RowPredicate("orders", {"id": order_id, "refunded_cents": amount_cents}))
        free = (f"customers/{order['customer_id']}/credit_cents",) if to == STORE_CREDIT else ()
    details = {**referent.details, "method": method, "refund_to": refund_to}
    return Intent(request, details, tuple(required), free, candidates=referent.candidates)


def _refused_return(draw: Draw, order_id: str) -> Intent:
    late = returnable(draw.base, order_id, late=True)
    final = returnable(draw.base, order_id, final_sale=True)
    referent, request, _ = _return_words(draw, order_id, late or final)
    details = {**referent.details, "method": draw.detail("method"), "refund_to": draw.detail("refund_to")}
    refusal = Refusal(str(draw.number), "R4" if late else "R8", order_id)
    return Intent(request, details, refusals=(refusal,), candidates=referent.candidates)


def other_colours(base: BaseWorld, line_key: str) -> dict[str, str]:
    """Colour -> sku of the variants that a line could be exchanged for: same size, in stock, not in the order already."""
    line = base.tables["lines"][line_key]
    now = base.tables["variants"][line["sku"]]
    present = {described(base, key) for key in base.lines_of[line["order_id"]]}
    noun = described(base, line_key)[1]
    found = {}
    for sku in base.variants_of[now["product_id"]]:
        row = base.tables["variants"][sku]
        if row["size"] == now["size"] and (row["colour"], noun) not in present:
            found[row["colour"]] = sku
    return found


def _exchange(draw: Draw, order_id: str) -> Intent:
    base = draw.base
    referent = draw.refer(order_id, [key for key in base.lines_of[order_id] if other_colours(base, key)])
    options = other_colours(base, referent.line_key)
    colour = draw.rng.choice(sorted(options))
    tell = draw.rng.random() < 0.6
    where = f" in {referent.phrase}" if referent.by_id else " that I ordered"
    text = f"Please exchange the {referent.item}{where} for the same in {colour}."
    line = base.tables["lines"][referent.line_key]
    others_cents = sum(
        base.tables["lines"][key]["unit_price_cents"] * base.tables["lines"][key]["quantity"]
        for key in base.lines_of[order_id]
        if key != referent.line_key
    )
    gross_cents = others_cents + base.tables["variants"][options[colour]]["price_cents"] * line["quantity"]
    total_cents = discounted_cents(gross_cents, base.tables["orders"][order_id]["discount_percent"])
    request = draw.request("exchange", text + _TELL * tell, referent, item=True, wanted=colour, tell=tell)
    required = (
        RowPredicate("lines", {"id": referent.line_key, "sku": options[colour]}),
        RowPredicate("orders", {"id": order_id, "modified": True}),
    )
    free = (f"lines/{referent.line_key}/unit_price_cents", f"orders/{order_id}/total_cents", "variants/*/stock")
    told = (ToldFact("money", total_cents, order_id),) if tell else ()
    return Intent(request, dict(referent.details), required, free, told, candidates=referent.candidates)


_TELL = " Tell me the new total of the order, please."


def _address(draw: Draw, order_id: str) -> Intent:
    base = draw.base
    order = base.tables["orders"][order_id]
    address_id = draw.rng.choice([key for key in base.addresses_of[order["customer_id"]] if key != order["address_id"]])
    city = base.tables["addresses"][address_id]["city"]
    referent = draw.refer(order_id)
    text = draw.rng.choice(("Please send {} to my address in {}.", "I need {} to go to my address in {} instead.")).format(
        referent.phrase, city
    )
    request = draw.request("address", text, referent, item=False, wanted=city)
    required = RowPredicate("orders", {"id": order_id, "address_id": address_id})
    return Intent(request, dict(referent.details), (required,), candidates=referent.candidates)


def _coupon(draw: Draw, order_id: str) -> Intent:
    base = draw.base
    code = draw.rng.choice(sorted(base.tables["coupons"]))
    tell = draw.rng.random() < 0.75
    referent = draw.refer(order_id)
    gross_cents = sum(
        line["unit_price_cents"] * line["quantity"] for line in map(base.tables["lines"].__getitem__, base.lines_of[order_id])
    )
    total_cents = discounted_cents(gross_cents, base.tables["coupons"][code]["percent"])
    request = draw.request(
        "coupon", f"Please apply the coupon {code} to {referent.phrase}." + _TELL * tell, referent, item=False, wanted=code, tell=tell
    )
    required = RowPredicate("orders", {"id": order_id, "coupon": code})
    free = (f"orders/{order_id}/total_cents", f"orders/{order_id}/discount_percent")
    told = (ToldFact("money", total_cents, order_id),) if tell else ()
    return Intent(request, dict(referent.details), (required,), free, told, candidates=referent.candidates)


def _refund_query(draw: Draw, order_id: str) -> Intent:
    referent = draw.refer(order_id, returnable(draw.base, order_id))
    where = f" from {referent.phrase}" if referent.by_id else " that I ordered"
    text = f"How much would I get back if I returned the {referent.item}{where}?"
    fact = ToldFact("money", _paid_cents(draw.base, order_id, [referent.line_key]), order_id)
    request = draw.request("refund_query", text, referent, item=True)
    return Intent(request, dict(referent.details), told=(fact,), candidates=referent.candidates)


def _track(draw: Draw, order_id: str) -> Intent:
    referent = draw.refer(order_id)
    shipment = draw.base.tables["shipments"][draw.base.shipment_of[order_id][0]]
    text = f"Where is {referent.phrase}, and on which day will it arrive?"
    told = (ToldFact("status", shipment["status"], order_id), ToldFact("date", shipment["arrives"], order_id))
    request = draw.request("track", text, referent, item=False)
    return Intent(request, dict(referent.details), told=told, candidates=referent.candidates)


def price_query(draw: Draw) -> Intent:
    """A question that concerns no order."""
    sku = draw.rng.choice(sorted(draw.base.tables["variants"]))
    variant = draw.base.tables["variants"][sku]
    noun = draw.base.tables["products"][variant["product_id"]]["noun"]
    size = None if variant["size"] == "one" else variant["size"]
    words = f"{variant['colour']} {noun}" + (f" in size {size}" if size else "")
    request = Request(draw.number, "price_query", f"What does the {words} cost now?", None, variant["colour"], noun, size)
    return Intent(request, told=(ToldFact("money", variant["price_cents"], sku),))


Maker = Callable[[Draw, str], Intent]


def makers(base: BaseWorld, order_id: str) -> dict[str, Maker]:
    """The feasible requests about an order, by kind."""
    order = base.tables["orders"][order_id]
    found: dict[str, Maker] = {}
    if order["status"] in CANCELLABLE:
        found["cancel"] = _cancel
    if order["status"] in BEFORE_SHIPPING:
        found["address"] = _address
    if order["status"] == "pending" and any(other_colours(base, key) for key in base.lines_of[order_id]):
        found["exchange"] = _exchange
    if order["status"] == "pending" and order["coupon"] is None:
        found["coupon"] = _coupon
    if returnable(base, order_id):
        found["return"] = _return
        found["refund_query"] = _refund_query
    if order["status"] == "shipped":
        found["track"] = _track
    return found


def refusal_maker(base: BaseWorld, order_id: str) -> Maker | None:
    """A request about this order that exactly one rule forbids, if there is one."""
    if base.tables["orders"][order_id]["status"] == "shipped":
        return _refused_cancel
    if returnable(base, order_id, late=True) or returnable(base, order_id, final_sale=True):
        return _refused_return
    return None
