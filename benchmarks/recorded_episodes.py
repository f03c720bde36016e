"""Episodes as a ledger receives them: ten turns, one tool call each, prompts and answers of real
size.
"""

from collections.abc import Sequence
from random import Random

from synth.schemas.canonical import canonical_json, content_hash, trajectory_id
from synth.schemas.check import CheckResult, SubVerdict
from synth.schemas.outcome import Outcome, Termination
from synth.schemas.trajectory import (
    Observation,
    Source,
    ToolCall,
    ToolSchema,
    Trajectory,
    Turn,
    Usage,
)

TURNS = 10
TOOL_NAMES = ("get_order", "list_orders", "cancel_order", "change_address")
SYSTEM_PROMPT = " ".join(
    f"Rule {n}: an order is changed only after its customer has confirmed the change."
    for n in range(1, 27)
)
"""2 KB."""


def _tool(name: str) -> ToolSchema:
    properties = {
        "order_id": {"type": "string", "description": "As it stands on the receipt."},
        "lines": {"type": "array", "items": {"type": "integer"}},
    }
    parameters = {
        "type": "object",
        "properties": properties,
        "required": ["order_id"],
        "additionalProperties": False,
    }
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": f"Does {name} for one order.",
            "parameters": parameters,
        },
    }


TOOLS = tuple(_tool(name) for name in TOOL_NAMES)


def recorded_episodes(count: int, seed: int) -> list[Trajectory]:
    """That many trajectories of ten turns; ids and amounts are drawn, so that compression finds no
    copies.
    """
    draws = Random(f"episodes {seed}")
    return [_episode(draws, content_hash([seed, number])) for number in range(count)]


def _episode(draws: Random, slot: str) -> Trajectory:
    turns = tuple(_turn(draws, index) for index in range(TURNS))
    return Trajectory(
        trajectory_id=trajectory_id(slot, 0),
        slot_id=slot,
        attempt=0,
        task_id=content_hash(slot),
        env="storefront",
        trial=0,
        synthesizer="rollout",
        policy="chat",
        model="a-model",
        sampling={"temperature": 0.8, "max_tokens": 1024},
        outcome=Outcome.SUCCESS,
        termination=Termination.DONE,
        system_prompt=SYSTEM_PROMPT,
        tools=TOOLS,
        opening=(
            Observation(
                f"Please look after order {draws.getrandbits(40)}: it should go to my new address.",
                Source.USER,
            ),
        ),
        opening_state_key=content_hash([slot, "opening"]),
        turns=turns,
        reward=1.0,
        check_result=CheckResult(
            True,
            (SubVerdict("state", True), SubVerdict("told", True)),
            {"orders/1/status": "pending"},
            "1",
        ),
        totals=_total(turns),
        created_at="2026-11-01T12:00:00.000+00:00",
    )


def _total(turns: Sequence[Turn]) -> Usage:
    total = Usage()
    for turn in turns:
        total = total + turn.usage if turn.usage is not None else total
    return total


def _line(draws: Random) -> dict[str, object]:
    return {
        "sku": f"SKU-{draws.getrandbits(24)}",
        "quantity": draws.randint(1, 5),
        "price": draws.randint(100, 9999) / 100,
    }


def _turn(draws: Random, index: int) -> Turn:
    name = TOOL_NAMES[index % len(TOOL_NAMES)]
    order_id = f"O{draws.getrandbits(32)}"
    call = ToolCall.received(
        f"call_{draws.getrandbits(48):x}",
        name,
        canonical_json({"order_id": order_id, "lines": [1, 2]}).decode(),
    )
    answer = {
        "order_id": order_id,
        "status": draws.choice(("pending", "shipped", "delivered")),
        "customer_id": f"C{draws.getrandbits(24)}",
        "lines": [_line(draws) for _ in range(3)],
        "address": f"{draws.randint(1, 999)} {draws.choice(('Birch', 'Cedar', 'Elm'))} Street, "
        f"{draws.randint(10000, 99999)}",
        "total": draws.randint(1000, 99999) / 100,
    }
    return Turn(
        index,
        tool_calls=(call,),
        observations=(
            Observation(canonical_json(answer).decode(), call_id=call.call_id, name=name),
        ),
        thought=f"The customer named order {order_id}, so I look at it before I change anything.",
        state_key=content_hash([order_id, index]),
        usage=Usage(900 + 150 * index, 40, 800 + 150 * index, 1),
        latency_ms=draws.uniform(300, 900),
    )
