"""What an explorer without a task could do now: first find out who speaks and what they have, then
write.

Ids come from observations only. What the written policy alone forbids is left out: it would be
done, and no task could come of it. What a tool refuses by a rule stays in for one order in three,
by one tool: refusals are tasks too.
"""

from collections.abc import Iterable, Iterator, Mapping
from random import Random
from typing import Any

from synth.envs.storefront.customer.script import Script
from synth.envs.storefront.expert.affordances import (
    asking_leave,
    each_alone,
    identifying,
    options_of,
    reading,
    searching,
)
from synth.envs.storefront.expert.belief import Belief, signature_of
from synth.envs.storefront.expert.planner import turn_of
from synth.envs.storefront.texts import texts
from synth.envs.storefront.tools.schemas import FACTORS, WRITES
from synth.envs.storefront.tools.transcript import MAX_CALLS
from synth.envs.storefront.world.options import CustomerOptions, refunds_of
from synth.envs.storefront.world.policy import NEEDED_FACTORS, Call, Rules
from synth.envs.storefront.world.world import BaseWorld
from synth.schemas import AgentTurn

SHARE = 4
"""One in so many customers is somebody with many orders: with those of two worlds every kind of
write can be made (measured).
"""
REFUSED_ONE_IN = 3
"""Orders with which a refused write may be tried, by their number: with all of them three of four
tasks would have a refusal (measured).
"""
MOST_OF_A_LOOK_UP = 12
SAYINGS = texts("exploring")


def random_user(base: BaseWorld) -> Script:
    """The customer of an exploration, by the world's seed: somebody with many orders, who asks for
    nothing, answers what they are asked, agrees, and knows a coupon.
    """
    rng = Random(f"storefront/passer-by/{base.seed}")
    # ties are broken by id, so that a seed always stands for one customer
    most = sorted(base.orders_of, key=lambda key: (-len(base.orders_of[key]), key))
    customer = base.tables["customers"][rng.choice(most[: max(len(most) // SHARE, 1)])]
    slots = {name: customer[name] for name in FACTORS}
    slots["coupon"] = rng.choice(sorted(base.tables["coupons"]))

    return Script(
        name=customer["name"],
        slots=slots,
        stated=("email",),
    )


def first_words(user: Script) -> str:
    """What they say."""
    return str(SAYINGS["opening"].format(name=user.name, email=user.slots["email"]))


def explorable(
    belief: Belief,
    rules: Rules,
) -> tuple[AgentTurn, ...]:
    """At most 200 turns, in a fixed order: the next step towards a desk where writes may be made;
    then every write, and what a customer may want to know. A return that was opened is refunded
    before anything else is done.
    """
    at_once = _steps(belief) or _new(belief, [("ask_customer", {"field": "coupon"})])
    options = options_of(belief, rules)

    if at_once or options is None:
        return (turn_of(belief.exchanges, at_once[:MAX_CALLS]),) if at_once else ()

    calls = _refunds_due(belief, rules) or [*_writes(belief, options)]
    back = [made for tool, made in calls if tool == "create_return"]
    refunds = [call for made in back for call in _refunds(belief, rules, made)]
    # leave is asked for all of them at once, so that every write can be made next
    every = (*calls, *refunds)
    leave = {signature_of(ask): ask for call in every for ask in asking_leave(belief, call)}

    if leave:
        return (turn_of(belief.exchanges, [*leave.values()][:MAX_CALLS]),)

    return each_alone(belief, [call for call in calls if signature_of(call) not in belief.failed])


def _steps(belief: Belief) -> list[Call]:
    """The next steps to know who speaks and what they have: nothing is written before all is read,
    for what is offered depends on it.
    """
    # until two factors fit there is no other step
    if max(map(len, belief.verified.values()), default=0) < NEEDED_FACTORS:
        questions: list[Call] = [("ask_customer", {"field": field}) for field in FACTORS]
        calls = _new(belief, [*identifying(belief), *questions])

        if calls:
            return calls

    return _new(belief, reading(belief)) or _new(belief, searching(belief))


def _new(
    belief: Belief,
    calls: Iterable[Call],
) -> list[Call]:
    """The calls that were not made yet; nobody is asked for what they said."""
    return [
        call
        for call in calls
        if signature_of(call) not in belief.made
        and not (call[0] == "ask_customer" and call[1]["field"] in belief.slots)
    ]


def _refunds_due(
    belief: Belief,
    rules: Rules,
) -> list[Call]:
    """The second half of every return that has none."""
    settles = ("issue_refund", "escalate")

    return [
        call
        for name, made in belief.writes
        if name == "create_return" and made["order_id"] in belief.orders
        if not any(belief.has_written(tool, made["order_id"]) for tool in settles)
        for call in _refunds(belief, rules, made)
    ]


def _refunds(
    belief: Belief,
    rules: Rules,
    made: Mapping[str, Any],
) -> list[Call]:
    """The refunds of an opened return."""
    return refunds_of(
        rules,
        belief.orders[made["order_id"]],
        made["lines"],
    )


def _writes(belief: Belief, options: CustomerOptions) -> Iterator[Call]:
    """What can be done with each order that nothing was tried with, of some what a tool refuses;
    somebody else's matter, and a note; then what a customer may want to know.
    """
    made = [arguments for _, arguments in belief.writes]
    done = {str(arguments.get("order_id")) for arguments in made} | belief.doubtful

    for order_id in belief.orders:
        if order_id not in done:
            yield from _with_order(belief, options, order_id)

    codes = [arguments.get("reason_code") for arguments in made]

    if "R13" in options.rules.in_force and "out_of_scope" not in codes:
        for summary in SAYINGS["out_of_scope"]:
            yield "escalate", {"reason_code": "out_of_scope", "summary": summary}

    noted = {arguments.get("ticket_id") for arguments in made}
    tickets = [row["ticket_id"] for row in belief.files[options.customer_id]["tickets"]]

    for ticket_id in tickets:
        for text in SAYINGS["notes"] if ticket_id not in noted else ():
            yield "add_note", {"ticket_id": ticket_id, "text": text}

    # look-ups come last: an explorer that runs out of turns has written first
    yield from _questions(belief, options)


def _with_order(
    belief: Belief,
    options: CustomerOptions,
    order_id: str,
) -> Iterator[Call]:
    """The writes on an order that no rule forbids, then those of one tool that would refuse them,
    where this order is one to be refused with.
    """
    order = belief.orders[order_id]
    # the number of the order decides, not a draw: the same order invites the same tries
    share, number = divmod(int(order_id.rpartition("-")[2]), REFUSED_ONE_IN)
    may_fail = number == 0 and order["customer_id"] == options.customer_id
    refused: dict[str, list[Call]] = {}

    for call in options.of(order_id):
        if call[0] not in WRITES:
            continue

        forbidden = options.forbidding(call)

        if not forbidden:
            yield call
        elif may_fail and len(forbidden) == 1 and forbidden[0] in options.rules.enforced:
            refused.setdefault(call[0], []).append(call)

    tools = list(refused)
    yield from refused[tools[share % len(tools)]] if tools else ()


def _questions(
    belief: Belief,
    options: CustomerOptions,
) -> Iterator[Call]:
    """Look-ups that were not made yet, some of each tool: what orders allow, then prices."""
    asked = [
        call
        for order_id in belief.orders
        for call in options.of(order_id)
        if call[0] not in WRITES and not options.forbidding(call)
    ]

    variants = [row for product in belief.products.values() for row in product["variants"]]
    asked += [("get_variant", {"sku": variant["sku"]}) for variant in variants]

    for tool in ("track_shipment", "quote_refund", "get_variant"):
        yield from _new(belief, [call for call in asked if call[0] == tool])[:MOST_OF_A_LOOK_UP]
