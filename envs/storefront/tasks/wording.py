"""The requests that calls serve, each in words."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from synth.envs.storefront.customer.script import KIND_OF, KINDS, Request
from synth.envs.storefront.tasks.compiled import after
from synth.envs.storefront.tasks.intents import WORDS, Draw, Intent, Referent
from synth.envs.storefront.tasks.referent import by_id, refer
from synth.envs.storefront.world.options import refunds_of
from synth.envs.storefront.world.policy import STORE_CREDIT, Call
from synth.envs.storefront.world.views import Shown, cards_of, cents_of, numbered
from synth.envs.storefront.world.world import BaseWorld
from synth.schemas import Tell


def worded(draw: Draw, call: Call) -> Intent:
    """The request that a call serves, in words."""
    tool, made = call
    kind = KIND_OF[tool]
    row = KINDS[kind]
    base = draw.base
    order_id = made.get("order_id")

    if tool == "create_return":
        return _returned(draw, **made)
    if order_id is None or tool == "escalate":
        return _about_no_order(draw, call)

    referent = _referent_of(draw, base.orders[order_id], made)
    is_open = draw.slot == "address" and tool == "change_address"
    details = {name: made[name] for name in row.get("details", ())}
    wanted = _wanted(base, made)
    free = tuple[str, ...]()

    if is_open:
        # the street tells apart what the city does not
        details["street"] = base.row("addresses", made["address_id"])["street"]
        referent = replace(referent, candidates=draw.in_city(made["address_id"]))

    if "reason" in details and draw.rng.random() < draw.config.reticence / 3:
        # the customer does not know one
        details = {}
        free = (f"orders/{order_id}/cancel_reason",)

    # drawn before the words, for a change of mind asks for the same
    tell = draw.rng.random() < row.get("tells", 0) if draw.tell is None else draw.tell
    missing = wanted is not None and not is_open and draw.rng.random() < draw.config.missing

    intent = draw.intent(
        kind,
        referent,
        call,
        wanted=wanted,
        missing=missing and draw.config.dialogue,
        tell=tell,
        told=answer_to(base, call) if tell or "answers" in row else (),
        details=details,
    )

    return replace(intent, free=free)


def _referent_of(
    draw: Draw,
    order: Shown,
    made: Mapping[str, Any],
) -> Referent:
    """Words for an order and for the lines of a call; somebody else's is named by its id."""
    if order["customer_id"] != draw.customer_id:
        return by_id(draw.base, order["order_id"])

    return refer(draw, order["order_id"], numbered(order, list(map(int, made.get("lines", ())))))


def _wanted(
    base: BaseWorld,
    made: Mapping[str, Any],
) -> str | None:
    """What a customer says that they want: a city, a colour, or a coupon."""
    if "address_id" in made:
        return str(base.row("addresses", made["address_id"])["city"])
    if isinstance(made.get("lines"), Mapping):
        return str(base.row("variants", next(iter(made["lines"].values())))["colour"])

    return made.get("code")


def answer_to(
    base: BaseWorld,
    call: Call,
) -> tuple[Tell, ...]:
    """What is told about a call: where a parcel is, what a return brings, the new total."""
    tool, made = call
    order_id = made["order_id"]

    if tool == "track_shipment":
        shipment = base.row("shipments", base.shipment_of[order_id][0])

        return (
            Tell("status", shipment["status"], order_id),
            Tell("date", shipment["arrives"], order_id),
        )

    if tool in ("quote_refund", "create_return"):
        order = base.orders[order_id]
        cents = cents_of(order, numbered(order, made["lines"]))
    else:
        # the total after the write, as the tool will compute it
        cents = after(base, [call]).row("orders", order_id)["total_cents"]

    return (Tell("money", cents, order_id),)


def _about_no_order(
    draw: Draw,
    call: Call,
) -> Intent:
    """A question for a price, somebody else's matter (R13), or a note, word for word."""
    tool, made = call
    kind = KIND_OF[tool]

    if tool == "escalate":
        request = Request(draw.number, kind, draw.words(kind))

        return Intent(
            request,
            (call,),
            free=("escalations/*/order_id",),
            complications=(kind,),
        )

    if tool == "add_note":
        stated = {"ticket_id": made["ticket_id"], "note": made["text"]}
        request = Request(draw.number, kind, draw.words(kind, **stated), **stated)

        return Intent(request, (call,), free=("notes/*/created",))

    return _priced(draw, call)


def _priced(draw: Draw, call: Call) -> Intent:
    """A question for the price of a variant, or for the one before, where there was one."""
    sku = call[1]["sku"]
    variant = draw.base.row("variants", sku)
    noun = draw.base.row("products", variant["product_id"])["noun"]
    colour = variant["colour"]
    size = None if variant["size"] == "one" else variant["size"]
    changed = variant["former_price_cents"] != variant["price_cents"]
    former = changed and draw.rng.random() < 0.25
    item = f"{colour} {noun}" + (f" in size {size}" if size else "")
    text = draw.words("former_price" if former else "price_query", item=item)
    cents = variant["former_price_cents" if former else "price_cents"]
    stated = {"colour": colour, "noun": noun, "size": size, "former": former}

    return Intent(
        Request(draw.number, "price_query", text, **stated),
        (call,),
        told=(Tell("money", cents, sku),),
    )


def _returned(
    draw: Draw,
    order_id: str,
    lines: list[int],
    method: str,
    refund_to: str = "",
) -> Intent:
    """Lines go back, one or all; the money goes where the customer wants it, for a gift to
    credit.
    """
    order = draw.base.orders[order_id]
    refund_to = refund_to or draw.detail("refund_to")
    # ways end with credit; above the limit there is one, the escalation
    way = refunds_of(draw.base.rules, order, lines)[-1 if refund_to == STORE_CREDIT else 0]
    back = {"order_id": order_id, "lines": lines, "method": method}
    details = {"method": method, "refund_to": refund_to}
    words, parts = "return", dict[str, str]()
    is_gift = order["customer_id"] != draw.customer_id

    if is_gift:
        words, referent, parts = _as_gift(draw, order, lines)
    else:
        referent = _referent_of(draw, order, back)

        if len(lines) > 1:
            words = "return_all"
            # all of it goes back: an item in the words would sound like that item alone
            referent = referent if referent.stands_alone else by_id(draw.base, order_id)

    done = draw.intent(
        "return",
        referent,
        ("create_return", back),
        way,
        words=words,
        details=details,
        parts=parts,
    )

    return done.complicated(*["by_other_person"] * is_gift)


def _as_gift(
    draw: Draw,
    order: Shown,
    lines: list[int],
) -> tuple[str, Referent, dict[str, str]]:
    """A gift is returned by its recipient: the wording, the words for it (its id, or who gave it
    where they gave one only), and what fills them in.
    """
    base = draw.base
    order_id = order["order_id"]
    giver_id = order["customer_id"]
    gifts = [base.orders[key]["customer_id"] for key in base.gifts_of[draw.customer_id]]
    # somebody who gave two gifts does not say by their name which is meant
    several = draw.referent is not None or gifts.count(giver_id) > 1
    named = several or draw.rng.random() < 0.5
    giver = base.row("customers", giver_id)["name"]
    (line,) = numbered(order, lines)
    referent = by_id(base, order_id, line)

    if not named:
        referent = replace(referent, by_id=False, gift_of=giver)

    words = "gift_return" if named else "gift_return_of"

    return words, referent, {"order_id": order_id, "giver": giver}


def to_card(
    draw: Draw,
    intent: Intent,
    payment_id: str,
    *,
    is_open: bool = False,
) -> Intent:
    """A return for which the money must go to a card, which the customer names; where that is left
    open they say "my card", one of several.
    """
    cards = cards_of(draw.file)
    last4 = next(digits for digits, key in cards.items() if key == payment_id)

    calls = tuple(
        (tool, {**made, "to": payment_id} if tool == "issue_refund" else made)
        for tool, made in intent.calls
    )

    # the card takes the place of the choice between card and credit
    kept = {name: value for name, value in intent.details.items() if name != "refund_to"}
    done = replace(intent, calls=calls, details={**kept, "card": last4})

    if not is_open:
        return done.complicated(words=WORDS["that_card"].format(last4=last4), pay_to=last4)

    referent = done.referent and replace(done.referent, candidates=len(cards))

    return replace(done.complicated(words=WORDS["my_card"], pay_to="card"), referent=referent)
