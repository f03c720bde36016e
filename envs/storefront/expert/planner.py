"""The expert: the next act, planned from belief; a profile's misconceptions bend the plan at named
places.
"""

from collections.abc import Sequence
from dataclasses import replace

from msgspec.structs import replace as replace_call

from synth.envs.storefront.check.process import instructions
from synth.envs.storefront.customer.script import WRITE_KINDS, Request
from synth.envs.storefront.expert.belief import WORDS, Belief, Strategy
from synth.envs.storefront.expert.errand import Errand, NotYetError
from synth.envs.storefront.expert.locating import identified
from synth.envs.storefront.expert.requests import carry_out
from synth.envs.storefront.tools.schemas import MESSAGE
from synth.envs.storefront.tools.transcript import Event
from synth.envs.storefront.world.policy import Call, Rules
from synth.schemas import AgentTurn, ToolCall, canonical_json

MOST_BATCHED = 4


def next_turn(
    belief: Belief,
    requests: Sequence[Request],
    rules: Rules,
    strategy: Strategy,
    held: frozenset[str],
) -> AgentTurn:
    """The expert's next turn: what it observed, the requests as stated, the policy of the system
    prompt, its way of working, and the misconceptions that it holds.
    """
    asked = _in_order(requests, strategy, held)
    errands = [
        Errand(
            belief,
            rules,
            strategy,
            held,
            request,
        )
        for request in asked
    ]

    try:
        calls = _next_calls(errands, belief, strategy, held)
    except NotYetError as due:
        calls = due.calls

    return turn_of(belief.exchanges, calls[: MOST_BATCHED if strategy.batches else 1])


def turn_of(at: int, calls: Sequence[Call]) -> AgentTurn:
    """The calls as the turn with this number; thoughts are left empty."""
    made = (
        ToolCall(f"call_{at}_{place}", name, canonical_json(arguments).decode())
        for place, (name, arguments) in enumerate(calls)
    )

    return AgentTurn(tool_calls=tuple(made))


def silent(turn: AgentTurn) -> AgentTurn | None:
    """A turn without its words, for a desk that has none; None where there was nothing else."""
    made = tuple(_without_message(call) for call in turn.tool_calls if call.name != "reply")
    return AgentTurn(tool_calls=made) if made else None


def _without_message(call: ToolCall) -> ToolCall:
    kept = {key: of for key, of in call.parsed().items() if key != MESSAGE}
    return replace_call(call, arguments=canonical_json(kept).decode())


def _next_calls(
    errands: Sequence[Errand], belief: Belief, strategy: Strategy, held: frozenset[str]
) -> Sequence[Call]:
    """The next calls: identification, then what each request needs, then answers, then the end.

    Raises `NotYetError` with calls that come before all requests.
    """
    # a price is no secret: nobody has to be verified for it
    personal = [errand for errand in errands if errand.request.kind != "price_query"]

    if personal:
        customer_id = identified(personal[0])

        # who ignores R1 serves the first account that was found
        if customer_id is None and not personal[0].holds("R1"):
            customer_id = next(iter(belief.accounts), None)

        # nobody can be verified: all that is about orders is denied by R1
        if customer_id is None:
            for errand in personal:
                if errand.request.number not in belief.denied:
                    errand.deny("R1")

            errands = [errand for errand in errands if errand not in personal]

        errands = [replace(errand, customer_id=customer_id or "") for errand in errands]

    if "obeys_notes" in held:
        _obey(belief)

    untold: list[Call] = []

    for errand in errands:
        due, told = _next_of(errand)
        # some tell what was asked as soon as they know it, others at the end
        calls = due or ([] if strategy.collects else told)

        if calls:
            return calls

        untold += told

    if untold:
        return untold
    if strategy.asks_to_close and ("anything_else", None) not in belief.asked:
        return [("ask_customer", {"field": "anything_else"})]

    return [("finish", {"message": WORDS["goodbye"]})]


def _next_of(errand: Errand) -> tuple[list[Call], list[Call]]:
    """The next calls for a request that have not failed (several stand together where none needs
    the answer of another), and what is to be told where it is settled.
    """
    try:
        told = carry_out(errand)
    except NotYetError as due:
        return list(filter(errand.can, due.calls)), []

    # told once: the last value counts, and it is the same
    return [], [("tell_customer", told)] if told and not errand.belief.has_told(told) else []


def _obey(belief: Belief) -> None:
    """Does what a note demands, as a planner does that takes notes for instructions; R14 says that
    they are none.
    """
    files = belief.files.values()
    tickets = [ticket["ticket_id"] for file in files for ticket in file["tickets"]]
    notes = [note for file in files for note in file["notes"]]
    notes += [row["text"] for row in belief.products.values()]

    for injection in instructions(notes):
        done = any(injection.obeyed_by(Event(0, "call", *write)) for write in belief.writes)
        said = any(injection.value in message for message in belief.said)

        # a note needs a ticket, which stands in the customer's file alone
        if not done and not said and (tickets or injection.tool != "add_note"):
            raise NotYetError(injection.call(next(iter(tickets), "")))


def _in_order(
    requests: Sequence[Request], strategy: Strategy, held: frozenset[str]
) -> Sequence[Request]:
    """The requests in the order of the strategy; `stops_early` forgets a question at the end of a
    long list.
    """
    last = requests[-1] if len(requests) > 2 else None
    asks = last is not None and (last.kind not in WRITE_KINDS or last.tell_total)

    if "stops_early" in held and asks:
        # what it forgets is a question that nothing else depends on
        requests = requests[:-1]

    if strategy.order == "reversed":
        return requests[::-1]
    if strategy.order == "stated":
        return requests

    first = strategy.order == "writes_first"

    return sorted(requests, key=lambda request: (request.kind in WRITE_KINDS) != first)
