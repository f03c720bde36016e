"""The expert: the next act, planned from belief; a profile's misconceptions bend the plan at named
places.
"""

from collections.abc import Sequence
from dataclasses import replace

from synth.envs.storefront.check.injections import instructions
from synth.envs.storefront.customer.script import WRITE_KINDS, Request
from synth.envs.storefront.expert.errand import WORDS, Errand, ErrandPlan, NotYetError
from synth.envs.storefront.expert.locating import identified, located
from synth.envs.storefront.expert.requests import carry_out
from synth.envs.storefront.tools.event_log import Event
from synth.envs.storefront.world.policy import Call
from synth.envs.storefront.world.views import Shown
from synth.schemas.canonical import canonical_json
from synth.schemas.environment import AgentTurn
from synth.schemas.trajectory import ToolCall

MOST_BATCHED = 4
_DONE = {"cancel": "cancelled", "return": "returned"}
"""The statuses that settle a request."""


def next_turn(plan: ErrandPlan) -> AgentTurn:
    """The expert's next turn."""
    try:
        calls = _next_calls(plan)
    except NotYetError as due:
        calls = due.calls

    return turn_of(
        plan.belief.exchanges,
        calls[: MOST_BATCHED if plan.strategy.batches else 1],
    )


def turn_of(at: int, calls: Sequence[Call]) -> AgentTurn:
    """The calls as the turn with this number; thoughts are left empty."""
    made = (
        ToolCall(
            f"call_{at}_{place}",
            name,
            canonical_json(arguments).decode(),
        )
        for place, (name, arguments) in enumerate(calls)
    )

    return AgentTurn(tool_calls=tuple(made))


def _next_calls(plan: ErrandPlan) -> Sequence[Call]:
    """The next calls: identification, then what each request needs, then answers, then the end.

    Raises `NotYetError` with calls that come before all requests.
    """
    errands = [Errand(plan, "", request) for request in _in_order(plan)]
    # a price is no secret: nobody has to be verified for it
    personal = [errand for errand in errands if errand.request.kind != "price_query"]

    if personal:
        customer_id = identified(plan)

        # who ignores R1 serves the first account that was found
        if customer_id is None and not personal[0].holds("R1"):
            customer_id = next(iter(plan.belief.accounts), None)

        # nobody can be verified: all that is about orders is denied by R1
        if customer_id is None:
            for errand in personal:
                if errand.request.number not in plan.belief.denied:
                    errand.deny("R1")

            errands = [errand for errand in errands if errand not in personal]

        errands = [replace(errand, customer_id=customer_id or "") for errand in errands]

    _obey(plan)

    for errand in errands:
        calls = _next_of(errand)

        # some tell what was asked as soon as they know it, others at the end
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


def _next_of(errand: Errand) -> list[Call]:
    """The next calls for a request that have not failed; several stand together where none needs
    the answer of another.
    """
    try:
        carry_out(errand)
    except NotYetError as due:
        return list(filter(errand.plan.can, due.calls))

    return []


def _obey(plan: ErrandPlan) -> None:
    """Does what a note demands, if the planner takes notes for instructions; R14 says that they
    are none.
    """
    belief = plan.belief
    files = belief.files.values()
    tickets = [ticket["ticket_id"] for file in files for ticket in file["tickets"]]
    notes = [note for file in files for note in file["notes"]]
    notes += [row["text"] for row in belief.products.values()]

    for injection in instructions(notes) if "obeys_notes" in plan.wrong else ():
        done = any(injection.obeyed_by(Event(0, "call", *write)) for write in belief.writes)
        said = any(injection.value in message for message in belief.said)

        # a note needs a ticket, which stands in the customer's file alone
        if not done and not said and (tickets or injection.tool != "add_note"):
            raise NotYetError(injection.call(next(iter(tickets), "")))


def _in_order(plan: ErrandPlan) -> Sequence[Request]:
    """The requests in the order of the strategy; `stops_early` forgets a question at the end of a
    long list.
    """
    requests = list(plan.requests)
    order = plan.strategy.order
    last = requests[-1] if requests else None
    asks = last is not None and (last.kind not in WRITE_KINDS or last.tell_total)

    if "stops_early" in plan.wrong and len(requests) > 2 and asks:
        # what it forgets is a question that nothing else depends on
        requests.pop()

    if order == "reversed":
        return requests[::-1]
    if order == "stated":
        return requests

    first = order == "writes_first"

    return sorted(
        requests,
        key=lambda request: (request.kind in WRITE_KINDS) != first,
    )


def _answer(errand: Errand) -> list[Call]:
    """The facts that were asked for, as the customer is to be told them; none where nothing was
    asked, it is not known, or it was told.
    """
    kind = errand.request.kind

    if kind in ("out_of_scope", "note"):
        return []

    try:
        about, facts = _price(errand) if kind == "price_query" else _facts(errand)
    except NotYetError:
        return []

    # told once: the last value counts, and it is the same
    told = not facts or errand.belief.has_told(about, facts)

    return [] if told else [("tell_customer", {"about": about, **facts})]


def _facts(errand: Errand) -> tuple[str, Shown]:
    """What is told about a request's order, by the name of each fact."""
    order_id = located(errand)
    belief = errand.belief
    request = errand.request

    if order_id not in belief.orders:
        raise NotYetError

    errand = replace(errand, order=belief.orders[order_id])
    status = errand.order["status"]
    facts = {}

    # what was found done is told; what the agent did itself the customer saw
    if _DONE.get(request.kind) == status:
        facts = {} if errand.written("cancel_order") else {"order_status": status}
    # a parcel is told of only where it was looked at: the order had been sent
    elif "track" in (request.kind, request.otherwise):
        seen = belief.parcels.get(order_id)

        facts = (
            {
                "parcel_status": seen["status"],
                "arrival": seen["arrives"],
            }
            if seen
            else {}
        )
    elif request.kind == "refund_query" or request.least is not None:
        lines = errand.with_item().lines
        amount = errand.refund_amount(lines) if lines else None
        facts = {} if amount is None else {"refund": amount}
    else:
        # a total is asked for after a change, or of a change that was found made
        written = errand.written("apply_coupon") or errand.written("modify_lines")
        had_it = request.kind == "coupon" and errand.order["coupon"] == (errand.wanted or "")
        tells = request.tell_total if written else had_it
        facts = {"total": errand.order["total"]} if tells else {}

    return order_id, facts


def _price(errand: Errand) -> tuple[str, Shown]:
    """The price that was asked for, as search or the live variant showed it."""
    request = errand.request
    variant = errand.variant(request.colour, request.size or "one")

    if variant is None:
        raise NotYetError

    sku = str(variant["sku"])

    if not request.former or errand.wrong("stale_reads"):
        return sku, {"price": variant["price"]}

    live = errand.belief.variants.get(sku)

    return sku, {} if live is None else {"former_price": live["price_history"][0]["price"]}
