"""How the expert carries out each kind of request.

Each function raises `NotYetError` with the next calls, and returns where the request is settled.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from synth.envs.storefront.expert.errand import Errand, NotYetError
from synth.envs.storefront.expert.locating import located
from synth.envs.storefront.world.policy import STORE_CREDIT
from synth.envs.storefront.world.rules import BEFORE_SHIPPING
from synth.envs.storefront.world.views import Shown, cards_of


def carry_out(errand: Errand) -> None:
    """A request of any kind."""
    belief = errand.belief
    request = errand.request

    if request.kind in _WITHOUT_ORDER:
        return _WITHOUT_ORDER[request.kind](errand)

    # an order that a write failed on is not what it was when it was read
    order_id = located(errand)

    if order_id not in belief.orders or order_id in belief.doubtful:
        raise NotYetError(("get_order", {"order_id": order_id}))

    errand = replace(errand, order=belief.orders[order_id])
    # R10: to see that an order is somebody else's it had to be read
    errand.forbid("get_order")
    # after R8 what is left of a return is done; after another rule nothing, unless they gave in
    denied_by = belief.denied.get(request.number, "R8")

    if denied_by != "R8" and errand.holds(denied_by):
        return None

    return _ABOUT_ORDERS[request.kind](errand.with_item())


def _price(errand: Errand) -> None:
    """A price is searched for; a former one stands in the variant's history alone."""
    request = errand.request
    variant = errand.variant(request.colour, request.size or "one")

    if request.former and variant is not None and variant["sku"] not in errand.belief.variants:
        raise NotYetError(("get_variant", {"sku": variant["sku"]}))


def _out_of_scope(errand: Errand) -> None:
    """R13; `over_refuses` denies it."""
    if errand.wrong("over_refuses"):
        errand.deny("R13")

    reason = "out_of_scope"
    # a supervisor reads the request, not the number that it has in this conversation
    summary = f"The customer asks: {errand.request.text}"
    # one escalation is enough, whatever its words
    codes = [made["reason_code"] for name, made in errand.belief.writes if name == "escalate"]

    if reason not in codes:
        raise NotYetError(("escalate", {"reason_code": reason, "summary": summary}))


def _note(errand: Errand) -> None:
    """A note is written word for word, once."""
    made = {
        "ticket_id": errand.request.ticket_id,
        "text": errand.request.note,
    }

    if ("add_note", made) not in errand.belief.writes:
        raise NotYetError(("add_note", made))


def _reread(errand: Errand) -> None:
    """A total that is to be told is read again after a write; `stale_reads` does not."""
    outdated = errand.order_id in errand.belief.outdated and not errand.wrong("stale_reads")

    if errand.request.tell_total and outdated:
        raise NotYetError(("get_order", {"order_id": errand.order_id}))


def _cancel(errand: Errand) -> None:
    """R3."""
    status = errand.order["status"]

    if errand.written("cancel_order") or status == "cancelled":
        return
    if status not in BEFORE_SHIPPING and errand.request.condition == "not_shipped":
        return _track(errand)

    errand.forbid("cancel_order")
    # without an answer the usual reason is taken
    errand.confirm("reason")
    errand.write("cancel_order", reason=errand.detail("reason"))


def _exchange(errand: Errand) -> None:
    """R7; the customer says the colour, the catalogue has the variant."""
    order = errand.order
    lines = errand.lines
    belief = errand.belief

    if errand.written("modify_lines"):
        return _reread(errand)
    if not lines or order["status"] == "cancelled":
        return

    errand.forbid("modify_lines")
    colour = errand.request.wanted or errand.told("colour")
    # the same size, for the customer speaks of the colour alone
    variant = errand.variant(colour, lines[0]["size"])

    if variant is None:
        return

    sku = variant["sku"]
    condition = errand.request.condition
    made = {str(lines[0]["line"]): sku}
    # who reads stale data takes the search index for the live stock
    trusts_search = errand.wrong("stale_reads")
    looks = errand.plan.strategy.checks_stock or condition is not None

    if looks and sku not in belief.variants and not trusts_search:
        raise NotYetError(("get_variant", {"sku": sku}))

    if condition == "in_stock":
        # too few, as the tool said, the live stock, or at least the search index
        tried = not errand.plan.can(
            (
                "modify_lines",
                {"order_id": errand.order_id, "lines": made},
            )
        )

        live = belief.variants.get(sku)
        enough = variant["in_stock"] if live is None else live["stock"] >= lines[0]["quantity"]

        if tried or not enough:
            return None if trusts_search and tried else _cancel(errand)

    errand.write("modify_lines", lines=made)


def _address(errand: Errand) -> None:
    """R11; the customer says the city, and the street where the city has several addresses."""
    order = errand.order

    if errand.written("change_address"):
        return

    errand.forbid("change_address")
    rows: list[Shown] = errand.file()["addresses"]
    city = errand.request.wanted or errand.told("city")
    here = [row for row in rows if row["city"] == city]

    if not here and errand.holds("R11") and not errand.wrong("first_address"):
        errand.deny("R11", about="file")

    # who ignores R11, or takes the first address, sends it somewhere
    anywhere = not here or errand.wrong("first_address")
    fitting = rows if anywhere else here
    others = [row for row in fitting if row["address_id"] != order["address_id"]]

    if len(others) > 1 and not anywhere and not errand.wrong("first_match"):
        street = errand.told("street")
        others = [row for row in others if row["street"] == street]

    if others:
        errand.write("change_address", address_id=others[0]["address_id"])


def _coupon(errand: Errand) -> None:
    """R9."""
    if errand.written("apply_coupon"):
        return _reread(errand)
    if errand.order["coupon"] is not None and errand.order["coupon"] == errand.wanted:
        return

    errand.forbid("apply_coupon")

    errand.write(
        "apply_coupon",
        code=errand.request.wanted or errand.told("coupon"),
    )


def _compensation(errand: Errand) -> None:
    """R12."""
    if errand.written("issue_refund"):
        return

    # whole dollars, as the policy names it
    amount = errand.plan.rules.compensation_cents // 100
    errand.forbid("issue_refund", to=STORE_CREDIT)
    errand.write("issue_refund", amount=amount, to=STORE_CREDIT)


def _track(errand: Errand) -> None:
    """A parcel is looked at once."""
    if errand.order_id not in errand.belief.parcels:
        raise NotYetError(("track_shipment", {"order_id": errand.order_id}))


def _refund_query(errand: Errand) -> None:
    """A return of the lines is quoted once."""
    if errand.lines:
        errand.quote(errand.lines)


def _return(errand: Errand) -> None:
    """R15, R4 and R8 as order and file show them, then slip and refund of the lines that are
    left.
    """
    lines = errand.lines
    belief = errand.belief
    request = errand.request

    if not lines or errand.order["status"] != "delivered":
        return

    errand.forbid("create_return")
    # this reads the file, with the tier that R4 needs: then the rules are asked once more
    paid_to = _destination(errand)
    errand.forbid("create_return")
    final = [line for line in lines if errand.plan.rules.is_final_sale(line["category"])]

    if final and errand.holds("R8"):
        if request.number not in belief.denied:
            errand.deny("R8")

        lines = [line for line in lines if line not in final]

        if not lines or errand.wrong("all_or_nothing"):
            return

    # it brings too little: nothing is returned, and the amount is told
    if request.least is not None and errand.quote(lines) < request.least:
        return

    # a gift becomes credit, and a card was named: there is no choice to ask for
    settled = errand.order["recipient_id"] is not None or request.pay_to is not None
    errand.confirm("method", *([] if settled else ["refund_to"]))
    amount = errand.quote(lines)
    # a slip that is there already needs no second one
    requested = any(line["status"] == "return_requested" for line in lines)

    if not requested and not errand.written("create_return"):
        numbers = [line["line"] for line in lines]

        errand.write(
            "create_return",
            lines=numbers,
            method=errand.detail("method"),
        )

    _refund(errand, paid_to, amount)


def _destination(errand: Errand) -> str:
    """Where money goes that does not become credit: what the order was paid with, or the card that
    the customer names, if R5 allows it.
    """
    file = errand.file()
    last4 = errand.request.pay_to
    paid_with = errand.order["payment_id"]

    if last4 is None:
        return str(paid_with)

    cards = cards_of(file)

    if last4 == "card":
        # "my card" is clear where there is one
        sure = len(cards) == 1 or errand.wrong("first_match")
        last4 = next(iter(cards)) if sure else errand.told("card")

    if last4 not in cards:
        raise NotYetError

    errand.forbid("issue_refund", to=cards[last4])

    return cards[last4]


def _refund(errand: Errand, paid_to: str, amount: float) -> None:
    """The second half of a return: money back, or an escalation above the limit of R6; to credit
    for a gift (R15).
    """
    # once escalated the refund is somebody else's
    limit = {
        "order_id": errand.order_id,
        "reason_code": "refund_limit",
    }

    if errand.written("issue_refund") or errand.written("escalate", reason_code="refund_limit"):
        return

    if errand.plan.rules.above_limit(round(amount * 100)) and not errand.wrong("ignores_limit"):
        summary = f"Refund of ${amount:.2f} for order {errand.order_id} is above the limit."

        raise NotYetError(("escalate", {**limit, "summary": summary}))

    to_credit = errand.order["recipient_id"] or errand.detail("refund_to") == STORE_CREDIT

    errand.write(
        "issue_refund",
        amount=amount,
        to=STORE_CREDIT if to_credit else paid_to,
    )


_WITHOUT_ORDER: Mapping[str, Callable[[Errand], None]] = {
    "price_query": _price,
    "out_of_scope": _out_of_scope,
    "note": _note,
}
_ABOUT_ORDERS: Mapping[str, Callable[[Errand], None]] = {
    "cancel": _cancel,
    "return": _return,
    "exchange": _exchange,
    "address": _address,
    "coupon": _coupon,
    "compensation": _compensation,
    "refund_query": _refund_query,
    "track": _track,
}
