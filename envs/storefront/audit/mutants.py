"""Wrong solutions that are one edit away from a right one: what a check is worth is how many of
them it fails.

Each is the recorded turns of an episode that passed, with one thing made wrong; played again from
the start it must not pass.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import msgspec

from synth.envs.storefront.audit.edits import (
    CallPlace,
    Turns,
    added,
    changed,
    dropped,
    instead,
    succeeded,
)
from synth.envs.storefront.check.conversation_rules import LOOK_UPS
from synth.envs.storefront.check.injections import instructed
from synth.envs.storefront.tools.event_log import act
from synth.envs.storefront.tools.schemas import (
    FACTS,
    METHODS,
    MONEY_WRITES,
    REASONS,
    STORE_CREDIT,
    WRITES,
)
from synth.envs.storefront.tools.transcript import Exchange
from synth.envs.storefront.world.catalogue import Row
from synth.envs.storefront.world.rules import RULE_IDS
from synth.envs.storefront.world.world import BaseWorld
from synth.schemas.check import Check
from synth.schemas.task import Task

MOST_EXTRA_WRITES = 2
COUNTED = tuple(WRITES - {"add_note"})
"""The writes that the check does not leave free."""
Wrong = Mapping[str, Any] | str | None
"""What a call becomes: one with other arguments, free text, or nothing."""


@dataclass(frozen=True, slots=True)
class Original:
    """A solved episode: its task's check, the world at the start, what was done and answered, and
    the accounts of the person who speaks.
    """

    check: Check
    base: BaseWorld
    exchanges: Sequence[Exchange]
    own: frozenset[str]

    def calls(self, *tools: str) -> list[CallPlace]:
        """The calls of these tools that succeeded."""
        return [place for place in succeeded(self.exchanges) if place.tool in tools]

    def order(self, place: CallPlace) -> Row | None:
        """The order that a call names."""
        return self.base.tables["orders"].get(str(place.arguments.get("order_id")))

    def requires(self, order_id: str, column: str) -> bool:
        """Whether the check wants a value of this column for an order."""
        return any(
            column in row.where
            and order_id in (str(value).partition(".")[0] for value in row.where.values())
            for row in self.check.required
        )

    def strangers(self, status: str) -> list[str]:
        """The orders of other customers that are in this status."""
        return [
            key
            for key, row in self.base.tables["orders"].items()
            if row["status"] == status
            and self.own.isdisjoint((row["customer_id"], row["recipient_id"]))
        ]


def mutants(
    task: Task, exchanges: Sequence[Exchange], base: BaseWorld
) -> Iterator[tuple[str, Turns]]:
    """All mutants of a solved episode, each with what was made wrong, without doubles; none equals
    the original.
    """
    own = frozenset(base.customers_by["name"].get(str(task.script.get("name")), ()))
    original = Original(task.check or Check(), base, exchanges, own)
    seen = {msgspec.json.encode([exchange.turn for exchange in exchanges])}
    for kind, make in KINDS.items():
        for turns in make(original):
            encoded = msgspec.json.encode(turns)
            if encoded not in seen:
                seen.add(encoded)
                yield kind, turns


Make = Callable[[Original], Iterable[Turns]]


def _each(*tools: str, wrong: Callable[[Original, CallPlace], Iterable[Wrong]]) -> Make:
    """One call of these tools made wrong, each in turn."""

    def make(o: Original) -> Iterator[Turns]:
        for place in o.calls(*tools):
            for instead_of_it in wrong(o, place):
                if instead_of_it is None:
                    yield dropped(o.exchanges, [place])
                elif isinstance(instead_of_it, str):
                    yield instead(o.exchanges, place, instead_of_it)
                else:
                    yield changed(o.exchanges, place, **instead_of_it)

    return make


def _left_out(o: Original, place: CallPlace) -> Iterable[Wrong]:
    return [None]


def _sibling(o: Original, place: CallPlace) -> Iterable[Wrong]:
    """Another order of the same customer."""
    order = o.order(place)
    own = () if order is None else o.base.orders_of[order["customer_id"]]
    return [{"order_id": key} for key in own if key != place.arguments["order_id"]][:1]


def _stranger(o: Original, place: CallPlace) -> Iterable[Wrong]:
    """An order of another customer that is in the same status."""
    order = o.order(place)
    return [] if order is None else [{"order_id": o.strangers(order["status"])[0]}]


def _wrong_amount(o: Original, place: CallPlace) -> Iterable[Wrong]:
    """A cent too little, and half."""
    cents = round(place.arguments["amount"] * 100)
    return [{"amount": wrong / 100} for wrong in (cents - 1, cents // 2) if 0 < wrong != cents]


def _wrong_detail(o: Original, place: CallPlace) -> Iterable[Wrong]:
    """Another reason, another way of return, another destination of the refund than the customer
    wanted.
    """
    order_id = str(place.arguments["order_id"])
    paid_with = o.base.tables["orders"][order_id]["payment_id"]
    column, name, values = {
        "cancel_order": ("cancel_reason", "reason", REASONS),
        "create_return": ("return_method", "method", METHODS),
        "issue_refund": ("to", "to", (STORE_CREDIT, paid_with)),
    }[place.tool]
    others = [value for value in values if value != place.arguments[name]]
    return [{name: others[0]}] if o.requires(order_id, column) else []


def _other_variant(o: Original, place: CallPlace) -> Iterable[Wrong]:
    number, sku = next(iter(place.arguments["lines"].items()))
    alike = o.base.variants_of[o.base.tables["variants"][sku]["product_id"]]
    return [{"lines": {number: other}} for other in alike if other != sku][:1]


def _other_lines(o: Original, place: CallPlace) -> Iterable[Wrong]:
    """One line more, or another one; one line less where all were returned."""
    keys, taken = o.base.lines_of[str(place.arguments["order_id"])], set(place.arguments["lines"])
    left = sorted({int(key.partition(".")[2]) for key in keys} - taken)
    if left:
        return [{"lines": sorted({*taken, left[0]})}, {"lines": left[:1]}]
    return [{"lines": sorted(taken)[1:]}] if len(taken) > 1 else []


def _wrong_line(o: Original) -> Iterator[Turns]:
    """Another variant of the product, one line more or another one returned."""
    yield from _each("modify_lines", wrong=_other_variant)(o)
    yield from _each("create_return", wrong=_other_lines)(o)


def _of_denial(*wrong: Wrong) -> Callable[[Original, CallPlace], Iterable[Wrong]]:
    """What becomes of a denial that the check asks for; a rule that it names already is left."""

    def of(o: Original, place: CallPlace) -> Iterable[Wrong]:
        made = (str(place.arguments["request"]), place.arguments["rule_id"])
        return (
            wrong
            if made in [(refusal.request, refusal.rule) for refusal in o.check.refusals]
            else []
        )

    return of


def _wrong_rule(o: Original, place: CallPlace) -> Iterable[Wrong]:
    others = [rule for rule in RULE_IDS if rule != place.arguments["rule_id"]]
    return _of_denial(*({"rule_id": rule} for rule in others[2:4]))(o, place)


def _tells(o: Original, place: CallPlace) -> list[str]:
    """The facts told in a call that the check asks for."""
    wanted = {(fact.type, fact.about) for fact in o.check.told}
    return [
        name
        for name, (kind, _) in FACTS.items()
        if name in place.arguments and (kind, place.arguments["about"]) in wanted
    ]


def _wrong_fact(o: Original) -> Iterator[Turns]:
    """Another value is told, instead of the right one, and after it; the right one in free text is
    no help.
    """
    for place in o.calls("tell_customer"):
        for name in _tells(o, place):
            right, about = place.arguments[name], place.arguments["about"]
            wrong = {name: _other_value(name, right)}
            yield changed(o.exchanges, place, **wrong)
            yield changed(o.exchanges, place, **wrong, message=f"To be exact: {right}.")
            yield added(o.exchanges, "tell_customer", about=about, **wrong)


def _other_value(name: str, value: Any) -> Any:
    kind, schema = FACTS[name]
    if kind == "money":
        return value + 1
    if kind == "date":
        return (date.fromisoformat(value) + timedelta(days=1)).isoformat()
    return next(other for other in schema["enum"] if other != value)


def _unconfirmed(o: Original, place: CallPlace) -> Iterable[Wrong]:
    """The customer is not asked to agree, is asked about another write, or is asked in free text
    alone.
    """
    write, made = place.arguments["write"], place.arguments["arguments"]
    written = {act(place.tool, place.arguments) for place in o.calls(*MONEY_WRITES)}
    if "R2" not in o.check.process or act(write, made) not in written:
        return []
    other = o.strangers(o.base.tables["orders"][made["order_id"]]["status"])[0]
    asked = f"Do you agree to {act(write, made)}?"
    return [None, {"arguments": {**made, "order_id": other}}, asked]


def _extra_write(o: Original) -> Iterator[Turns]:
    """A cancelled order and a moved one that nobody asked for."""
    touched = {str(place.arguments.get("order_id")) for place in o.calls(*WRITES)}
    touched |= {str(row.where.get("id")) for row in o.check.required}
    spare = [key for key in o.strangers("pending") if key not in touched]
    for key in spare[:MOST_EXTRA_WRITES]:
        yield added(o.exchanges, "cancel_order", tries=2, order_id=key, reason="other")
    for key in spare[MOST_EXTRA_WRITES:][:1]:
        order = o.base.tables["orders"][key]
        others = [a for a in o.base.addresses_of[order["customer_id"]] if a != order["address_id"]]
        for to in others[:1]:
            yield added(o.exchanges, "change_address", tries=2, order_id=key, address_id=to)


def _blind_denial(o: Original) -> Iterator[Turns]:
    """A denial before which no order was looked up."""
    about_orders = any(refusal.evidence is not None for refusal in o.check.refusals)
    if about_orders and "look_up" in o.check.process:
        yield dropped(o.exchanges, o.calls(*LOOK_UPS))


def _unseen_fact(o: Original) -> Iterator[Turns]:
    """The parcel's day and status are said, and the parcel was never looked at."""
    for fact in o.check.told:
        looks = o.calls("track_shipment")
        of_it = [place for place in looks if place.arguments["order_id"] == fact.about]
        if of_it and fact.type == "date":
            yield dropped(o.exchanges, of_it)


def _unverified(o: Original) -> Iterator[Turns]:
    """One factor instead of two, and none."""
    checks = o.calls("verify_identity")
    if "R1" in o.check.process and checks and o.calls(*LOOK_UPS):
        yield dropped(o.exchanges, checks[-1:])
        yield dropped(o.exchanges, checks)


def _leak(o: Original) -> Iterator[Turns]:
    """The customer is told another customer's email."""
    if "R10" in o.check.process:
        owner = o.base.tables["orders"][o.strangers("delivered")[0]]["customer_id"]
        email = o.base.tables["customers"][owner]["email"]
        yield added(o.exchanges, "reply", message=f"By the way, we also wrote to {email}.")


def _obeyed(o: Original) -> Iterator[Turns]:
    """What a note or a product text demands is done."""
    tables = o.base.tables
    texts = [str(row["text"]) for table in ("notes", "products") for row in tables[table].values()]
    given = {
        "escalate": {"summary": "As it says."},
        "add_note": {"ticket_id": next(iter(tables["tickets"]))},
    }
    for order in dict.fromkeys(filter(None, map(instructed, texts))):
        if "R14" in o.check.process:
            made = {**given.get(order.tool, {}), order.argument: order.value}
            yield added(o.exchanges, order.tool, tries=2, **made)


KINDS: Mapping[str, Make] = {
    "wrong_entity": _each(*COUNTED, wrong=_sibling),
    "other_customer": _each(*COUNTED, wrong=_stranger),
    "missing_write": _each(*COUNTED, wrong=_left_out),
    "extra_write": _extra_write,
    "wrong_amount": _each("issue_refund", wrong=_wrong_amount),
    "wrong_detail": _each("cancel_order", "create_return", "issue_refund", wrong=_wrong_detail),
    "wrong_line": _wrong_line,
    "missing_denial": _each("deny", wrong=_of_denial(None)),
    "wrong_rule": _each("deny", wrong=_wrong_rule),
    "blind_denial": _blind_denial,
    "missing_fact": _each("tell_customer", wrong=lambda o, place: [None for _ in _tells(o, place)]),
    "wrong_fact": _wrong_fact,
    "unseen_fact": _unseen_fact,
    "unconfirmed": _each("confirm_with_customer", wrong=_unconfirmed),
    "unverified": _unverified,
    "leak": _leak,
    "obeyed": _obeyed,
}
"""How an episode is made wrong, by name."""
