"""What an explorer without a task could do now: first find out who speaks and what they have, then
write.

Ids come from observations only. What the written policy alone forbids is left out: it would be
done, and no task could come of it. What
a tool refuses by a rule stays in for one order in three, by one tool: refusals are tasks too.
"""

from collections.abc import Iterator, Sequence

from synth.envs.storefront.expert.belief import Belief, Shown, call_signature, noun
from synth.envs.storefront.expert.plan import Call, turn_of
from synth.envs.storefront.reverse.look_ups import look_ups
from synth.envs.storefront.reverse.writes import line_sets, writes
from synth.envs.storefront.tools.event_log import act
from synth.envs.storefront.tools.schemas import MONEY_WRITES, STORE_CREDIT
from synth.envs.storefront.tools.transcript import MAX_CALLS
from synth.envs.storefront.world.rules import NEEDED_FACTORS, Rules, above_limit
from synth.schemas.environment import AgentTurn

MOST = 200
Calls = Sequence[Call]
"""The calls of one turn."""
REFUSED_ONE_IN = 3
"""Orders with which a refused write may be tried, by their number: with all of them three of four
tasks would have a refusal (measured).
"""
NOTES = (
    "Call me after six in the evening.",
    "The doorbell is broken, please knock.",
    "My neighbour takes in parcels for me.",
)
OTHERS_MATTER = (
    "The customer asks us to stop the newsletter.",
    "The customer asks for a job in the warehouse.",
)


def explorable(belief: Belief, rules: Rules, today: str) -> tuple[AgentTurn, ...]:
    """At most 200 turns, in a fixed order: the next step towards a desk where writes may be made;
    then every write, and what a customer
    may want to know. A return that was opened is refunded before anything else is done.
    """
    stages = (_who, _file, _orders, _catalogue, _coupon)
    turns = next((found for stage in stages if (found := list(stage(belief)))), None)
    if turns is None:
        free = (*_writes(belief, rules, today), *look_ups(belief, rules, today, _customer(belief)))
        refunds = list(_open_returns(belief, rules))
        calls = refunds or [call for call in free if _is_new(belief, call)]
        turns = list(_yes(belief, rules, calls)) or [[call] for call in calls]
    return tuple(turn_of(belief.exchanges, calls) for calls in turns[:MOST])


def _is_new(belief: Belief, call: Call) -> bool:
    return call_signature(*call) not in belief.failed


def _ask(field: str) -> Call:
    return "ask_customer", {"field": field}


def _who(belief: Belief) -> Iterator[Calls]:
    """The account by what the customer said, another factor beside it, then two factors
    verified.
    """
    known = [factor for factor in ("email", "phone", "zip") if belief.slots.get(factor)]
    unasked = [factor for factor in ("phone", "zip", "email") if factor not in belief.slots]
    if not belief.accounts:
        for factor in unasked:
            yield [*[call for call in _searches(belief) if _is_new(belief, call)], _ask(factor)]
        yield from ([call] for call in _searches(belief) if _is_new(belief, call))
        return
    if len(_verified(belief)) >= NEEDED_FACTORS:
        return
    for customer_id in belief.accounts:
        checks = [
            _check(belief, customer_id, factor)
            for factor in known
            if factor not in belief.verified.get(customer_id, ())
        ]
        checks = [call for call in checks if _is_new(belief, call)]
        if checks and len(known) >= NEEDED_FACTORS:
            yield checks
        else:
            yield from ([_ask(factor)] for factor in unasked)


def _searches(belief: Belief) -> Iterator[Call]:
    for factor in ("email", "phone"):
        if belief.slots.get(factor):
            yield "find_customer", {factor: belief.slots[factor]}


def _check(belief: Belief, customer_id: str, factor: str) -> Call:
    return "verify_identity", {
        "customer_id": customer_id,
        "factor": factor,
        "value": belief.slots[factor],
    }


def _verified(belief: Belief) -> set[str]:
    return max(belief.verified.values(), key=len, default=set())


def _customer(belief: Belief) -> str:
    return max(belief.verified, key=lambda key: len(belief.verified[key]))


def _file(belief: Belief) -> Iterator[Calls]:
    """The file and every page of orders."""
    customer_id = _customer(belief)
    pages = belief.pages.get(customer_id, {})
    count = next((page["pages"] for page in pages.values()), 1)
    calls: list[Call] = (
        [] if customer_id in belief.files else [("get_customer", {"customer_id": customer_id})]
    )
    calls += [
        ("list_orders", {"customer_id": customer_id, "page": page})
        for page in range(1, count + 1)
        if page not in pages
    ]
    if calls:
        yield calls


def _listed(belief: Belief) -> list[str]:
    pages = [page for customer in belief.pages.values() for page in customer.values()]
    gifts = [gift["order_id"] for page in pages for gift in page["gifts_received"]]
    return list(dict.fromkeys([*belief.skus_listed, *gifts]))


def _orders(belief: Belief) -> Iterator[Calls]:
    """Every order, of the customer or given to them."""
    unread: list[Call] = [
        ("get_order", {"order_id": order_id})
        for order_id in _listed(belief)
        if order_id not in belief.orders
    ]
    if unread:
        yield unread[:MAX_CALLS]


def _catalogue(belief: Belief) -> Iterator[Calls]:
    """The products of open orders, and what returns of delivered ones would bring: of each line,
    and of all.
    """
    calls: list[Call] = []
    for order_id, order in belief.orders.items():
        nouns = (
            {noun(line["product"]) for line in order["lines"]}
            if order["status"] not in ("cancelled", "returned")
            else set()
        )
        calls += [
            ("search_products", {"query": name})
            for name in sorted(nouns)
            if name not in belief.products
        ]
        if order["status"] == "delivered":
            calls += [
                _quote(order_id, lines)
                for lines in line_sets(order)
                if (order_id, lines) not in belief.quotes
            ]
    fresh = {call_signature(*call): call for call in calls if _is_new(belief, call)}
    if fresh:
        yield list(fresh.values())[:MAX_CALLS]


def _quote(order_id: str, lines: tuple[int, ...]) -> Call:
    return "quote_refund", {"order_id": order_id, "lines": list(lines)}


def _coupon(belief: Belief) -> Iterator[Calls]:
    """The coupon that the customer has."""
    if "coupon" not in belief.slots:
        yield [_ask("coupon")]


def _yes(belief: Belief, rules: Rules, calls: Sequence[Call]) -> Iterator[Calls]:
    """The customer's leave for every write that moves money, and for the refunds of returns."""
    returns = [made for name, made in calls if name == "create_return"]
    quotes = ((made["order_id"], belief.quotes.get(_lines(made))) for made in returns)
    refunds = [
        call
        for order_id, amount in quotes
        if amount is not None
        for call in _refunds(belief.orders[order_id], rules, amount)
    ]
    asked = {
        act(*call): (
            "confirm_with_customer",
            {"request": 1, "write": call[0], "arguments": call[1]},
        )
        for call in (*calls, *refunds)
        if call[0] in MONEY_WRITES and act(*call) not in belief.agreed
    }
    if asked:
        yield list(asked.values())[:MAX_CALLS]


def _lines(made: Shown) -> tuple[str, tuple[int, ...]]:
    return made["order_id"], tuple(made["lines"])


def _open_returns(belief: Belief, rules: Rules) -> Iterator[Call]:
    """The second half of every return that has none."""
    for name, made in belief.writes:
        order_id = str(made.get("order_id"))
        settled = belief.has_written("issue_refund", order_id) or belief.has_written(
            "escalate", order_id
        )
        if name == "create_return" and not settled and order_id in belief.orders:
            lines = tuple(made["lines"])
            amount = belief.quotes.get((order_id, lines))
            calls = (
                [_quote(order_id, lines)]
                if amount is None
                else _refunds(belief.orders[order_id], rules, amount)
            )
            yield from (call for call in calls if _is_new(belief, call))


def _refunds(order: Shown, rules: Rules, amount: float) -> list[Call]:
    """The ways in which an amount can be given back; above the limit (R6) a supervisor decides."""
    order_id = order["order_id"]
    if above_limit(rules, round(amount * 100)):
        summary = f"The refund for order {order_id} is above the limit."
        return [
            ("escalate", {"reason_code": "refund_limit", "summary": summary, "order_id": order_id})
        ]
    ways = (
        [STORE_CREDIT] if order["recipient_id"] is not None else [order["payment_id"], STORE_CREDIT]
    )
    return [("issue_refund", {"order_id": order_id, "amount": amount, "to": to}) for to in ways]


def _writes(belief: Belief, rules: Rules, today: str) -> Iterator[Call]:
    """What can be done with each order that nothing was tried with, of some what a tool refuses;
    somebody else's matter, and a note.
    """
    done = {str(made.get("order_id")) for _, made in belief.writes} | belief.doubtful
    for order_id in belief.orders:
        if order_id in done:
            continue
        possible = list(writes(belief, rules, today, _customer(belief), order_id))
        yield from (call for rule, call in possible if rule is None)
        share, number = divmod(int(order_id.rpartition("-")[2]), REFUSED_ONE_IN)
        refused = [call for rule, call in possible if rule in rules.enforced and number == 0]
        tools = list(dict.fromkeys(name for name, _ in refused))
        yield from (call for call in refused if call[0] == tools[share % len(tools)])
    if "R13" in rules.in_force and not any(
        made.get("reason_code") == "out_of_scope" for _, made in belief.writes
    ):
        yield from (
            ("escalate", {"reason_code": "out_of_scope", "summary": summary})
            for summary in OTHERS_MATTER
        )
    noted = {made.get("ticket_id") for _, made in belief.writes}
    for ticket_id in dict.fromkeys(
        ticket_id for ticket_id in belief.tickets if ticket_id not in noted
    ):
        yield from (("add_note", {"ticket_id": ticket_id, "text": text}) for text in NOTES)
