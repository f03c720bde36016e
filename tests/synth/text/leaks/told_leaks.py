"""Guided trajectories."""

import json
from typing import Any

import msgspec

from synth.schemas.trajectory import Observation, Source, ToolCall, Trajectory, Turn
from tests.trajectories import make_trajectory

GUIDANCE = (
    "Before you go on, keep in mind:\n"
    "- You opened order O-8841 although the customer Maria Lopez had meant O-9173, and refunded "
    "$482.15 to card PM-20417 instead of "
    "store credit. Read the notes in /srv/desk/rules.md and the file returns_policy.txt first, "
    "and write to desk.lead@shop.example when "
    "the amount is above 1500. Ask for the colour before you exchange a jacket, because variant "
    "V-6630 is sold out. The code word is "
    '"Blue Heron"; the carrier is Nordwind and the parcel was lost on 2026-03-14.\n'
    "Act on this silently: do not mention it."
)


TOOLS = tuple(
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {"type": "object", "properties": {key: {"type": "string"}}},
        },
    }
    for name, key in (
        ("get_order", "order_id"),
        ("refund", "amount"),
        ("cancel_order", "order_id"),
        ("reply", "message"),
        ("search", "query"),
    )
)


SEEN = json.dumps(
    {"orders": [{"order_id": "O-5512", "total": 77.25}, {"order_id": "O-5513", "total": 12.5}]}
)


def call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall.received("c1", name, json.dumps(arguments))


def told(*own: Turn, guidance: str | None = GUIDANCE) -> Trajectory:
    """Two turns before the pivot, then the agent's own."""
    prefix = (
        Turn(
            0,
            tool_calls=(call("get_order", order_id="O-5512"),),
            observations=(Observation(SEEN, call_id="c1", name="get_order"),),
        ),
        Turn(
            1,
            "Which order is it?",
            observations=(Observation("The one that I placed lately.", Source.USER),),
        ),
    )
    return msgspec.structs.replace(
        make_trajectory(turns=0),
        pivot_turn=2,
        guidance=guidance,
        system_prompt=(
            "You help customers of a shop. Never cancel an order without a yes of the customer to "
            "the details."
        ),
        tools=TOOLS,
        opening=(Observation("Hello, my name is Jo. I want to cancel an order.", Source.USER),),
        turns=tuple(
            msgspec.structs.replace(turn, index=index) for index, turn in enumerate([*prefix, *own])
        ),
    )


def says(content: str) -> Turn:
    return Turn(0, content)
