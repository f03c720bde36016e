"""How long a world takes to answer, and whether others can work meanwhile."""

import asyncio
import time
from collections.abc import Awaitable, Sequence
from statistics import median
from typing import TypeVar

from synth.envs.conformance.finding import ConformanceRig, Deadline, Finding, part
from synth.envs.transcript import play
from synth.schemas.environment import AgentTurn, Env
from synth.schemas.task import Task

FEWEST_STEPS = 200
REPEAT_S = 1.0
BEAT_S = 0.002
Given = TypeVar("Given")


class Clock:
    """Times calls (milliseconds) and notes the longest time for which the event loop could do
    nothing else.
    """

    def __init__(self) -> None:
        self.samples: dict[str, list[float]] = {}
        self.longest_block_ms = 0.0
        self.blocked_by = ""
        self._beat = time.perf_counter()

    async def beat(self) -> None:
        """Runs beside the calls; never returns."""
        while True:
            self._beat = time.perf_counter()
            await asyncio.sleep(BEAT_S)

    async def timed(self, name: str, call: Awaitable[Given]) -> Given:
        """The call's answer, its time noted."""
        await asyncio.sleep(0)
        began = time.perf_counter()
        answer = await call
        ended = time.perf_counter()
        self.samples.setdefault(name, []).append(1000 * (ended - began))
        blocked_ms = 1000 * (ended - max(began, self._beat))
        if blocked_ms > self.longest_block_ms:
            self.longest_block_ms, self.blocked_by = blocked_ms, name
        return answer


@part()
async def calls_are_quick(bench: ConformanceRig) -> Finding:
    """The 99th percentile of each kind of call is at most `bench.limits.call_ms`.

    No call holds the event loop for more than `bench.limits.loop_ms`, unless the world says that it
    blocks and is stepped on threads.
    """
    clock = await _measured(bench)
    blocking = bench.world.spec.blocking or bench.open().spec.blocking
    rows, problems = [], []
    for name, samples in clock.samples.items():
        p99 = percentile(samples, 0.99)
        rows.append(
            (name, str(len(samples)), f"{median(samples):.3f}", f"{p99:.3f}", f"{max(samples):.3f}")
        )
        if p99 > bench.limits.call_ms:
            problems.append(f"{name} takes {p99:.0f} ms (p99, at most {bench.limits.call_ms:g})")
    bench.table("Milliseconds per call", ("call", "calls", "median", "p99", "longest"), tuple(rows))
    if clock.longest_block_ms > bench.limits.loop_ms and not blocking:
        held = (
            f"{clock.blocked_by} holds the event loop for {clock.longest_block_ms:.0f} ms (at "
            f"most {bench.limits.loop_ms:g})"
        )
        problems.append(f"{held}: set `blocking=True` in its spec")
    steps = clock.samples.get("step", [])
    shown = (
        f"step {median(steps):.3g} ms median, {percentile(steps, 0.99):.3g} ms p99"
        if steps
        else "no steps"
    )
    loop = (
        "it says that it blocks"
        if blocking
        else f"holds the event loop for at most {clock.longest_block_ms:.3g} ms"
    )
    return Finding(not problems, "; ".join(problems) or f"{shown}; {loop}")


async def _measured(bench: ConformanceRig) -> Clock:
    """All calls of an episode, over every task; a quick world's tasks over again until there are
    enough steps.
    """
    clock, deadline, repeating = Clock(), bench.deadline(), Deadline.within(REPEAT_S)
    _, choose = bench.player
    heart = asyncio.ensure_future(clock.beat())
    episodes = 0
    while not deadline.over and (episodes < len(bench.tasks) or not repeating.over):
        task = bench.tasks[episodes % len(bench.tasks)]
        bench.note(f"timing task {task.task_id}")
        env = bench.open()
        actions = (await play(env, task, choose, seed=bench.seed, max_turns=60)).actions
        await _time_episode(clock, bench, env, task, actions)
        episodes += 1
        if episodes >= len(bench.tasks) and len(clock.samples.get("step", [])) >= FEWEST_STEPS:
            break
    heart.cancel()
    return clock


async def _time_episode(
    clock: Clock, bench: ConformanceRig, env: Env, task: Task, actions: Sequence[AgentTurn]
) -> None:
    await clock.timed("reset", env.reset(task))
    for action in actions:
        await clock.timed("step", env.step(action))
    await clock.timed("check", env.check())
    if bench.claims("snapshot"):
        snapshot = await clock.timed("snapshot", env.snapshot())
        other = bench.open()
        await clock.timed("restore", other.restore(snapshot))
        await other.close()
    await clock.timed("close", env.close())


def percentile(samples: Sequence[float], share: float) -> float:
    """The smallest sample that at least that share of all samples does not exceed (nearest
    rank).
    """
    ordered = sorted(samples)
    return ordered[max(0, -(-len(ordered) * int(1000 * share) // 1000) - 1)]
