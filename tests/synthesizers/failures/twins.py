"""A clean trajectory made by hand: a desk that looks up, asks, cancels an order, tells the refund
and finishes.
"""

import json
from typing import Any

import msgspec

from synth.schemas.outcome import Outcome, Termination
from synth.schemas.trajectory import Observation, Source, ToolCall, Trajectory, Turn
from synth.synthesizers.failures.mistakes.point import InjectionPoint
from synth.synthesizers.failures.mistakes.transcript import InjectionTranscript
from tests.trajectories import make_trajectory

_STRING = {"type": "string"}


def tool(name: str, **properties: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {
        "type": "function",
        "function": {"name": name, "description": f"{name}.", "parameters": parameters},
    }


DESK = (
    tool("list_orders", customer_id=_STRING),
    tool("get_order", order_id=_STRING),
    tool("verify_identity", customer_id=_STRING, value=_STRING),
    tool("ask_customer", message=_STRING),
    tool("cancel_order", order_id=_STRING, reason={"type": "string", "enum": ["mistake", "late"]}),
    tool("reply", message=_STRING),
    tool("finish", message=_STRING),
)


def did(
    index: int,
    name: str,
    arguments: dict[str, Any],
    answer: Any,
    user: str | None = None,
    **fields: Any,
) -> Turn:
    """One call, its answer as JSON, and what the user says to it."""
    call = ToolCall.received(f"c{index}", name, json.dumps(arguments))
    seen = [
        Observation(
            answer if isinstance(answer, str) else json.dumps(answer),
            call_id=call.call_id,
            name=name,
        )
    ]
    seen += [Observation(user, Source.USER)] if user is not None else []
    return Turn(
        **{
            "index": index,
            "tool_calls": (call,),
            "observations": tuple(seen),
            "state_key": f"s{index}",
            **fields,
        }
    )


ORDERS = [
    {"order_id": "O-1", "total": "12.50"},
    {"order_id": "O-2", "total": "80.10"},
    {"order_id": "O-3", "total": "7.00"},
]
DESK_TURNS = (
    did(
        0,
        "list_orders",
        {"customer_id": "C-9"},
        {"orders": ORDERS, "phones": ["555-1", "555-2"]},
    ),
    did(
        1,
        "get_order",
        {"order_id": "O-1"},
        {"order_id": "O-1", "total": "12.50", "status": "pending"},
    ),
    did(
        2,
        "verify_identity",
        {"customer_id": "C-9", "value": "555-1"},
        {"value": "555-1", "phone": "555-2", "ok": True},
    ),
    did(
        3,
        "ask_customer",
        {"message": "I am going to cancel order O-1. Shall I?"},
        {"ok": True},
        "Yes, please.",
    ),
    did(
        4,
        "cancel_order",
        {"order_id": "O-1", "reason": "mistake"},
        {"ok": True, "refund": "12.50"},
    ),
    did(
        5,
        "reply",
        {"message": "Order O-1 is cancelled, you get 12.50 back."},
        {"ok": True},
        "Thank you.",
    ),
    did(6, "finish", {"message": "Goodbye!"}, {"ok": True}),
)


def desk_twin(**fields: Any) -> Trajectory:
    """Turns: 0 list, 1 get O-1, 2 verify, 3 ask for a yes, 4 cancel O-1, 5 tell the refund, 6
    finish.
    """
    opening = (
        Observation(
            "I am customer C-9. Please cancel order O-1, I ordered it by mistake.", Source.USER
        ),
    )
    given = {
        "tools": DESK,
        "opening": opening,
        "turns": DESK_TURNS,
        "outcome": Outcome.SUCCESS,
        "termination": Termination.DONE,
    }
    return msgspec.structs.replace(make_trajectory("twin"), **{**given, **fields})


def site(turn: int, **fields: Any) -> InjectionPoint:
    return InjectionPoint(InjectionTranscript(desk_twin(**fields)), turn)
