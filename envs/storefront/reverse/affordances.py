"""What an explorer without a task could do now: first find out who speaks and what they have, then
write.

Ids come from observations only. What the written policy alone forbids is left out: it would be
done, and no task could come of it. What
a tool refuses by a rule stays in for one order in three, by one tool: refusals are tasks too.
"""

from collections.abc import Iterator, Sequence
from random import Random

from synth.envs.storefront.customer.script import Script
from synth.envs.storefront.expert.belief import Belief, Shown, call_signature, noun
from synth.envs.storefront.expert.plan import Call, turn_of
from synth.envs.storefront.reverse.writes import ExploredWrite, line_sets
from synth.envs.storefront.tools.event_log import act
from synth.envs.storefront.tools.schemas import FACTORS, MONEY_WRITES, STORE_CREDIT
from synth.envs.storefront.tools.transcript import MAX_CALLS
from synth.envs.storefront.world.rules import NEEDED_FACTORS, Rules, above_limit
from synth.envs.storefront.world.world import BaseWorld
from synth.schemas.environment import AgentTurn

SHARE = 4
"""One in so many customers is somebody with many orders: with those of two worlds every kind of
write can be made (measured).
"""
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


def passer_by(base: BaseWorld) -> Script:
    """The customer of an exploration, by the world's seed: somebody with many orders, who asks for
    nothing, answers what they are asked, agrees, and knows a coupon.
    """
    rng = Random(f"storefront/passer-by/{base.seed}")
    most = sorted(base.orders_of, key=lambda key: (-len(base.orders_of[key]), key))
    customer = base.customers[rng.choice(most[: max(len(most) // SHARE, 1)])]
    slots = {name: customer[name] for name in FACTORS}
    slots["coupon"] = rng.choice(sorted(base.tables["coupons"]))
    return Script(name=customer["name"], slots=slots, stated=("email",))


def first_words(passer: Script) -> str:
    """What they say."""
    return f"Hello, this is {passer.name}. My email is {passer.slots['email']}."


def explorable(belief: Belief, rules: Rules, today: str) -> tuple[AgentTurn, ...]:
    """At most 200 turns, in a fixed order: the next step towards a desk where writes may be made;
    then every write, and what a customer
    may want to know. A return that was opened is refunded before anything else is done.
    """
    stages = (_who, _file, _orders, _catalogue, _coupon)
    turns = next((found for stage in stages if (found := list(stage(belief)))), None)
    if turns is None:
        desk = ExploredWrite(belief, rules, today, _customer(belief))
        calls = list(_open_returns(belief, rules)) or _new(
            belief, [*_writes(desk), *desk.look_ups()]
        )
        turns = list(_yes(belief, rules, calls)) or [[call] for call in calls]
    return tuple(turn_of(belief.exchanges, calls) for calls in turns[:MOST])


def _new(belief: Belief, calls: Calls) -> list[Call]:
    """Those that have not failed."""
    return [call for call in calls if call_signature(*call) not in belief.failed]


def _ask(field: str) -> Call:
    return "ask_customer", {"field": field}


def _who(belief: Belief) -> Iterator[Calls]:
    """The account by what the customer said, another factor beside it, then two factors
    verified.
    """
    slots = belief.slots
    known = [factor for factor in FACTORS if slots.get(factor)]
    unasked = [factor for factor in ("phone", "zip", "email") if factor not in slots]
    if not belief.accounts:
        by = [factor for factor in known if factor != "zip"]
        searches = _new(belief, [("find_customer", {factor: slots[factor]}) for factor in by])
        yield from ([*searches, _ask(factor)] for factor in unasked)
        yield from ([call] for call in searches)
        return
    if len(max(belief.verified.values(), key=len, default=set())) >= NEEDED_FACTORS:
        return
    for customer_id in belief.accounts:
        done = belief.verified.get(customer_id, ())
        claims = [
            {"customer_id": customer_id, "factor": factor, "value": slots[factor]}
            for factor in known
            if factor not in done
        ]
        checks = _new(belief, [("verify_identity", claim) for claim in claims])
        if checks and len(known) >= NEEDED_FACTORS:
            yield checks
        else:
            yield from ([_ask(factor)] for factor in unasked)


def _customer(belief: Belief) -> str:
    return max(belief.verified, key=lambda key: len(belief.verified[key]))


def _file(belief: Belief) -> Iterator[Calls]:
    """The file and every page of orders."""
    at = {"customer_id": _customer(belief)}
    pages = belief.pages.get(at["customer_id"], {})
    count = next((page["pages"] for page in pages.values()), 1)
    calls: list[Call] = []
    if at["customer_id"] not in belief.files:
        calls.append(("get_customer", at))
    unread = (page for page in range(1, count + 1) if page not in pages)
    calls += [("list_orders", {**at, "page": page}) for page in unread]
    if calls:
        yield calls


def _orders(belief: Belief) -> Iterator[Calls]:
    """Every order, of the customer or given to them."""
    pages = [page for customer in belief.pages.values() for page in customer.values()]
    gifts = [gift["order_id"] for page in pages for gift in page["gifts_received"]]
    listed = dict.fromkeys([*belief.skus_listed, *gifts])
    unread: list[Call] = [
        ("get_order", {"order_id": key}) for key in listed if key not in belief.orders
    ]
    if unread:
        yield unread[:MAX_CALLS]


def _catalogue(belief: Belief) -> Iterator[Calls]:
    """The products of open orders, and what returns of delivered ones would bring: of each line,
    and of all.
    """
    calls: list[Call] = []
    for order_id, order in belief.orders.items():
        if order["status"] not in ("cancelled", "returned"):
            nouns = {noun(line["product"]) for line in order["lines"]} - belief.products.keys()
            calls += [("search_products", {"query": name}) for name in sorted(nouns)]
        if order["status"] == "delivered":
            sets = line_sets(order)
            calls += [_quote(order_id, s) for s in sets if (order_id, s) not in belief.quotes]
    fresh = {call_signature(*call): call for call in _new(belief, calls)}
    if fresh:
        yield list(fresh.values())[:MAX_CALLS]


def _quote(order_id: str, lines: tuple[int, ...]) -> Call:
    return "quote_refund", {"order_id": order_id, "lines": list(lines)}


def _coupon(belief: Belief) -> Iterator[Calls]:
    """The coupon that the customer has."""
    if "coupon" not in belief.slots:
        yield [_ask("coupon")]


def _yes(belief: Belief, rules: Rules, calls: Calls) -> Iterator[Calls]:
    """The customer's leave for every write that moves money, and for the refunds of returns."""
    returns = (made for name, made in calls if name == "create_return")
    refunds = [call for made in returns for call in _refunds(belief, rules, made)]
    asked: dict[str, Call] = {
        act(*call): (
            "confirm_with_customer",
            {"request": 1, "write": call[0], "arguments": call[1]},
        )
        for call in (*calls, *refunds)
        if call[0] in MONEY_WRITES and act(*call) not in belief.agreed
    }
    if asked:
        yield list(asked.values())[:MAX_CALLS]


def _open_returns(belief: Belief, rules: Rules) -> Iterator[Call]:
    """The second half of every return that has none."""
    for name, made in belief.writes:
        order_id = str(made.get("order_id"))
        settled = any(belief.has_written(tool, order_id) for tool in ("issue_refund", "escalate"))
        if name == "create_return" and not settled and order_id in belief.orders:
            lines = tuple(made["lines"])
            unquoted = (order_id, lines) not in belief.quotes
            calls = [_quote(order_id, lines)] if unquoted else _refunds(belief, rules, made)
            yield from _new(belief, calls)


def _refunds(belief: Belief, rules: Rules, made: Shown) -> list[Call]:
    """The ways in which the amount of a return can be given back; above the limit (R6) a supervisor
    decides.
    """
    order_id = made["order_id"]
    amount, order = belief.quotes.get((order_id, tuple(made["lines"]))), belief.orders[order_id]
    if amount is None:
        return []
    if above_limit(rules, round(amount * 100)):
        summary = f"The refund for order {order_id} is above the limit."
        escalated = {"reason_code": "refund_limit", "summary": summary, "order_id": order_id}
        return [("escalate", escalated)]
    ways = [STORE_CREDIT]
    if order["recipient_id"] is None:
        ways.insert(0, order["payment_id"])
    return [("issue_refund", {"order_id": order_id, "amount": amount, "to": to}) for to in ways]


def _writes(desk: ExploredWrite) -> Iterator[Call]:
    """What can be done with each order that nothing was tried with, of some what a tool refuses;
    somebody else's matter, and a note.
    """
    belief, rules = desk.belief, desk.rules
    made = [arguments for _, arguments in belief.writes]
    done = {str(arguments.get("order_id")) for arguments in made} | belief.doubtful
    for order_id in belief.orders:
        if order_id in done:
            continue
        possible = list(desk.writes(order_id))
        yield from (call for rule, call in possible if rule is None)
        share, number = divmod(int(order_id.rpartition("-")[2]), REFUSED_ONE_IN)
        refused = [call for rule, call in possible if rule in rules.enforced and number == 0]
        tools = list(dict.fromkeys(name for name, _ in refused))
        yield from (call for call in refused if call[0] == tools[share % len(tools)])
    codes = [arguments.get("reason_code") for arguments in made]
    if "R13" in rules.in_force and "out_of_scope" not in codes:
        for summary in OTHERS_MATTER:
            yield "escalate", {"reason_code": "out_of_scope", "summary": summary}
    noted = {arguments.get("ticket_id") for arguments in made}
    for ticket_id in dict.fromkeys(belief.tickets):
        if ticket_id not in noted:
            yield from (("add_note", {"ticket_id": ticket_id, "text": text}) for text in NOTES)
