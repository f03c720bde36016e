"""Storefront: steps per second on one core, bytes per parked episode, memory per live episode.

Run: `python -m benchmarks.storefront_steps`
"""

import asyncio
import resource
import sys
from time import perf_counter

from synth.envs.storefront import WORLD
from synth.schemas.canonical import canonical_json
from synth.schemas.environment import AgentTurn, Env
from synth.schemas.task import Task
from synth.schemas.trajectory import ToolCall

STEPS = 20_000
STEPS_PER_EPISODE = 40
LIVE_EPISODES = 2_048
TURNS_PER_LIVE_EPISODE = 15


def turn(name: str, **arguments: object) -> AgentTurn:
    """One call as an agent would send it."""
    return AgentTurn(tool_calls=(ToolCall.received("c", name, canonical_json(arguments).decode()),))


async def mix(env: Env) -> list[AgentTurn]:
    """Three reads and one write, over what the world holds: every argument is valid, every write
    changes the state.
    """
    facts = await env.facts()
    order_id = next(
        path.split("/")[1]
        for path, value in facts.items()
        if path.startswith("orders/") and value == "pending"
    )
    customer_id = facts[f"orders/{order_id}/customer_id"]
    address_ids = [
        p.split("/")[1]
        for p, value in facts.items()
        if p.startswith("addresses/") and value == customer_id
    ]
    turns = []
    for step in range(STEPS_PER_EPISODE // 4):
        turns += [
            turn("get_order", order_id=order_id),
            turn("list_orders", customer_id=customer_id),
            turn("quote_refund", order_id=order_id, lines=[1]),
            turn("change_address", order_id=order_id, address_id=address_ids[step % 2]),
        ]
    return turns


async def steps_per_second(task: Task) -> float:
    """Validated steps with a state key each, one write in four; a fresh episode every 40 steps."""
    env = WORLD.open({"transient_rate": 0})
    await env.reset(task)
    turns = await mix(env)
    started = perf_counter()
    for _ in range(STEPS // len(turns)):
        await env.reset(task)
        for made in turns:
            response = await env.step(made)
            if response.observations[0].error:
                raise RuntimeError(response.observations[0].content)
    return STEPS // len(turns) * len(turns) / (perf_counter() - started)


async def expert_episodes(tasks: list[Task]) -> tuple[float, list[int]]:
    """Planned and stepped turns per second, and the bytes of each finished episode when parked."""
    turns, parked = 0, []
    started = perf_counter()
    for task in tasks:
        env = WORLD.open({"transient_rate": 0})
        await env.reset(task)
        done = False
        while not done:
            done = (await env.step(await env.expert(None, turns))).done
            turns += 1
        parked.append(len((await env.snapshot()).blob))
    return turns / (perf_counter() - started), parked


async def live_bytes(tasks: list[Task]) -> float:
    """Growth of peak resident memory per episode that is open at the same time, 15 expert turns
    in.
    """
    unit = 1 if sys.platform == "darwin" else 1024
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    live = []
    for at in range(LIVE_EPISODES):
        env = WORLD.open({"transient_rate": 0})
        await env.reset(tasks[at % len(tasks)])
        for _ in range(TURNS_PER_LIVE_EPISODE):
            await env.step(await env.expert(None, at))
        live.append(env)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * unit / len(live)


async def main() -> None:
    """Prints the table."""
    tasks = list(WORLD.make_tasks({"transient_rate": 0}, 7, 256))
    live = await live_bytes(tasks)
    rate = max([await steps_per_second(tasks[0]) for _ in range(3)])
    planned, parked = await expert_episodes(tasks)
    print(f"{'steps per second per core (1 write in 4, validated, keyed)':62} {rate:>10,.0f}")
    print(f"{'turns per second with the expert planning each, and parking':62} {planned:>10,.0f}")
    print(f"{'bytes per parked episode, mean':62} {sum(parked) / len(parked):>10,.0f}")
    print(f"{'bytes per parked episode, largest':62} {max(parked):>10,.0f}")
    print(f"{f'bytes per live episode ({LIVE_EPISODES} open, 15 turns each)':62} {live:>10,.0f}")


if __name__ == "__main__":
    asyncio.run(main())
