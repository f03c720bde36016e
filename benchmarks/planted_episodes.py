"""Storefront episodes of every kind that provenance must tell apart: careful, careless, guessing,
and acting on what nobody showed.
"""

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from synth.envs.bots import BOTS
from synth.envs.storefront import WORLD
from synth.envs.storefront.tools.schemas import WRITES
from synth.schemas.canonical import content_hash
from synth.schemas.check import Facts
from synth.schemas.environment import AgentTurn, Env, Response
from synth.schemas.outcome import Outcome, Termination
from synth.schemas.policy import Episode, View
from synth.schemas.task import Task
from synth.schemas.trajectory import ToolCall, Trajectory, Turn

MOST_TURNS = 120
LOOK_UPS = (
    "get_order",
    "list_orders",
    "get_customer",
    "search_products",
    "quote_refund",
    "get_variant",
)
Act = Callable[[Env, View], Any]


async def played(task: Task, act: Act) -> Trajectory:
    """An episode by an actor that is given the world and what it has seen; recorded as the ledger
    would.
    """
    env = WORLD.open({})
    opening = await env.reset(task)
    turns: list[Turn] = []
    done = False
    while not done and len(turns) < MOST_TURNS:
        decided: AgentTurn | None = await act(env, View(opening, tuple(turns)))
        if decided is None:
            break
        response: Response = await env.step(decided)
        turns.append(Turn(len(turns), decided.content, decided.tool_calls, response.observations))
        done = response.done
    await env.close()
    return Trajectory(
        trajectory_id=content_hash(
            [
                task.task_id,
                [[turn.content, [c.arguments for c in turn.tool_calls]] for turn in turns],
            ]
        ),
        slot_id="",
        attempt=0,
        task_id=task.task_id,
        env="storefront",
        trial=0,
        synthesizer="rollout",
        policy="benchmark",
        outcome=Outcome.UNKNOWN,
        termination=Termination.AGENT_STOP,
        system_prompt=opening.system_prompt,
        tools=opening.tools,
        opening=opening.observations,
        turns=tuple(turns),
    )


def expert(profile: str | None, seed: int) -> Act:
    """The planner, with a misconception or without."""

    async def act(env: Env, view: View) -> AgentTurn | None:
        return await env.expert(profile, seed)

    return act


def random_walk(seed: int) -> Act:
    """Any of the things that could be done now, each as likely; most often a write, where one can
    be done.
    """
    rng = Random(f"walk {seed}")

    async def act(env: Env, view: View) -> AgentTurn | None:
        if len(view.turns) >= 60:
            return None
        turns = [
            turn
            for turn in await env.affordances()
            if not any(call.name == "finish" for call in turn.tool_calls)
        ]
        writes = [turn for turn in turns if any(call.name in WRITES for call in turn.tool_calls)]
        return rng.choice(writes if writes and rng.random() < 0.5 else turns) if turns else None

    return act


def bot(name: str) -> Act:
    """One of the bots that understand nothing."""
    opened: list[Any] = []

    async def act(env: Env, view: View) -> AgentTurn | None:
        if not opened:
            opened.append(BOTS[name](Episode(env, None, 0, 0)))
        turn: AgentTurn = (await opened[0].act(view)).turn
        return turn if len(view.turns) < 60 else None

    return act


def scripted(turns: Sequence[AgentTurn]) -> Act:
    """These turns, whatever is answered."""

    async def act(env: Env, view: View) -> AgentTurn | None:
        return turns[len(view.turns)] if len(view.turns) < len(turns) else None

    return act


def without_look_ups(trajectory: Trajectory, rng: Random) -> list[AgentTurn]:
    """An episode's turns without some kinds of reads: the writes then act on what was never
    shown.
    """
    dropped = set(rng.sample(LOOK_UPS, rng.choice((1, 2, 3))))
    kept = [
        AgentTurn(turn.content, tuple(call for call in turn.tool_calls if call.name not in dropped))
        for turn in trajectory.turns
    ]
    return [turn for turn in kept if turn.tool_calls or turn.content]


def with_other_values(trajectory: Trajectory, facts: Facts, rng: Random) -> list[AgentTurn]:
    """An episode's turns with one argument of each write, by chance, made another one that the
    world accepts.
    """
    return [
        _changed(turn, lambda call: _other(call, facts, rng) if rng.random() < 0.7 else call)
        for turn in trajectory.turns
    ]


def _other(call: ToolCall, facts: Facts, rng: Random) -> ToolCall:
    arguments = call.parsed()
    if call.name == "issue_refund":
        arguments["amount"] = rng.randint(1, max(1, round(arguments["amount"] * 100) - 1)) / 100
    elif call.name in ("create_return", "modify_lines"):
        order_id = arguments["order_id"]
        count = sum(
            path.startswith(f"lines/{order_id}.") and path.endswith("/sku") for path in facts
        )
        if call.name == "create_return":
            arguments["lines"] = [rng.randint(1, max(1, count))]
        else:
            arguments["lines"] = {
                line: _variant_beside(sku, facts, rng) for line, sku in arguments["lines"].items()
            }
    elif "order_id" in arguments:
        status = facts.get(f"orders/{arguments['order_id']}/status")
        arguments["order_id"] = rng.choice(
            [
                path.split("/")[1]
                for path, v in facts.items()
                if path.startswith("orders/") and v == status
            ]
        )
    return ToolCall.received(call.call_id, call.name, json.dumps(arguments))


def _variant_beside(sku: str, facts: Facts, rng: Random) -> str:
    product = facts.get(f"variants/{sku}/product_id")
    return rng.choice(
        [
            p.split("/")[1]
            for p, v in facts.items()
            if p.startswith("variants/") and p.endswith("product_id") and v == product
        ]
    )


def with_invented_values(trajectory: Trajectory, rng: Random) -> tuple[list[AgentTurn], set[str]]:
    """An episode's turns with an identifier that no world has, or an amount, in one argument of
    each write; and those values.
    """
    invented: set[str] = set()

    def invent(call: ToolCall) -> ToolCall:
        arguments = call.parsed()
        names = [
            name
            for name in ("order_id", "address_id", "to", "code", "amount")
            if name in arguments and arguments[name] != "store_credit"
        ]
        if not names:
            return call
        name = rng.choice(names)
        if name == "amount":
            arguments[name] = rng.randint(100_00, 99_999_99) / 100
        else:
            shown = str(arguments[name])
            dash = "-" if "-" in shown else ""
            arguments[name] = f"{shown[0]}{dash}{rng.randint(100_000, 999_999)}"
        invented.add(json.dumps(arguments[name]))
        return ToolCall.received(call.call_id, call.name, json.dumps(arguments))

    return [_changed(turn, invent) for turn in trajectory.turns], invented


def _changed(turn: Turn, change: Callable[[ToolCall], ToolCall]) -> AgentTurn:
    return AgentTurn(
        turn.content,
        tuple(change(call) if call.name in WRITES else call for call in turn.tool_calls),
    )
