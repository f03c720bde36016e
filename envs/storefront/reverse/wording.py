"""A reverse task's own words: one instruction per operation, and what is left of a goal when its
entities are masked.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from synth.envs.storefront.tasks.intents import Intent
from synth.envs.storefront.texts import texts
from synth.envs.storefront.tools.transcript import decoded
from synth.schemas.reverse import Operation
from synth.schemas.trajectory import ToolCall

_INSTRUCTIONS: Mapping[str, str] = texts("expert")["instructions"]


def instruction(operation: Operation) -> str:
    """What is done in a turn, and the rule by which it is refused."""
    done = (
        " ".join(_instruction(call) for call in operation.turn.tool_calls)
        or "Speak to the customer."
    )
    return done if operation.denied is None else f"{done} It is refused by {operation.denied}."


def _instruction(call: ToolCall) -> str:
    arguments = decoded(call.arguments) or {}
    shown = {name: _shown(value) for name, value in arguments.items()}
    return _INSTRUCTIONS.get(call.name, f"Call {call.name}.").format(**shown)


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"line {key} for {entry}" for key, entry in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def structure(intents: Sequence[Intent]) -> str:
    """The requests in no order: kinds, how order and item are named, what is left to be asked, what
    is to be told, which rule forbids.
    """
    return " + ".join(sorted(_shape(intent) for intent in intents))


def _shape(intent: Intent) -> str:
    request = intent.request
    item = (
        None if request.noun is None else "<item by noun>" if request.colour is None else "<item>"
    )
    order = _order(intent)
    parts = [
        "former price" if request.former else request.kind,
        item,
        order,
        "on <ticket>" if request.ticket_id is not None else None,
        "to <wanted>" if request.wanted is not None else None,
    ]
    parts += ["to a card" if request.pay_to == "card" else "to <card>" if request.pay_to else None]
    parts += ["tell <total>" if request.tell_total else None]
    parts += [
        f"if {request.condition} else {request.otherwise}"
        if request.condition is not None
        else None
    ]
    asked = sorted(
        field for field in intent.details if field != "order" or "ambiguous_order" in intent.twists
    )
    parts += [f"asked {', '.join(asked)}" if asked else None]
    parts += [
        f"refused {refusal.rule} by {str(refusal.evidence).partition('-')[0]}"
        for refusal in intent.refusals
    ]
    parts += list(intent.twists)
    return " ".join(part for part in parts if part is not None)


def _order(intent: Intent) -> str | None:
    request = intent.request
    if request.order_id is not None:
        return "of <order>"
    relations = {
        "after <item>": request.after,
        "from <person>": request.gift_of,
        "for <person>": request.gift_for,
    }
    named = next((words for words, value in relations.items() if value is not None), None)
    return named or ("of the order with <item>" if intent.referent is not None else None)
