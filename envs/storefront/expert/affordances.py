"""What could be done now with what has been observed: for explorers that pick one of these
turns.
"""

from collections.abc import Iterator

from synth.envs.storefront.expert.belief import Belief
from synth.envs.storefront.expert.planner import turn_of
from synth.envs.storefront.tools.schemas import FACTORS, MONEY_WRITES, TOPICS
from synth.envs.storefront.tools.transcript import act
from synth.envs.storefront.world.options import CustomerOptions
from synth.envs.storefront.world.policy import STORE_CREDIT, Call, Rules
from synth.schemas import AgentTurn

MOST = 200


def afforded(
    belief: Belief,
    rules: Rules,
) -> tuple[AgentTurn, ...]:
    """One call per turn, at most 200, in a fixed order; ids come from observations only, and the
    policy may forbid some.
    """
    calls: list[Call] = [
        *(("ask_customer", {"field": field}) for field in FACTORS),
        ("reply", {"message": "One moment, please."}),
        *(("get_policy", {"topic": topic}) for topic in TOPICS),
        ("finish", {"message": "Thank you. Goodbye!"}),
        *identifying(belief),
        *reading(belief),
        *searching(belief),
    ]

    # leave is offered just before the write that needs it
    for call in _writes(belief, rules):
        calls += [*asking_leave(belief, call), call]

    return each_alone(belief, calls)


def each_alone(
    belief: Belief,
    calls: list[Call],
) -> tuple[AgentTurn, ...]:
    """The calls, as many as are offered at once, each as a next turn."""
    return tuple(turn_of(belief.exchanges, [call]) for call in calls[:MOST])


def identifying(belief: Belief) -> Iterator[Call]:
    """Searches for the account by what the customer said, and checks of what they said."""
    said = {field: value for field, value in belief.slots.items() if value}

    for fields in (("email",), ("phone",), ("name", "zip")):
        if said.keys() >= set(fields):
            yield "find_customer", {field: said[field] for field in fields}

    for customer_id in belief.accounts:
        # whether it fits is for the tool to say
        for factor in filter(said.__contains__, FACTORS):
            claim = {"customer_id": customer_id, "factor": factor, "value": said[factor]}
            yield "verify_identity", claim


def reading(belief: Belief) -> Iterator[Call]:
    """Looks at files, lists of orders, orders, and their parcels."""
    for customer_id in belief.accounts:
        yield "get_customer", {"customer_id": customer_id}
        pages = belief.pages.get(customer_id, {}).get(1, {"pages": 1})["pages"]

        for page in range(1, pages + 1):
            yield "list_orders", {"customer_id": customer_id, "page": page}

    lists = [page for pages in belief.pages.values() for page in pages.values()]
    gifts = [gift["order_id"] for page in lists for gift in page["gifts_received"]]

    for order_id in dict.fromkeys([*belief.skus, *gifts]):
        yield "get_order", {"order_id": order_id}


def searching(belief: Belief) -> Iterator[Call]:
    """Searches for the products of all orders."""
    for noun in sorted({noun for items in belief.items.values() for _, noun in items}):
        yield "search_products", {"query": noun}


def asking_leave(
    belief: Belief,
    call: Call,
) -> list[Call]:
    """The question for leave to make a write that moves money, as if for the first request."""
    tool, arguments = call

    if tool not in MONEY_WRITES or act(tool, arguments) in belief.agreed:
        return []

    return [("confirm_with_customer", {"request": 1, "write": tool, "arguments": arguments})]


def options_of(belief: Belief, rules: Rules) -> CustomerOptions | None:
    """What the customer whose file was read could ask for, as far as it was observed."""
    read = [key for key in belief.verified if key in belief.files]
    orders = belief.orders.values()

    if not read:
        return None

    return CustomerOptions(
        belief,
        rules,
        # of two accounts the one that is verified best
        max(read, key=lambda key: len(belief.verified[key])),
        codes=_known(belief.slots.get("coupon"), *(order["coupon"] for order in orders)),
        elsewhere=_known(*(order["address_id"] for order in orders)),
        ordered={item for items in belief.items.values() for item in items},
    )


def _known(*values: str | None) -> list[str]:
    """The values that are known, each once, in order."""
    return list(dict.fromkeys(filter(None, values)))


def _writes(belief: Belief, rules: Rules) -> Iterator[Call]:
    """Writes that an order invites, and refunds of what was quoted, whatever the policy says."""
    options = options_of(belief, rules)

    if options is None:
        return

    for order_id, order in belief.orders.items():
        yield from options.of(order_id)

        for (quoted, _), amount in belief.quotes.items():
            for to in (order["payment_id"], STORE_CREDIT) if quoted == order_id else ():
                yield "issue_refund", {"order_id": order_id, "amount": amount, "to": to}
