"""SQL: who solves its tasks, which near misses its check refuses, what a branch costs.

Run: `python -m benchmarks.sql_tasks [tasks] [seed]`
"""

import asyncio
import statistics
import sys
import time
from collections import Counter
from collections.abc import Sequence

from synth.envs.bots import BOTS
from synth.envs.sql.database.results import StatementError, fingerprint
from synth.envs.sql.database.sources import Made, SqlConfig
from synth.envs.sql.database.task_databases import TaskDatabases
from synth.envs.sql.expert import MISCONCEPTIONS
from synth.envs.sql.mutants import mutants
from synth.envs.sql.world import WORLD
from synth.envs.transcript import play
from synth.policies.scripted import expert_policy
from synth.schemas.canonical import canonical_json
from synth.schemas.environment import AgentTurn
from synth.schemas.task import Task
from synth.schemas.trajectory import ToolCall
from synth.stats.intervals import clopper_pearson

TASKS, SEED = 1000, 7
NEAR_MISSES = 5
MOST_TURNS = 20
BRANCHES = 200


async def solved(task: Task, profile: str) -> bool:
    """Whether the expert of a profile solves a task."""
    env = WORLD.open(task.env_config)
    policy = expert_policy({"profiles": profile}, model_name=None, sampling={})
    try:
        played = await play(env, task, policy.open, seed=SEED, max_turns=MOST_TURNS)
        return played.verdict.passed
    finally:
        await env.close()


async def bot_solves(task: Task, name: str) -> bool:
    """Whether a bot solves a task."""
    env = WORLD.open(task.env_config)
    try:
        return (await play(env, task, BOTS[name], seed=SEED, max_turns=MOST_TURNS)).verdict.passed
    finally:
        await env.close()


async def passes(task: Task, tool: str, sql: str) -> bool:
    """Whether one statement, and a word that it is done, solve a task."""
    env = WORLD.open(task.env_config)
    try:
        await env.reset(task)
        arguments = canonical_json({"sql": sql}).decode()
        await env.step(AgentTurn(tool_calls=(ToolCall.received("c", tool, arguments),)))
        await env.step(AgentTurn("It is done."))
        return (await env.check()).passed
    finally:
        await env.close()


async def near_misses(task: Task) -> Counter[tuple[str, str]]:
    """The first near misses of a task that differ on any database of the schema: refused or not."""
    found: Counter[tuple[str, str]] = Counter()
    tool = "change" if task.script["kind"] == "change" else "answer"
    ordered = "in_order" in str(task.check)
    tried = TaskDatabases(Made(SqlConfig()), task.seed, int(task.script["other"]))
    try:
        right = str(task.script["sql"])
        for kind, slip in mutants(tried.database, right):
            if found.total() >= NEAR_MISSES:
                break
            try:
                if tool == "change":
                    same = tried.after([slip]) == tried.after([right])
                else:
                    prints = [
                        [
                            fingerprint(one, ordered=ordered)
                            for one in (*tried.both(sql), *tried.probes(sql))
                        ]
                        for sql in (slip, right)
                    ]
                    same = prints[0] == prints[1]
            except StatementError:
                continue
            if not same:
                found["passed" if await passes(task, tool, slip) else "refused", kind] += 1
        return found
    finally:
        tried.close()


async def branch_times(tasks: Sequence[Task]) -> tuple[list[float], list[float], list[float]]:
    """Milliseconds of a step, of snapshot and restore in place, and in a fresh instance."""
    steps, same, fresh = [], [], []
    for task in tasks:
        env, other = WORLD.open(task.env_config), WORLD.open(task.env_config)
        await env.reset(task)
        await other.reset(task)
        for _ in range(4):
            turn = await env.expert()
            begun = time.perf_counter()
            done = (await env.step(turn)).done
            steps.append((time.perf_counter() - begun) * 1000)
            begun = time.perf_counter()
            snapshot = await env.snapshot()
            await env.restore(snapshot)
            same.append((time.perf_counter() - begun) * 1000)
            begun = time.perf_counter()
            await other.restore(snapshot)
            fresh.append((time.perf_counter() - begun) * 1000)
            if done:
                break
        await env.close()
        await other.close()
    return steps, same, fresh


def share(count: int, n: int) -> str:
    """A share with its exact 95 % interval."""
    low, high = clopper_pearson(count, n)
    return f"{count} of {n} ({100 * count / n:.1f} %, {100 * low:.1f} to {100 * high:.1f})"


def main() -> None:
    """Prints the tables."""
    given = [int(one) for one in sys.argv[1:]]
    count, seed = (*given, TASKS, SEED)[:2] if len(given) != 1 else (given[0], SEED)
    begun = time.perf_counter()
    tasks = WORLD.make_tasks({}, seed, count)
    took = (time.perf_counter() - begun) / len(tasks) * 1000
    kinds = Counter(str(task.script["kind"]) for task in tasks)
    print(f"tasks: {len(tasks)}, {dict(sorted(kinds.items()))}; {took:.0f} ms each")
    for profile in ("correct", *MISCONCEPTIONS):
        passed = [asyncio.run(solved(task, profile)) for task in tasks]
        print(f"expert {profile:<20} {share(sum(passed), len(passed))}")
    for name in BOTS:
        passed = [asyncio.run(bot_solves(task, name)) for task in tasks]
        print(f"bot {name:<23} {share(sum(passed), len(passed))}")
    every: Counter[tuple[str, str]] = Counter()
    enough = 0
    for task in tasks:
        found = asyncio.run(near_misses(task))
        every.update(found)
        enough += found.total() >= NEAR_MISSES
    refused = sum(n for (verdict, _), n in every.items() if verdict == "refused")
    print(f"near misses refused: {share(refused, every.total())}")
    print(f"tasks with {NEAR_MISSES} near misses: {share(enough, len(tasks))}")
    print("  by slip:", {kind: n for (_, kind), n in sorted(every.items())})
    steps, same, fresh = asyncio.run(branch_times(tasks[:BRANCHES]))
    for name, times in (("step", steps), ("branch in place", same), ("in another", fresh)):
        p99 = sorted(times)[int(len(times) * 0.99)]
        print(f"{name}: median {statistics.median(times):.3f} ms, p99 {p99:.2f} ms, n {len(times)}")


if __name__ == "__main__":
    main()
