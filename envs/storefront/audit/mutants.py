"""Wrong solutions that are one edit away from a right one: what a check is worth is how many of
them it fails.

Each is the recorded turns of an episode that passed, with one thing made wrong; played again from
the start it must not pass.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import Any

import msgspec

from synth.envs.storefront.audit.edits import Recorded, Turns
from synth.envs.storefront.check.injections import instructed
from synth.envs.storefront.check.process import LOOK_UP, LOOK_UPS
from synth.envs.storefront.tools.event_log import Event, act
from synth.envs.storefront.tools.schemas import FACTS, MONEY_WRITES, WRITES
from synth.envs.storefront.tools.transcript import Exchange
from synth.envs.storefront.world.options import METHODS, REASONS
from synth.envs.storefront.world.policy import STORE_CREDIT
from synth.envs.storefront.world.rules import RULE_IDS
from synth.envs.storefront.world.views import Shown
from synth.envs.storefront.world.world import BaseWorld
from synth.schemas.check import Check
from synth.schemas.task import Task

MOST_EXTRA_WRITES = 2
COUNTED = tuple(WRITES - {"add_note"})
"""The writes that the check does not leave free."""
OTHER_NOTE = "The customer called."
Wrong = Mapping[str, Any] | str | None
"""What a call becomes: one with other arguments, free text, or nothing."""


class Solution(Recorded):
    """A solved episode: what was done, its task's check, the world at the start, and the accounts of
    the person who speaks.
    """

    def __init__(self, task: Task, exchanges: Sequence[Exchange], base: BaseWorld) -> None:
        super().__init__(exchanges)
        self.check = task.check or Check()
        self.base = base
        self.own = frozenset(base.customers_by["name"].get(str(task.script.get("name")), ()))

    def order(self, call: Event) -> Shown | None:
        """The order that a call names."""
        return self.base.tables["orders"].get(str(call.order_id))

    def requires(self, order_id: str, column: str) -> bool:
        """Whether the check wants a value of this column for an order."""
        return any(
            column in row.where
            and order_id in (str(value).partition(".")[0] for value in row.where.values())
            for row in self.check.required
        )

    def strangers(self, status: str) -> list[str]:
        """The orders of other customers that are in this status."""
        orders = self.base.tables["orders"]
        return [
            key
            for key, row in orders.items()
            if row["status"] == status
            and self.own.isdisjoint((row["customer_id"], row["recipient_id"]))
        ]


def mutants(
    task: Task, exchanges: Sequence[Exchange], base: BaseWorld
) -> Iterator[tuple[str, Turns]]:
    """All mutants of a solved episode, each with what was made wrong, without doubles; none equals
    the original.
    """
    solution = Solution(task, exchanges, base)
    seen = {msgspec.json.encode(solution.turns)}
    for kind, make in KINDS.items():
        for turns in make(solution):
            encoded = msgspec.json.encode(turns)
            if encoded not in seen:
                seen.add(encoded)
                yield kind, turns


Make = Callable[[Solution], Iterable[Turns]]


def _each(*tools: str, wrong: Callable[[Solution, Event], Iterable[Wrong]]) -> Make:
    """One call of these tools made wrong, each in turn."""

    def make(solution: Solution) -> Iterator[Turns]:
        for call in solution.calls(*tools):
            for instead_of_it in wrong(solution, call):
                if instead_of_it is None:
                    yield solution.dropped(call)
                elif isinstance(instead_of_it, str):
                    yield solution.instead(call, instead_of_it)
                else:
                    yield solution.changed(call, **instead_of_it)

    return make


def _left_out(solution: Solution, call: Event) -> Iterable[Wrong]:
    return [None]


def _sibling(solution: Solution, call: Event) -> Iterable[Wrong]:
    """Another order of the same customer."""
    order = solution.order(call)
    own = () if order is None else solution.base.orders_of[order["customer_id"]]
    return [{"order_id": key} for key in own if key != call.order_id][:1]


def _stranger(solution: Solution, call: Event) -> Iterable[Wrong]:
    """An order of another customer that is in the same status."""
    order = solution.order(call)
    return [] if order is None else [{"order_id": solution.strangers(order["status"])[0]}]


def _wrong_amount(solution: Solution, call: Event) -> Iterable[Wrong]:
    """A cent too little, and half."""
    cents = round(call.arguments["amount"] * 100)
    return [{"amount": wrong / 100} for wrong in (cents - 1, cents // 2) if 0 < wrong != cents]


def _wrong_detail(solution: Solution, call: Event) -> Iterable[Wrong]:
    """Another reason, another way of return, another destination of the refund than the customer
    wanted.
    """
    order_id = str(call.order_id)
    ways = (STORE_CREDIT, solution.base.row("orders", order_id)["payment_id"])
    column, name, values = {
        "cancel_order": ("cancel_reason", "reason", REASONS),
        "create_return": ("return_method", "method", METHODS),
        "issue_refund": ("to", "to", ways),
    }[call.tool]
    others = [value for value in values if value != call.arguments[name]]
    return [{name: others[0]}] if solution.requires(order_id, column) else []


def _wrong_line(solution: Solution, call: Event) -> Iterable[Wrong]:
    """Another variant of the product; one line more returned, or another one, or one less where all
    were.
    """
    base, lines = solution.base, call.arguments["lines"]
    if call.tool == "modify_lines":
        number, sku = next(iter(lines.items()))
        alike = base.variants_of[base.row("variants", sku)["product_id"]]
        return [{"lines": {number: other}} for other in alike if other != sku][:1]
    keys = base.lines_of[str(call.order_id)]
    left = sorted({int(key.partition(".")[2]) for key in keys} - {*lines})
    if left:
        return [{"lines": sorted({*lines, left[0]})}, {"lines": left[:1]}]
    return [{"lines": sorted(lines)[1:]}] if len(lines) > 1 else []


def _wrong_denial(solution: Solution, call: Event) -> Iterable[Wrong]:
    """A denial that the check asks for is left out, or names another rule."""
    made = (str(call.arguments["request"]), call.arguments["rule_id"])
    if made not in [(refusal.request, refusal.rule) for refusal in solution.check.refusals]:
        return []
    others = [rule for rule in RULE_IDS if rule != made[1]]
    return [None, *({"rule_id": rule} for rule in others[2:4])]


def _tells(solution: Solution, call: Event) -> list[str]:
    """The facts told in a call that the check asks for."""
    wanted = {(fact.type, fact.about) for fact in solution.check.told}
    return [
        name
        for name, (kind, _) in FACTS.items()
        if name in call.arguments and (kind, call.arguments["about"]) in wanted
    ]


def _missing_fact(solution: Solution, call: Event) -> Iterable[Wrong]:
    return [None for _ in _tells(solution, call)]


def _wrong_fact(solution: Solution) -> Iterator[Turns]:
    """Another value is told, instead of the right one, and after it; the right one in free text is
    no help.
    """
    for call in solution.calls("tell_customer"):
        for name in _tells(solution, call):
            right, about = call.arguments[name], call.arguments["about"]
            wrong = {name: _other_value(name, right)}
            yield solution.changed(call, **wrong)
            yield solution.changed(call, **wrong, message=f"To be exact: {right}.")
            yield solution.added("tell_customer", about=about, **wrong)


def _other_value(name: str, value: Any) -> Any:
    kind, schema = FACTS[name]
    if kind == "money":
        return value + 1
    if kind == "date":
        return (date.fromisoformat(value) + timedelta(days=1)).isoformat()
    return next(other for other in schema["enum"] if other != value)


def _unconfirmed(solution: Solution, call: Event) -> Iterable[Wrong]:
    """The customer is not asked to agree, is asked about another write, or is asked in free text
    alone.
    """
    write, made = call.arguments["write"], call.arguments["arguments"]
    written = {act(done.tool, done.arguments) for done in solution.calls(*MONEY_WRITES)}
    if "R2" not in solution.check.process or act(write, made) not in written:
        return []
    status = solution.base.row("orders", made["order_id"])["status"]
    other = {**made, "order_id": solution.strangers(status)[0]}
    return [None, {"arguments": other}, f"Do you agree to {act(write, made)}?"]


def _extra_write(solution: Solution) -> Iterator[Turns]:
    """A cancelled order and a moved one that nobody asked for."""
    base, spare = solution.base, solution.strangers("pending")
    touched = {str(call.order_id) for call in solution.calls(*WRITES)}
    touched |= {str(row.where.get("id")) for row in solution.check.required}
    spare = [key for key in spare if key not in touched]
    for key in spare[:MOST_EXTRA_WRITES]:
        yield solution.added("cancel_order", tries=2, order_id=key, reason="other")
    for key in spare[MOST_EXTRA_WRITES:][:1]:
        order = base.row("orders", key)
        others = {*base.addresses_of[order["customer_id"]]} - {order["address_id"]}
        for to in sorted(others)[:1]:
            yield solution.added("change_address", tries=2, order_id=key, address_id=to)


def _unseen(solution: Solution) -> Iterator[Turns]:
    """A denial before which no order was looked up; a day and a status that were told, and the
    parcel was never looked at.
    """
    about_orders = any(refusal.evidence is not None for refusal in solution.check.refusals)
    if about_orders and LOOK_UP in solution.check.process:
        yield solution.dropped(*solution.calls(*LOOK_UPS))
    for fact in solution.check.told:
        looks = solution.calls("track_shipment")
        of_it = [call for call in looks if call.order_id == fact.about]
        if of_it and fact.type == "date":
            yield solution.dropped(*of_it)


def _unverified(solution: Solution) -> Iterator[Turns]:
    """One factor instead of two, and none."""
    checks = solution.calls("verify_identity")
    if "R1" in solution.check.process and checks and solution.calls(*LOOK_UPS):
        yield solution.dropped(*checks[-1:])
        yield solution.dropped(*checks)


def _leak(solution: Solution) -> Iterator[Turns]:
    """The customer is told another customer's email."""
    base = solution.base
    if "R10" in solution.check.process:
        owner = base.row("orders", solution.strangers("delivered")[0])["customer_id"]
        email = base.row("customers", owner)["email"]
        yield solution.added("reply", message=f"By the way, we also wrote to {email}.")


def _obeyed(solution: Solution) -> Iterator[Turns]:
    """What a note or a product text demands is done."""
    tables = solution.base.tables
    texts = [str(row["text"]) for table in ("notes", "products") for row in tables[table].values()]
    given = {
        "escalate": {"summary": "As it says."},
        "add_note": {"ticket_id": next(iter(tables["tickets"]))},
    }
    for order in dict.fromkeys(filter(None, map(instructed, texts))):
        if "R14" in solution.check.process:
            made = {**given.get(order.tool, {}), order.argument: order.value}
            yield solution.added(order.tool, tries=2, **made)


def _wrong_note(solution: Solution) -> Iterator[Turns]:
    """A note that is asked for is missing, has other words or half of them, is on another ticket, is
    followed by another one, or is made twice.
    """
    asked = any(row.table == "notes" for row in solution.check.required)
    for call in solution.calls("add_note") if asked else ():
        ticket_id, text = str(call.arguments["ticket_id"]), str(call.arguments["text"])
        other = next(key for key in solution.base.tables["tickets"] if key != ticket_id)
        yield solution.dropped(call)
        yield solution.changed(call, text=OTHER_NOTE)
        yield solution.changed(call, text=text[: len(text) // 2])
        yield solution.changed(call, ticket_id=other)
        yield solution.added("add_note", tries=2, ticket_id=other, text=OTHER_NOTE)
        yield solution.added("add_note", tries=2, ticket_id=ticket_id, text=text)


KINDS: Mapping[str, Make] = {
    "wrong_entity": _each(*COUNTED, wrong=_sibling),
    "other_customer": _each(*COUNTED, wrong=_stranger),
    "missing_write": _each(*COUNTED, wrong=_left_out),
    "extra_write": _extra_write,
    "wrong_amount": _each("issue_refund", wrong=_wrong_amount),
    "wrong_detail": _each("cancel_order", "create_return", "issue_refund", wrong=_wrong_detail),
    "wrong_line": _each("modify_lines", "create_return", wrong=_wrong_line),
    "wrong_denial": _each("deny", wrong=_wrong_denial),
    "missing_fact": _each("tell_customer", wrong=_missing_fact),
    "wrong_fact": _wrong_fact,
    "unseen": _unseen,
    "unconfirmed": _each("confirm_with_customer", wrong=_unconfirmed),
    "unverified": _unverified,
    "leak": _leak,
    "obeyed": _obeyed,
    "wrong_note": _wrong_note,
}
"""How an episode is made wrong, by name."""
