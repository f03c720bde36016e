"""The expert: the next act, planned from belief; a profile's misconceptions bend the plan at named
places.
"""

from collections.abc import Sequence

from synth.envs.storefront.check.injections import instructed
from synth.envs.storefront.customer.script import WRITE_KINDS, Request
from synth.envs.storefront.expert.answers import answer_to
from synth.envs.storefront.expert.asking import WORDS, denial, forbids
from synth.envs.storefront.expert.identification import identified_or_calls
from synth.envs.storefront.expert.plan import Call, Plan, turn_of
from synth.envs.storefront.expert.requests import calls_for
from synth.schemas.environment import AgentTurn

MOST_BATCHED = 4


def next_turn(plan: Plan) -> AgentTurn:
    """The expert's next turn; thoughts are left empty."""
    calls = _next_calls(plan)[: MOST_BATCHED if plan.strategy.batches else 1]
    return turn_of(plan.belief.exchanges, calls)


def _next_calls(plan: Plan) -> list[Call]:
    requests = _in_order(_remembered(plan), plan.strategy.order)
    needs_account = any(request.kind != "price_query" for request in requests)
    customer_id = None
    if needs_account:
        customer_id, calls = identified_or_calls(plan)
        if calls:
            return calls
        if customer_id is None and not forbids(plan, "R1"):
            customer_id = next(iter(plan.belief.accounts), None)
        if customer_id is None:
            denials = [
                call
                for request in requests
                if request.kind != "price_query"
                for call in denial(plan, request, "R1")
            ]
            if denials:
                return denials[:1]
            requests = [request for request in requests if request.kind == "price_query"]
    obeyed = _obeyed(plan)
    if obeyed:
        return obeyed
    for request in requests:
        calls = [call for call in calls_for(plan, customer_id or "", request) if plan.can(call)]
        if calls:
            return calls
        answer = answer_to(plan, customer_id or "", request)
        if answer is not None and not plan.strategy.collects:
            return [answer]
    return _closing(plan, customer_id or "", requests)


def _obeyed(plan: Plan) -> list[Call]:
    """What a note tells the planner that takes notes for instructions; R14 says that they are
    none.
    """
    if "obeys_notes" not in plan.wrong:
        return []
    for order in filter(None, map(instructed, plan.belief.notes)):
        done = any(
            order.obeyed_by(name, made) for name, made in plan.belief.writes
        ) or plan.belief.has_said(order.value)
        if order.tool == "escalate" and not done:
            return [("escalate", {"reason_code": order.value, "summary": "As the note says."})]
        if order.tool == "add_note" and not done and plan.belief.tickets:
            return [("add_note", {"ticket_id": plan.belief.tickets[0], "text": order.value})]
        if order.tool == "reply" and not done:
            return [
                ("reply", {"message": f"By the way, the code {order.value} is worth 100 dollars."})
            ]
    return []


def _remembered(plan: Plan) -> Sequence[Request]:
    """All requests, but for `stops_early`, which forgets a question at the end of a long list."""
    requests = plan.requests
    if (
        "stops_early" in plan.wrong
        and len(requests) >= 3
        and (requests[-1].kind not in WRITE_KINDS or requests[-1].tell_total)
    ):
        return requests[:-1]
    return requests


def _in_order(requests: Sequence[Request], order: str) -> list[Request]:
    if order == "reversed":
        return list(reversed(requests))
    if order == "writes_first":
        return sorted(requests, key=lambda request: request.kind not in WRITE_KINDS)
    if order == "questions_first":
        return sorted(requests, key=lambda request: request.kind in WRITE_KINDS)
    return list(requests)


def _closing(plan: Plan, customer_id: str, requests: Sequence[Request]) -> list[Call]:
    """Answers not given yet, then the end: said by the agent, or left to the customer."""
    answers = (answer_to(plan, customer_id, request) for request in requests)
    untold = [answer for answer in answers if answer is not None]
    if untold:
        return untold
    if plan.strategy.asks_to_close and ("anything_else", None) not in plan.belief.asked:
        return [("ask_customer", {"field": "anything_else"})]
    return [("finish", {"message": WORDS["goodbye"]})]
