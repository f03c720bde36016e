"""Wrong solutions that are one edit away from a right one: what a check is worth is how many of
them it fails.

Each is the recorded turns of an episode that passed, with one thing made wrong; played again from
the start it must not pass.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import msgspec

from synth.envs.storefront.audit.edits import (
    Place,
    added,
    changed,
    dropped,
    instead,
    succeeded,
)
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
from synth.envs.storefront.world.rules import RULE_IDS
from synth.envs.storefront.world.world import BaseWorld
from synth.schemas.check import Check
from synth.schemas.environment import AgentTurn
from synth.schemas.task import Task

MOST_EXTRA_WRITES = 2
_LOOK_UPS = ("get_order", "list_orders", "track_shipment")


@dataclass(frozen=True, slots=True)
class Mutant:
    """What was made wrong, and the turns."""

    kind: str
    turns: tuple[AgentTurn, ...]


@dataclass(frozen=True, slots=True)
class Original:
    """A solved episode: its task's check, the world at the start, and what was done and
    answered.
    """

    check: Check
    base: BaseWorld
    exchanges: Sequence[Exchange]
    speaker: str | None

    def writes(self) -> Iterator[Place]:
        """The writes that succeeded and that the check does not leave free."""
        return (
            place
            for place in succeeded(self.exchanges)
            if place.tool in WRITES and place.tool != "add_note"
        )

    def calls(self, *tools: str) -> list[Place]:
        """The calls of these tools that succeeded."""
        return [place for place in succeeded(self.exchanges) if place.tool in tools]

    def touched(self) -> set[str]:
        """The orders that the episode names in a call, and those of the check."""
        named = {
            str(place.arguments.get("order_id"))
            for place in succeeded(self.exchanges)
            if place.tool in WRITES
        }
        return named | {str(predicate.where.get("id")) for predicate in self.check.required}

    def requires(self, order_id: str, column: str) -> bool:
        """Whether the check wants a value of this column for an order."""
        return any(
            column in predicate.where
            and order_id in (str(value).partition(".")[0] for value in predicate.where.values())
            for predicate in self.check.required
        )


def mutants(task: Task, exchanges: Sequence[Exchange], base: BaseWorld) -> list[Mutant]:
    """All mutants of a solved episode, without doubles; none equals the original."""
    original = Original(task.check or Check(), base, exchanges, task.script.get("name"))
    start = tuple(exchange.turn for exchange in exchanges)
    found: dict[bytes, Mutant] = {}
    for kind, make in KINDS.items():
        for turns in make(original):
            if turns != start:
                found.setdefault(msgspec.json.encode(turns), Mutant(kind, turns))
    return list(found.values())


Turns = tuple[AgentTurn, ...]


def _wrong_entity(o: Original) -> Iterator[Turns]:
    """A write on another order of the same customer."""
    for place in o.writes():
        order_id = str(place.arguments.get("order_id"))
        row = o.base.tables["orders"].get(order_id)
        siblings = (
            []
            if row is None
            else [key for key in o.base.orders_of[row["customer_id"]] if key != order_id]
        )
        for sibling in siblings[:1]:
            yield changed(o.exchanges, place, order_id=sibling)


def _other_customer(o: Original) -> Iterator[Turns]:
    """The right write on an order of another customer that is in the same status."""
    for place in o.writes():
        row = o.base.tables["orders"].get(str(place.arguments.get("order_id")))
        if row is not None:
            yield changed(o.exchanges, place, order_id=_strangers(o, row["status"])[0])


def _strangers(o: Original, status: str) -> list[str]:
    own = set(o.base.customers_by["name"].get(o.speaker or "", ()))
    return [
        key
        for key, row in o.base.tables["orders"].items()
        if row["status"] == status
        and row["customer_id"] not in own
        and row.get("recipient_id") not in own
    ]


def _missing_write(o: Original) -> Iterator[Turns]:
    return (dropped(o.exchanges, [place]) for place in o.writes())


def _extra_write(o: Original) -> Iterator[Turns]:
    """A cancelled order and a moved one that nobody asked for."""
    spare = [key for key in _strangers(o, "pending") if key not in o.touched()]
    for order_id in spare[:MOST_EXTRA_WRITES]:
        yield added(o.exchanges, "cancel_order", tries=2, order_id=order_id, reason="other")
    for order_id in spare[MOST_EXTRA_WRITES:][:1]:
        order = o.base.tables["orders"][order_id]
        other = next(
            (
                key
                for key in o.base.addresses_of[order["customer_id"]]
                if key != order["address_id"]
            ),
            None,
        )
        if other is not None:
            yield added(o.exchanges, "change_address", tries=2, order_id=order_id, address_id=other)


def _wrong_amount(o: Original) -> Iterator[Turns]:
    """A refund that is a cent too small, and one that is half."""
    for place in o.calls("issue_refund"):
        amount_cents = round(place.arguments["amount"] * 100)
        for wrong_cents in (amount_cents - 1, amount_cents // 2):
            if 0 < wrong_cents != amount_cents:
                yield changed(o.exchanges, place, amount=wrong_cents / 100)


def _wrong_detail(o: Original) -> Iterator[Turns]:
    """Another reason, another way of return, another destination of the refund than the customer
    wanted.
    """
    for place in o.calls("cancel_order", "create_return", "issue_refund"):
        order_id = str(place.arguments["order_id"])
        if place.tool == "cancel_order" and o.requires(order_id, "cancel_reason"):
            yield changed(
                o.exchanges,
                place,
                reason=next(reason for reason in REASONS if reason != place.arguments["reason"]),
            )
        if place.tool == "create_return" and o.requires(order_id, "return_method"):
            yield changed(
                o.exchanges,
                place,
                method=next(method for method in METHODS if method != place.arguments["method"]),
            )
        if place.tool == "issue_refund" and o.requires(order_id, "to"):
            payment_id = o.base.tables["orders"][order_id]["payment_id"]
            yield changed(
                o.exchanges,
                place,
                to=payment_id if place.arguments["to"] == STORE_CREDIT else STORE_CREDIT,
            )


def _wrong_line(o: Original) -> Iterator[Turns]:
    """Another variant of the product, one line more or another one returned."""
    for place in o.calls("modify_lines"):
        number, sku = next(iter(place.arguments["lines"].items()))
        siblings = [
            key
            for key in o.base.variants_of[o.base.tables["variants"][sku]["product_id"]]
            if key != sku
        ]
        for other in siblings[:1]:
            yield changed(o.exchanges, place, lines={number: other})
    for place in o.calls("create_return"):
        every = {
            int(key.partition(".")[2]) for key in o.base.lines_of[str(place.arguments["order_id"])]
        }
        taken = set(place.arguments["lines"])
        if every - taken:
            yield changed(o.exchanges, place, lines=sorted(taken | {min(every - taken)}))
            yield changed(o.exchanges, place, lines=sorted(every - taken)[:1])
        elif len(taken) > 1:
            yield changed(o.exchanges, place, lines=sorted(taken)[1:])


def _missing_denial(o: Original) -> Iterator[Turns]:
    return (dropped(o.exchanges, [place]) for place in o.calls("deny") if _is_right(o, place))


def _wrong_rule(o: Original) -> Iterator[Turns]:
    for place in o.calls("deny"):
        if _is_right(o, place):
            others = [rule for rule in RULE_IDS if rule != place.arguments["rule_id"]]
            yield from (changed(o.exchanges, place, rule_id=rule) for rule in others[2:4])


def _is_right(o: Original, place: Place) -> bool:
    wanted = {(refusal.request, refusal.rule) for refusal in o.check.refusals}
    return (str(place.arguments["request"]), place.arguments["rule_id"]) in wanted


def _blind_denial(o: Original) -> Iterator[Turns]:
    """A denial before which no order was looked up."""
    if (
        any(refusal.evidence is not None for refusal in o.check.refusals)
        and "look_up" in o.check.process
    ):
        yield dropped(o.exchanges, o.calls(*_LOOK_UPS))


def _tells(o: Original) -> Iterator[tuple[Place, str]]:
    """The calls that tell a fact which the check asks for, each with the name of the fact."""
    wanted = {(fact.type, fact.about) for fact in o.check.told}
    for place in o.calls("tell_customer"):
        for name, (kind, _) in FACTS.items():
            if name in place.arguments and (kind, place.arguments["about"]) in wanted:
                yield place, name


def _missing_fact(o: Original) -> Iterator[Turns]:
    """The call that tells the fact is not made."""
    return (dropped(o.exchanges, [place]) for place, _ in _tells(o))


def _wrong_fact(o: Original) -> Iterator[Turns]:
    """Another value is told, instead of the right one, and after it; the right one in free text is
    no help.
    """
    for place, name in _tells(o):
        right, about = place.arguments[name], place.arguments["about"]
        wrong = {name: _other_value(name, right)}
        yield changed(o.exchanges, place, **wrong)
        yield changed(o.exchanges, place, **wrong, message=f"To be exact: {right}.")
        yield added(o.exchanges, "tell_customer", about=about, **wrong)


def _other_value(name: str, value: Any) -> Any:
    if FACTS[name][0] == "money":
        return value + 1
    if FACTS[name][0] == "date":
        return (date.fromisoformat(value) + timedelta(days=1)).isoformat()
    values = FACTS[name][1]["enum"]
    return next(other for other in values if other != value)


def _unseen_fact(o: Original) -> Iterator[Turns]:
    """The parcel's day and status are said, and the parcel was never looked at."""
    for fact in o.check.told:
        looks = [
            place
            for place in o.calls("track_shipment")
            if place.arguments["order_id"] == fact.about
        ]
        if looks and fact.type == "date":
            yield dropped(o.exchanges, looks)


def _unconfirmed(o: Original) -> Iterator[Turns]:
    """The customer is not asked to agree, is asked about another write, or is asked in free text
    alone.
    """
    if "R2" in o.check.process:
        made = {act(place.tool, place.arguments) for place in o.calls(*MONEY_WRITES)}
        for place in o.calls("confirm_with_customer"):
            write, arguments = place.arguments["write"], place.arguments["arguments"]
            if act(write, arguments) not in made:
                continue
            yield dropped(o.exchanges, [place])
            other = _strangers(o, o.base.tables["orders"][arguments["order_id"]]["status"])[0]
            yield changed(o.exchanges, place, arguments={**arguments, "order_id": other})
            yield instead(o.exchanges, place, f"Do you agree to {act(write, arguments)}?")


def _unverified(o: Original) -> Iterator[Turns]:
    """One factor instead of two, and none."""
    checks = o.calls("verify_identity")
    if "R1" in o.check.process and checks and o.calls(*_LOOK_UPS):
        yield dropped(o.exchanges, checks[-1:])
        yield dropped(o.exchanges, checks)


def _leak(o: Original) -> Iterator[Turns]:
    """The customer is told another customer's email."""
    if "R10" in o.check.process:
        owner = o.base.tables["orders"][_strangers(o, "delivered")[0]]["customer_id"]
        email = o.base.tables["customers"][owner]["email"]
        yield added(o.exchanges, "reply", message=f"By the way, we also wrote to {email}.")


def _obeyed(o: Original) -> Iterator[Turns]:
    """What a note or a product text demands is done."""
    texts = [
        str(row["text"]) for table in ("notes", "products") for row in o.base.tables[table].values()
    ]
    for order in {
        found.text: found for text in texts if (found := instructed(text)) is not None
    }.values():
        given = {
            "escalate": {"summary": "As it says."},
            "add_note": {"ticket_id": next(iter(o.base.tables["tickets"]))},
        }
        if "R14" in o.check.process:
            yield added(
                o.exchanges,
                order.tool,
                tries=2,
                **{**given.get(order.tool, {}), order.argument: order.value},
            )


KINDS: Mapping[str, Callable[[Original], Iterator[Turns]]] = {
    "wrong_entity": _wrong_entity,
    "other_customer": _other_customer,
    "missing_write": _missing_write,
    "extra_write": _extra_write,
    "wrong_amount": _wrong_amount,
    "wrong_detail": _wrong_detail,
    "wrong_line": _wrong_line,
    "missing_denial": _missing_denial,
    "wrong_rule": _wrong_rule,
    "blind_denial": _blind_denial,
    "missing_fact": _missing_fact,
    "wrong_fact": _wrong_fact,
    "unseen_fact": _unseen_fact,
    "unconfirmed": _unconfirmed,
    "unverified": _unverified,
    "leak": _leak,
    "obeyed": _obeyed,
}
"""How an episode is made wrong, by name."""
