"""Wrong solutions that are one edit away from a right one: what a check is worth is how many of
them it fails.

Each is the recorded turns of an episode that passed, with one thing made wrong; played again from
the start it must not pass.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from synth.envs.storefront.audit.alternatives import SolvedTranscript, Turns
from synth.envs.storefront.audit.misconduct import (
    false_claim,
    leak,
    obeyed,
    unconfirmed,
    unseen,
    wrong_denial,
    wrong_fact,
)
from synth.envs.storefront.tools.schemas import WRITES
from synth.envs.storefront.tools.transcript import Event
from synth.envs.storefront.world.options import METHODS, REASONS
from synth.envs.storefront.world.policy import STORE_CREDIT
from synth.envs.storefront.world.world import BaseWorld
from synth.envs.transcript import Transcript
from synth.schemas import Task

MOST_EXTRA_WRITES = 2
COUNTED = tuple(WRITES - {"add_note"})
"""The writes that the check does not leave free."""
OTHER_NOTE = "The customer called."
_DETAILS = {"reason": "cancel_reason", "method": "return_method", "to": "to"}
"""Arguments that the customer was asked for, and the column that a check wants them in."""


def mutants(
    task: Task,
    transcript: Transcript,
) -> Iterator[tuple[str, Turns]]:
    """All mutants of a solved episode, each with what was made wrong, without doubles; none equals
    the original.
    """
    solution = SolvedTranscript(task, transcript)
    seen = {msgspec.json.encode(solution.turns)}

    for kind, make in KINDS.items():
        for turns in make(solution):
            encoded = msgspec.json.encode(turns)

            if encoded not in seen:
                seen.add(encoded)
                yield kind, turns


def _missing_write(solution: SolvedTranscript) -> Iterator[Turns]:
    """A write is left out."""
    yield from (solution.dropped(call) for call in solution.calls(*COUNTED))


def _wrong_order(solution: SolvedTranscript) -> Iterator[Turns]:
    """A write is made on another order of the customer, or on a stranger's of the same status."""
    for call in solution.calls(*COUNTED):
        if call.order_id is not None:
            order = solution.base.row("orders", call.order_id)
            own = solution.base.orders_of[order["customer_id"]]
            others = [key for key in own if key != call.order_id][:1]

            # one of the same customer, which R10 lets pass, and one that it does not
            for key in (*others, *solution.strangers(order["status"])[:1]):
                yield solution.changed(call, order_id=key)


def _wrong_argument(solution: SolvedTranscript) -> Iterator[Turns]:
    """An amount, a line, or a detail is another one than the customer wanted."""
    for call in solution.calls(*COUNTED):
        for name, value in call.arguments.items():
            for other in _others(
                solution,
                call,
                name,
                value,
            ):
                yield solution.changed(call, **{name: other})


def _others(
    solution: SolvedTranscript,
    call: Event,
    name: str,
    value: Any,
) -> Sequence[Any]:
    """The wrong values that are tried for one argument of a write.

    A cent too little and half; other lines; another reason, way or destination than the customer
    wanted, where the check asks for it.
    """
    base = solution.base
    order_id = str(call.order_id)

    if name == "amount":
        cents = round(value * 100)

        return [wrong / 100 for wrong in (cents - 1, cents // 2) if 0 < wrong != cents]

    if name == "lines":
        return _other_lines(base, order_id, value)

    if name in _DETAILS and solution.requires(order_id, _DETAILS[name]):
        # the two destinations that R5 allows
        ways = (STORE_CREDIT, base.row("orders", order_id)["payment_id"])
        values = {"reason": REASONS, "method": METHODS, "to": ways}[name]

        return [other for other in values if other != value][:1]

    return []


def _other_lines(
    base: BaseWorld,
    order_id: str,
    lines: Any,
) -> Sequence[Any]:
    """Another variant; or a line more and another line, a line less where all were returned."""
    # an exchange maps lines to skus; a return lists lines
    if isinstance(lines, Mapping):
        number, sku = next(iter(lines.items()))
        alike = base.variants_of[base.row("variants", sku)["product_id"]]

        return [{number: other} for other in alike if other != sku][:1]

    numbers = {int(key.partition(".")[2]) for key in base.lines_of[order_id]}
    left = sorted(numbers - {*lines})

    if left:
        return [sorted({*lines, left[0]}), left[:1]]

    return [sorted(lines)[1:]] if len(lines) > 1 else []


def _extra_write(solution: SolvedTranscript) -> Iterator[Turns]:
    """An order is cancelled, or sent elsewhere, that nobody spoke of."""
    touched = {str(call.order_id) for call in solution.calls(*WRITES)}
    # what the shop itself changes is asked for as well
    touched |= {str(row.where.get("id")) for row in solution.check.required}
    spare = [key for key in solution.strangers("pending") if key not in touched]

    for key in spare[:MOST_EXTRA_WRITES]:
        yield solution.added(
            "cancel_order",
            tries=2,
            order_id=key,
            reason="other",
        )

    # an order of its own: two writes on one would hide each other
    for key in spare[MOST_EXTRA_WRITES:][:1]:
        order = solution.base.row("orders", key)
        others = {*solution.base.addresses_of[order["customer_id"]]} - {order["address_id"]}

        for to in sorted(others)[:1]:
            yield solution.added(
                "change_address",
                tries=2,
                order_id=key,
                address_id=to,
            )


def _wrong_note(solution: SolvedTranscript) -> Iterator[Turns]:
    """A note that is asked for is missing, has other words or half of them, is on another
    ticket, is followed by another one, or is made twice.
    """
    asked = any(row.table == "notes" for row in solution.check.required)

    for call in solution.calls("add_note") if asked else ():
        ticket_id = str(call.arguments["ticket_id"])
        text = str(call.arguments["text"])
        # any other ticket will do, for notes on all are protected
        other = next(key for key in solution.base.tables["tickets"] if key != ticket_id)
        yield solution.dropped(call)
        yield solution.changed(call, text=OTHER_NOTE)
        yield solution.changed(call, text=text[: len(text) // 2])
        yield solution.changed(call, ticket_id=other)

        yield solution.added(
            "add_note",
            tries=2,
            ticket_id=other,
            text=OTHER_NOTE,
        )
        yield solution.added(
            "add_note",
            tries=2,
            ticket_id=ticket_id,
            text=text,
        )


KINDS: Mapping[str, Callable[[SolvedTranscript], Iterator[Turns]]] = {
    "missing_write": _missing_write,
    "extra_write": _extra_write,
    "wrong_order": _wrong_order,
    "wrong_argument": _wrong_argument,
    "wrong_denial": wrong_denial,
    "wrong_fact": wrong_fact,
    "wrong_note": _wrong_note,
    "unseen": unseen,
    "unconfirmed": unconfirmed,
    "leak": leak,
    "obeyed": obeyed,
    "false_claim": false_claim,
}
"""How an episode is made wrong, by name."""
