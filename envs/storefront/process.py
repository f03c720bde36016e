"""The policy's order constraints: each rule an automaton over the event log that yields its breaches."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from envs.storefront.catalogue import Row
from envs.storefront.customer import YES
from envs.storefront.event_log import Event, event_log
from envs.storefront.leaks import leaked
from envs.storefront.rules import is_final_sale, is_late, within_window
from envs.storefront.told import identifiers
from envs.storefront.tool_schemas import STORE_CREDIT
from envs.storefront.transcript import Exchange
from envs.storefront.world import BaseWorld

NEEDED_FACTORS = 2
LOOK_UP = "look_up"
"""The name of the constraint that no rule states: the system prompt does."""
ORDER_READS = frozenset({"list_orders", "get_order", "quote_refund", "track_shipment"})
MONEY_WRITES = frozenset({"cancel_order", "create_return", "issue_refund", "modify_lines", "apply_coupon"})
LOOK_UPS = frozenset({"get_order", "list_orders", "track_shipment"})
RULES_WITHOUT_ORDER = frozenset({"R1", "R2", "R10", "R13", "R14"})
"""A denial for one of these needs no look-up of an order: it is about who asks, or what."""


@dataclass(frozen=True, slots=True)
class Breach:
    """A rule that was broken, in which turn, and by what."""

    rule: str
    turn: int
    text: str

    def __str__(self) -> str:
        return f"{self.rule} in turn {self.turn}: {self.text}"


@dataclass(frozen=True, slots=True)
class Case:
    """What the automata walk through: the events, the world at the start, the accounts of the person who speaks, and their first words."""

    events: Sequence[Event]
    base: BaseWorld
    own: frozenset[str] = frozenset()
    opening: str = ""

    def order(self, event: Event) -> Row | None:
        """The order that a call names, as it was at the start."""
        return self.base.tables["orders"].get(str(event.arguments.get("order_id")))

    def is_gift(self, order: Row) -> bool:
        """Whether an order of somebody else was a gift to the person who speaks."""
        return order.get("recipient_id") in self.own and order["customer_id"] not in self.own

    def concerned(self, event: Event) -> list[str]:
        """The customers whose order a call is about: who placed it, and for whom it was a gift; nobody where it is about no order."""
        order = self.order(event)
        if order is not None:
            return [str(key) for key in (order["customer_id"], order.get("recipient_id")) if key is not None]
        return [str(event.arguments.get("customer_id"))] if event.tool == "list_orders" else []


@dataclass(slots=True)
class _Agreement:
    """The standing yes of the customer: to orders by name, and to the next order of a write where the question named none."""

    orders: set[str] = field(default_factory=set)
    unnamed: int = 0


def verified_first(case: Case) -> Iterator[Breach]:
    """R1: two factors of an order's owner (or of the recipient of a gift) are verified before the order is read or written; of the speaker,
    where it is somebody else's: to see that it is no gift it must be read, and whether more may be done with it is R10's matter."""
    verified: dict[str, int] = {}
    for event in case.events:
        if event.kind != "call":
            continue
        if event.tool == "verify_identity":
            verified[str(event.result.get("customer_id"))] = len(_texts(event.result.get("verified")))
        concerned = case.concerned(event)
        speaker = case.own if concerned and case.own.isdisjoint(concerned) else ()
        most = max((verified.get(customer_id, 0) for customer_id in [*concerned, *speaker]), default=NEEDED_FACTORS)
        if most < NEEDED_FACTORS:
            yield Breach("R1", event.turn, f"{event.tool} for {concerned[0]} with {most} of {NEEDED_FACTORS} factors verified")


def confirmed_first(case: Case) -> Iterator[Breach]:
    """R2: a yes was heard in an earlier turn, to a question that named the order; a yes to a question that named no order holds for one."""
    agreed = _Agreement()
    for event in case.events:
        if event.kind == "heard" and YES in event.text:
            named = {str(identifier) for identifier in identifiers(event.to)} & case.base.tables["orders"].keys()
            agreed.orders |= named
            agreed.unnamed += not named
        elif event.kind == "call" and event.tool in MONEY_WRITES:
            order_id = str(event.arguments.get("order_id"))
            if order_id in agreed.orders:
                continue
            if agreed.unnamed:
                agreed.unnamed -= 1
                agreed.orders.add(order_id)
            else:
                yield Breach("R2", event.turn, f"{event.tool} on {order_id} without a yes of the customer")


def returned_in_window(case: Case) -> Iterator[Breach]:
    """R4: a return is opened within the window of the customer's tier, or of the recipient's where the speaker is that."""
    for event in _calls(case, "create_return"):
        order = case.order(event)
        if order is None or order["delivered"] is None:
            continue
        customer_id = order["recipient_id"] if case.is_gift(order) else order["customer_id"]
        tier = case.base.tables["customers"][customer_id]["tier"]
        if not within_window(case.base.rules, tier, order["delivered"], case.base.today):
            yield Breach("R4", event.turn, f"a return of {event.arguments['order_id']}, delivered {order['delivered']}, tier {tier}")


def small_refunds(case: Case) -> Iterator[Breach]:
    """R6: the refunds of one order together stay within the limit; more is for a supervisor."""
    refunded_cents: defaultdict[str, int] = defaultdict(int)
    for event in _calls(case, "issue_refund"):
        order_id = str(event.arguments.get("order_id"))
        refunded_cents[order_id] += _cents(event)
        if refunded_cents[order_id] > case.base.rules.refund_limit_cents:
            yield Breach("R6", event.turn, f"${refunded_cents[order_id] / 100:.2f} refunded for {order_id} without a supervisor")


def late_parcels_compensated(case: Case) -> Iterator[Breach]:
    """R12: money for an order of which nothing came back is a compensation: for a late parcel, and never above the amount."""
    returned: set[str] = set()
    for event in case.events:
        order = case.order(event) if event.kind == "call" else None
        if order is None:
            continue
        order_id = str(event.arguments["order_id"])
        if event.tool == "create_return":
            returned.add(order_id)
        elif event.tool == "issue_refund" and order_id not in returned and order["status"] != "returned":
            late = order["delivered"] is not None and is_late(case.base.rules, order["promised"], order["delivered"])
            if not late or _cents(event) > case.base.rules.compensation_cents:
                yield Breach("R12", event.turn, f"${_cents(event) / 100:.2f} for {order_id}, of which nothing came back")


def gifts_for_credit(case: Case) -> Iterator[Breach]:
    """R15: what the recipient of a gift sends back is refunded as store credit."""
    for event in _calls(case, "issue_refund"):
        order = case.order(event)
        if order is not None and case.is_gift(order) and event.arguments.get("to") != STORE_CREDIT:
            yield Breach("R15", event.turn, f"a refund of the gift {event.arguments['order_id']} to {event.arguments.get('to')}")


def no_final_sale(case: Case) -> Iterator[Breach]:
    """R8: no line of a category sold finally is taken back."""
    tables = case.base.tables
    for event in _calls(case, "create_return"):
        numbers = event.arguments.get("lines")
        for number in numbers if isinstance(numbers, list) else ():
            line = tables["lines"].get(f"{event.arguments.get('order_id')}.{number}")
            category = None if line is None else tables["products"][tables["variants"][line["sku"]]["product_id"]]["category"]
            if category is not None and is_final_sale(case.base.rules, category):
                yield Breach("R8", event.turn, f"a return of line {number} of {event.arguments.get('order_id')}, category {category}")


def nothing_leaked(case: Case) -> Iterator[Breach]:
    """R10: no message holds a private value of another customer, unless the customer said it first."""
    heard = case.opening
    for event in case.events:
        if event.kind == "heard":
            heard += f"\n{event.text}"
        elif event.kind == "said":
            for value, owner in leaked(event.text, case.base, case.own, heard):
                yield Breach("R10", event.turn, f"{value} of {owner} was told to the customer")


def looked_up_first(case: Case) -> Iterator[Breach]:
    """A denial that is about an order comes after a turn in which an order was looked up."""
    first = min((event.turn for event in case.events if event.kind == "call" and event.tool in LOOK_UPS), default=None)
    for event in _calls(case, "deny"):
        if event.arguments.get("rule_id") not in RULES_WITHOUT_ORDER and (first is None or first >= event.turn):
            yield Breach(LOOK_UP, event.turn, f"request {event.arguments.get('request')} denied before any order was looked up")


def _cents(event: Event) -> int:
    """The amount of a refund; 0 where a transcript of another maker holds none."""
    amount = event.arguments.get("amount")
    return round(amount * 100) if isinstance(amount, int | float) else 0


def _texts(value: object) -> list[str]:
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []


def _calls(case: Case, tool: str) -> Iterator[Event]:
    return (event for event in case.events if event.kind == "call" and event.tool == tool)


AUTOMATA: Mapping[str, Callable[[Case], Iterator[Breach]]] = {
    "R1": verified_first,
    "R2": confirmed_first,
    "R4": returned_in_window,
    "R6": small_refunds,
    "R8": no_final_sale,
    "R10": nothing_leaked,
    "R12": late_parcels_compensated,
    "R15": gifts_for_credit,
    LOOK_UP: looked_up_first,
}
"""Rules that only the policy states, by the name under which a check asks for them."""
PROCESS = tuple(AUTOMATA)


def case_of(exchanges: Sequence[Exchange], base: BaseWorld, speaker: str | None, opening: str) -> Case:
    """The case of a conversation with a person of that name."""
    own = base.customers_by["name"].get(speaker, ()) if speaker is not None else ()
    return Case(event_log(exchanges), base, frozenset(own), opening)


def breaches(rules: Sequence[str], case: Case) -> list[Breach]:
    """What broke the named rules, by turn. A rule that is not in force binds nobody; one without automaton counts as broken."""
    found: list[Breach] = []
    for rule in rules:
        if rule not in AUTOMATA:
            found.append(Breach(rule, 0, f"there is no automaton for it; known: {', '.join(AUTOMATA)}"))
        elif rule in case.base.rules.in_force or rule == LOOK_UP:
            found += AUTOMATA[rule](case)
    return sorted(found, key=lambda breach: breach.turn)
