"""How the expert carries out each kind of request: the next calls, none where it is settled."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from synth.envs.storefront.expert.belief import Shown
from synth.envs.storefront.expert.errand import Errand
from synth.envs.storefront.expert.locating import located
from synth.envs.storefront.expert.plan import Call
from synth.envs.storefront.expert.returning import file, gives_in, quote, return_calls
from synth.envs.storefront.tools.schemas import STORE_CREDIT
from synth.envs.storefront.world.rules import CANCELLABLE, is_late


def calls_for(errand: Errand) -> list[Call]:
    """The next calls for a request; several stand together where none needs the answer of
    another.
    """
    belief, request = errand.belief, errand.request
    if request.kind in _WITHOUT_ORDER:
        return _WITHOUT_ORDER[request.kind](errand)
    order_id = located(errand)
    if isinstance(order_id, list):
        return order_id
    if order_id not in belief.orders or order_id in belief.doubtful:
        return [("get_order", {"order_id": order_id})]
    errand = replace(errand, order=belief.orders[order_id])
    own = (errand.order["customer_id"], errand.order["recipient_id"])
    if errand.customer_id not in own and errand.plan.forbids("R10"):
        return errand.denial("R10")
    if belief.denied.get(request.number, "R8") != "R8" and not gives_in(errand):
        return []
    errand, calls = errand.item_meant()
    if calls or (request.noun is not None and errand.request.colour is None):
        return calls
    return _KINDS[request.kind](errand)


def _search(errand: Errand) -> list[Call]:
    noun = errand.request.noun
    return [] if noun in errand.belief.products else [("search_products", {"query": noun})]


def _price(errand: Errand) -> list[Call]:
    request = errand.request
    variant = errand.variant_meant(request.colour, request.size or "one")
    if not request.former or variant is None or variant["sku"] in errand.belief.variants:
        return _search(errand)
    return [("get_variant", {"sku": variant["sku"]})]


def _out_of_scope(errand: Errand) -> list[Call]:
    """R13; `over_refuses` denies it."""
    if errand.wrong("over_refuses"):
        return errand.denial("R13")
    reason, summary = "out_of_scope", f"The customer asks: {errand.request.text}"
    for name, made in errand.belief.writes:
        if name == "escalate" and made["reason_code"] == reason:
            return []
    return [("escalate", {"reason_code": reason, "summary": summary})]


def _note(errand: Errand) -> list[Call]:
    made = {"ticket_id": errand.request.ticket_id, "text": errand.request.note}
    return [] if ("add_note", made) in errand.belief.writes else [("add_note", made)]


def _reread(errand: Errand) -> list[Call]:
    """A total that is to be told is read again after a write; `stale_reads` does not."""
    outdated = errand.order_id in errand.belief.outdated and not errand.wrong("stale_reads")
    again = errand.request.tell_total and outdated
    return [("get_order", {"order_id": errand.order_id})] if again else []


def _cancel(errand: Errand) -> list[Call]:
    status = errand.order["status"]
    if errand.written("cancel_order") or status == "cancelled":
        return []
    if status not in CANCELLABLE:
        if errand.request.condition == "not_shipped":
            return _track(errand)
        if errand.plan.forbids("R3") and not errand.wrong("tries_anyway"):
            return errand.denial("R3")
    return errand.asking("reason") or errand.attempt("cancel_order", reason=errand.detail("reason"))


def _exchange(errand: Errand) -> list[Call]:
    order, lines, belief = errand.order, errand.lines, errand.belief
    if errand.written("modify_lines"):
        return _reread(errand)
    if not lines or order["status"] == "cancelled":
        return []
    if (order["modified"] or order["status"] != "pending") and errand.plan.forbids("R7"):
        return errand.denial("R7")
    calls = errand.asking_what() or _search(errand)
    variant = errand.variant_meant(errand.wanted, lines[0]["size"])
    if calls or errand.wanted is None or variant is None:
        return calls
    sku, condition = variant["sku"], errand.request.condition
    made = {str(lines[0]["line"]): sku}
    trusts_search = errand.wrong("stale_reads")
    looks = errand.plan.strategy.checks_stock or condition is not None
    if looks and sku not in belief.variants and not trusts_search:
        return [("get_variant", {"sku": sku})]
    if condition == "in_stock":
        # too few, as the tool said, the live stock, or at least the search index
        tried = not errand.plan.can(("modify_lines", {"order_id": errand.order_id, "lines": made}))
        live = belief.variants.get(sku)
        enough = variant["in_stock"] if live is None else live["stock"] >= lines[0]["quantity"]
        if tried or not enough:
            return [] if trusts_search and tried else _cancel(errand)
    return errand.attempt("modify_lines", lines=made)


def _address(errand: Errand) -> list[Call]:
    order, plan = errand.order, errand.plan
    if errand.written("change_address"):
        return []
    if order["status"] not in CANCELLABLE and plan.forbids("R11"):
        return errand.denial("R11")
    calls = file(errand) or errand.asking_what()
    if calls:
        return calls
    rows: list[Shown] = errand.belief.files[errand.customer_id]["addresses"]
    here = [row for row in rows if row["city"] == errand.wanted]
    if not here and plan.forbids("R11") and not errand.wrong("first_address"):
        return errand.denial("R11", about="file")
    anywhere = not here or errand.wrong("first_address")
    others = [
        row for row in (rows if anywhere else here) if row["address_id"] != order["address_id"]
    ]
    if len(others) > 1 and not anywhere and not errand.wrong("first_match"):
        street = errand.known("street")
        if street is None:
            return errand.questions("street")
        others = [row for row in others if row["street"] == street]
    return errand.attempt("change_address", address_id=others[0]["address_id"]) if others else []


def _coupon(errand: Errand) -> list[Call]:
    order, code = errand.order, errand.wanted
    if errand.written("apply_coupon"):
        return _reread(errand)
    if code is not None and order["coupon"] == code:
        return []
    settled = order["coupon"] is not None or order["status"] != "pending"
    if settled and errand.plan.forbids("R9"):
        return errand.denial("R9")
    return errand.asking_what() if code is None else errand.attempt("apply_coupon", code=code)


def _compensation(errand: Errand) -> list[Call]:
    """R12."""
    order, rules = errand.order, errand.plan.rules
    if errand.written("issue_refund"):
        return []
    late = order["delivered"] is not None and is_late(rules, order["promised"], order["delivered"])
    if not late and errand.plan.forbids("R12"):
        return errand.denial("R12")
    amount = rules.compensation_cents // 100
    return errand.attempt("issue_refund", amount=amount, to=STORE_CREDIT)


def _track(errand: Errand) -> list[Call]:
    seen = errand.order_id in errand.belief.parcels
    return [] if seen else [("track_shipment", {"order_id": errand.order_id})]


_WITHOUT_ORDER: Mapping[str, Callable[[Errand], list[Call]]] = {
    "price_query": _price,
    "out_of_scope": _out_of_scope,
    "note": _note,
}
_KINDS: Mapping[str, Callable[[Errand], list[Call]]] = {
    "cancel": _cancel,
    "return": return_calls,
    "exchange": _exchange,
    "address": _address,
    "coupon": _coupon,
    "compensation": _compensation,
    "refund_query": quote,
    "track": _track,
}
