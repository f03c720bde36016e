"""The expert: the next act, planned from belief; a profile's misconceptions bend the plan at named
places.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from synth.envs.storefront.check.injections import instructed
from synth.envs.storefront.customer.script import WRITE_KINDS, Request
from synth.envs.storefront.expert.errand import WORDS, Errand
from synth.envs.storefront.expert.locating import identified, located
from synth.envs.storefront.expert.plan import Call, Plan, turn_of
from synth.envs.storefront.expert.requests import calls_for
from synth.envs.storefront.tools.event_log import Event
from synth.schemas.environment import AgentTurn

MOST_BATCHED = 4
_DONE = {"cancel": "cancelled", "return": "returned"}
"""The statuses that settle a request."""


def next_turn(plan: Plan) -> AgentTurn:
    """The expert's next turn; thoughts are left empty."""
    calls = _next_calls(plan)[: MOST_BATCHED if plan.strategy.batches else 1]
    return turn_of(plan.belief.exchanges, calls)


def _next_calls(plan: Plan) -> list[Call]:
    requests = _in_order(_remembered(plan), plan.strategy.order)
    customer_id, errands = "", [Errand(plan, "", request) for request in requests]
    personal = [errand for errand in errands if errand.request.kind != "price_query"]
    if personal:
        found = identified(plan)
        if found and isinstance(found, list):
            return found
        if isinstance(found, str):
            customer_id = found
        elif plan.belief.accounts and not plan.forbids("R1"):
            customer_id = plan.belief.accounts[0]
        else:
            denials = [call for errand in personal for call in errand.denial("R1")]
            if denials:
                return denials[:1]
            errands = [errand for errand in errands if errand not in personal]
    obeyed = _obeyed(plan)
    if obeyed:
        return obeyed
    errands = [replace(errand, customer_id=customer_id) for errand in errands]
    for errand in errands:
        calls = list(filter(plan.can, calls_for(errand)))
        if not calls and not plan.strategy.collects:
            calls = _answer(errand)
        if calls:
            return calls
    untold = [call for errand in errands for call in _answer(errand)]
    if untold:
        return untold
    if plan.strategy.asks_to_close and ("anything_else", None) not in plan.belief.asked:
        return [("ask_customer", {"field": "anything_else"})]
    return [("finish", {"message": WORDS["goodbye"]})]


def _obeyed(plan: Plan) -> list[Call]:
    """What a note tells the planner that takes notes for instructions; R14 says that they are
    none.
    """
    belief = plan.belief
    if "obeys_notes" not in plan.wrong:
        return []
    for order in filter(None, map(instructed, belief.notes)):
        done = any(order.obeyed_by(Event(0, "call", *write)) for write in belief.writes)
        if done or belief.has_said(order.value):
            continue
        made = {order.argument: order.value}
        if order.tool == "escalate":
            return [("escalate", {**made, "summary": "As the note says."})]
        if order.tool == "add_note" and belief.tickets:
            return [("add_note", {**made, "ticket_id": belief.tickets[0]})]
        if order.tool == "reply":
            said = f"By the way, the code {order.value} is worth 100 dollars."
            return [("reply", {"message": said})]
    return []


def _remembered(plan: Plan) -> Sequence[Request]:
    """All requests, but for `stops_early`, which forgets a question at the end of a long list."""
    *rest, last = plan.requests or (None,)
    asks = last is not None and (last.kind not in WRITE_KINDS or last.tell_total)
    if "stops_early" in plan.wrong and len(rest) >= 2 and asks:
        return plan.requests[:-1]
    return plan.requests


def _in_order(requests: Sequence[Request], order: str) -> list[Request]:
    if order == "reversed":
        return list(reversed(requests))
    if order == "stated":
        return list(requests)
    first = order == "writes_first"
    return sorted(requests, key=lambda request: (request.kind in WRITE_KINDS) != first)


def _answer(errand: Errand) -> list[Call]:
    """The facts that were asked for, as the customer is to be told them; none where nothing was
    asked, it is not known, or it was told.
    """
    kind = errand.request.kind
    if kind in ("out_of_scope", "note"):
        return []
    if kind == "price_query":
        about, facts = _price(errand)
    else:
        order_id = located(errand)
        order = None if isinstance(order_id, list) else errand.belief.orders.get(order_id)
        if order is None:
            return []
        about, facts = order["order_id"], _facts(replace(errand, order=order))
    told = not facts or errand.belief.has_told(about, facts)
    return [] if told else [("tell_customer", {"about": about, **facts})]


def _facts(errand: Errand) -> dict[str, Any]:
    order, request, belief = errand.order, errand.request, errand.belief
    if _DONE.get(request.kind) == order["status"]:
        return {} if errand.written("cancel_order") else {"order_status": order["status"]}
    if "track" in (request.kind, request.otherwise):
        seen = belief.parcels.get(errand.order_id)
        return {"parcel_status": seen["status"], "arrival": seen["arrives"]} if seen else {}
    if request.kind == "refund_query" or request.least is not None:
        lines = errand.item_meant()[0].lines
        amount = errand.refund_amount(lines) if lines else None
        return {} if amount is None else {"refund": amount}
    written = errand.written("apply_coupon") or errand.written("modify_lines")
    had_it = request.kind == "coupon" and order["coupon"] == (errand.wanted or "")
    tells = request.tell_total if written else had_it
    return {"total": order["total"]} if tells else {}


def _price(errand: Errand) -> tuple[str, dict[str, Any]]:
    request = errand.request
    variant = errand.variant_meant(request.colour, request.size or "one")
    if variant is None:
        return "", {}
    if not request.former or errand.wrong("stale_reads"):
        return variant["sku"], {"price": variant["price"]}
    live = errand.belief.variants.get(variant["sku"])
    former = {} if live is None else {"former_price": live["price_history"][0]["price"]}
    return variant["sku"], former
