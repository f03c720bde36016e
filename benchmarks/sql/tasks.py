"""SQL: who solves its tasks, by tier and kind; what a step and a branch cost.

Run: `python -m benchmarks.sql.tasks [tasks] [seed]`
"""

import asyncio
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from benchmarks.sql.bots import BOTS as TEMPLATES
from synth.envs.bots import BOTS, expert
from synth.envs.sql.expert import MISCONCEPTIONS
from synth.envs.sql.world import WORLD
from synth.envs.transcript import perform, play
from synth.schemas import Episode, Policy, Task
from synth.stats.intervals import clopper_pearson

TASKS, SEED = 1000, 7
MOST_TURNS = 20
BRANCHES = 200
COLUMNS = ("all", "question", "change", "repair", "tier 0", "tier 1", "tier 2", "tier 3")


def groups(task: Task) -> set[str]:
    """The columns of the table that a task counts in."""
    return {"all", str(task.difficulty["kind"]), f"tier {task.difficulty['tier']}"}


async def solved(task: Task, choose: Callable[[Episode], Policy]) -> bool:
    """Whether a policy solves a task."""
    env = WORLD.open(task.env_config)
    try:
        return (
            await play(env, task, choose, seed=SEED, max_turns=MOST_TURNS)
        ).verdict.passed is True
    finally:
        await env.close()


def players() -> Mapping[str, Callable[[Episode], Policy]]:
    """Who plays, by name."""
    found = {"gold (the planner)": expert("correct"), **BOTS, **TEMPLATES}
    return {**found, **{f"planner, {name}": expert(name) for name in MISCONCEPTIONS}}


def row(name: str, tasks: Sequence[Task], passed: Sequence[bool]) -> str:
    """One line of the table: per cent over all, by kind and by tier."""
    cells = []
    for column in COLUMNS:
        own = [one for task, one in zip(tasks, passed, strict=True) if column in groups(task)]
        cells.append(f"{100 * sum(own) / len(own):.1f}" if own else "-")

    low, high = clopper_pearson(sum(passed), len(passed))
    interval = f"{100 * low:.1f} to {100 * high:.1f}"
    return f"| {name} | {' | '.join(cells)} | {interval} |"


async def restored(tasks: Sequence[Task]) -> tuple[int, int]:
    """Prefixes of solved episodes after which a restored database equals a replayed one."""
    same = tried = 0

    for task in tasks:
        env, other, fresh = (WORLD.open(task.env_config) for _ in range(3))
        actions = (await play(env, task, expert("correct"), seed=SEED)).actions
        await env.reset(task)
        await other.reset(task)
        walk = [*(await env.affordances())[-3:], *actions]
        for at, turn in enumerate(walk):
            await env.step(turn)
            await other.restore(await env.snapshot())
            await perform(fresh, task, walk[: at + 1])
            same += await other.facts() == await fresh.facts() == await env.facts()
            tried += 1
            if at % 2:  # go on from a database that went another way
                await other.restore(await fresh.snapshot())

        for one in (env, other, fresh):
            await one.close()

    return same, tried


async def times(tasks: Sequence[Task]) -> Mapping[str, list[float]]:
    """Milliseconds of a step, and of snapshot and restore in place and in a fresh instance."""
    found: dict[str, list[float]] = {"step": [], "branch in place": [], "branch in another": []}

    def took(name: str, begun: float) -> float:
        now = time.perf_counter()
        found[name].append((now - begun) * 1000)
        return now

    for task in tasks:
        env, other = WORLD.open(task.env_config), WORLD.open(task.env_config)
        await env.reset(task)
        await other.reset(task)
        done = False
        while not done:
            turn = await env.expert()
            begun = time.perf_counter()
            done = (await env.step(turn)).done
            begun = took("step", begun)
            snapshot = await env.snapshot()
            await env.restore(snapshot)
            begun = took("branch in place", begun)
            await other.restore(snapshot)
            took("branch in another", begun)

        await env.close()
        await other.close()

    return found


async def rate(tasks: Sequence[Task]) -> str:
    """Steps of recorded episodes per second, and processor time of each, resets and checks in."""
    episodes = []
    for task in tasks:
        env = WORLD.open(task.env_config)
        episodes.append((task, (await play(env, task, expert("correct"), seed=SEED)).actions))
        await env.close()

    begun, busy, steps = time.perf_counter(), time.process_time(), 0
    for task, actions in episodes:
        env = WORLD.open(task.env_config)
        await perform(env, task, actions)
        await env.close()
        steps += len(actions)

    wall, cpu = time.perf_counter() - begun, time.process_time() - busy
    return f"{steps / wall:,.0f} steps/s, {1000 * cpu / steps:.2f} ms of processor time a step"


def main() -> None:
    """Prints the tables."""
    given = [int(one) for one in sys.argv[1:]]
    count, seed = (*given, *(TASKS, SEED)[len(given) :])
    begun = time.perf_counter()
    tasks = WORLD.make_tasks({}, seed, count)
    took = (time.perf_counter() - begun) / len(tasks) * 1000
    print(f"{len(tasks)} tasks, {took:.0f} ms each")
    print(f"| who | {' | '.join(COLUMNS)} | 95 % |\n|---|{'---|' * (len(COLUMNS) + 1)}")
    counts = [sum(column in groups(task) for task in tasks) for column in COLUMNS]
    print(f"| tasks | {' | '.join(map(str, counts))} | |")

    for name, choose in players().items():
        passed = [asyncio.run(solved(task, choose)) for task in tasks]
        print(row(name, tasks, passed), flush=True)

    for name, each in asyncio.run(times(tasks[:BRANCHES])).items():
        p99 = sorted(each)[int(len(each) * 0.99)]
        print(f"{name}: median {statistics.median(each):.3f} ms, p99 {p99:.2f}, n {len(each)}")

    same, tried = asyncio.run(restored(tasks[:BRANCHES]))
    print(f"restored equals replayed: {same} of {tried} prefixes")
    print(asyncio.run(rate(tasks[:BRANCHES])))


if __name__ == "__main__":
    main()
