"""How the expert carries out each kind of request.

Each function raises `NotYetError` with the next calls; where the request is settled it gives the
facts that the customer is to be told of it, none where nothing was asked.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from synth.envs.storefront.expert.errand import Errand, NotYetError
from synth.envs.storefront.expert.locating import located
from synth.envs.storefront.expert.returns import returned
from synth.envs.storefront.world.policy import BEFORE_SHIPPING, STORE_CREDIT
from synth.envs.storefront.world.views import Shown


def carry_out(errand: Errand) -> Shown:
    """A request of any kind, and what is told of it: the facts, and the order or sku that they are
    about.
    """
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
        return {}

    facts = _ABOUT_ORDERS[request.kind](errand.with_item())

    return {"about": order_id, **facts} if facts else {}


def _price(errand: Errand) -> Shown:
    """A price is searched for; a former one stands in the variant's history alone."""
    request = errand.request
    variant = errand.variant(request.colour, request.size or "one")

    if variant is None:
        return {}

    sku = str(variant["sku"])
    live = errand.belief.variants.get(sku)

    if request.former and live is None:
        raise NotYetError(("get_variant", {"sku": sku}))

    # who reads stale data takes the price for the one before
    if live is None or not request.former or errand.wrong("stale_reads"):
        return {"about": sku, "price": variant["price"]}

    return {"about": sku, "former_price": live["price_history"][0]["price"]}


def _out_of_scope(errand: Errand) -> Shown:
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

    return {}


def _note(errand: Errand) -> Shown:
    """A note is written word for word, once."""
    note = ("add_note", {"ticket_id": errand.request.ticket_id, "text": errand.request.note})

    if note not in errand.belief.writes:
        raise NotYetError(note)

    return {}


def _total(errand: Errand) -> Shown:
    """The total after a write, where it is asked for: it is read again; `stale_reads` does not."""
    outdated = errand.order_id in errand.belief.outdated and not errand.wrong("stale_reads")

    if not errand.request.tell_total:
        return {}
    if outdated:
        raise NotYetError(("get_order", {"order_id": errand.order_id}))

    return {"total": errand.order["total"]}


def _cancel(errand: Errand) -> Shown:
    """R3; of what was found cancelled the status is told."""
    status = errand.order["status"]

    if errand.written("cancel_order"):
        return {}
    if status == "cancelled":
        return {"order_status": status}
    if status not in BEFORE_SHIPPING and errand.request.condition == "not_shipped":
        return _track(errand)

    errand.forbid("cancel_order")
    # without an answer the usual reason is taken
    errand.confirm("reason")
    errand.write("cancel_order", reason=errand.detail("reason"))

    return {}


def _exchange(errand: Errand) -> Shown:
    """R7; the customer says the colour, the catalogue has the variant."""
    lines = errand.lines
    belief = errand.belief

    if errand.written("modify_lines"):
        return _total(errand)
    if not lines or errand.order["status"] == "cancelled":
        return {}

    errand.forbid("modify_lines")
    # the same size, for the customer speaks of the colour alone
    variant = errand.variant(errand.wanted(), lines[0]["size"])

    if variant is None:
        return {}

    sku = variant["sku"]
    condition = errand.request.condition
    made = {str(lines[0]["line"]): sku}
    # who reads stale data takes the search index for the live stock
    trusts_search = errand.wrong("stale_reads")
    looks = errand.strategy.checks_stock or condition is not None

    if looks and sku not in belief.variants and not trusts_search:
        raise NotYetError(("get_variant", {"sku": sku}))

    if condition == "in_stock":
        # too few, as the tool said, the live stock, or at least the search index
        call = ("modify_lines", {"order_id": errand.order_id, "lines": made})
        tried = not errand.can(call)
        live = belief.variants.get(sku)
        enough = variant["in_stock"] if live is None else live["stock"] >= lines[0]["quantity"]

        if tried or not enough:
            return {} if trusts_search and tried else _cancel(errand)

    errand.write("modify_lines", lines=made)

    return {}


def _address(errand: Errand) -> Shown:
    """R11; the customer says the city, and the street where the city has several addresses."""
    if errand.written("change_address"):
        return {}

    errand.forbid("change_address")
    rows: list[Shown] = errand.file()["addresses"]
    city = errand.wanted()
    here = [row for row in rows if row["city"] == city]

    if not here and errand.holds("R11") and not errand.wrong("first_address"):
        errand.deny("R11", about="file")

    # who ignores R11, or takes the first address, sends it somewhere
    anywhere = not here or errand.wrong("first_address")
    fitting = rows if anywhere else here
    others = [row for row in fitting if row["address_id"] != errand.order["address_id"]]

    if len(others) > 1 and not anywhere and not errand.wrong("first_match"):
        street = errand.told("street")
        others = [row for row in others if row["street"] == street]

    if others:
        errand.write("change_address", address_id=others[0]["address_id"])

    return {}


def _coupon(errand: Errand) -> Shown:
    """R9; of a coupon that was found on the order the total is told."""
    on_it = errand.order["coupon"]

    if errand.written("apply_coupon"):
        return _total(errand)
    if on_it is not None and on_it in (errand.request.wanted, errand.known("coupon")):
        return {"total": errand.order["total"]}

    errand.forbid("apply_coupon")
    errand.write("apply_coupon", code=errand.wanted())

    return {}


def _compensation(errand: Errand) -> Shown:
    """R12."""
    if not errand.written("issue_refund"):
        # whole dollars, as the policy names it
        amount = errand.rules.compensation_cents // 100
        errand.forbid("issue_refund", to=STORE_CREDIT)
        errand.write(
            "issue_refund",
            amount=amount,
            to=STORE_CREDIT,
        )

    return {}


def _track(errand: Errand) -> Shown:
    """A parcel is looked at once."""
    seen = errand.belief.parcels.get(errand.order_id)

    if seen is None:
        raise NotYetError(("track_shipment", {"order_id": errand.order_id}))

    return {"parcel_status": seen["status"], "arrival": seen["arrives"]}


def _refund_query(errand: Errand) -> Shown:
    """A return of the lines is quoted once."""
    return {"refund": errand.quote(errand.lines)} if errand.lines else {}


_WITHOUT_ORDER: Mapping[str, Callable[[Errand], Shown]] = {
    "price_query": _price,
    "out_of_scope": _out_of_scope,
    "note": _note,
}
_ABOUT_ORDERS: Mapping[str, Callable[[Errand], Shown]] = {
    "cancel": _cancel,
    "return": returned,
    "exchange": _exchange,
    "address": _address,
    "coupon": _coupon,
    "compensation": _compensation,
    "refund_query": _refund_query,
    "track": _track,
}
