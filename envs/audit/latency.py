"""How long an environment takes to answer, and whether others can work meanwhile."""

import asyncio
import time
from collections.abc import Awaitable, Sequence
from itertools import cycle
from statistics import median
from typing import TypeVar

from synth.envs.conformance.finding import (
    ConformanceRig,
    part,
    passes,
)
from synth.schemas import AgentTurn, Env, Task

FEWEST_STEPS = 200
REPEAT_S = 1.0
BEAT_S = 0.002
Given = TypeVar("Given")


class CallClock:
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
async def calls_are_quick(bench: ConformanceRig) -> str:
    """The 99th percentile of each kind of call is at most `bench.limits.call_ms`.

    No call holds the event loop for more than `bench.limits.loop_ms`, unless the environment says
    that it blocks and is stepped on threads.
    """

    clock, limits = await _measured(bench), bench.limits
    p99 = {name: percentile(samples, 0.99) for name, samples in clock.samples.items()}
    rows = [
        (name, len(ms), *(f"{figure:.3f}" for figure in (median(ms), p99[name], max(ms))))
        for name, ms in clock.samples.items()
    ]
    bench.table("Milliseconds per call", ("call", "calls", "median", "p99", "longest"), rows)

    problems = [
        f"{name} takes {took:.0f} ms (p99, at most {limits.call_ms:g})"
        for name, took in p99.items()
        if took > limits.call_ms
    ]
    longest_ms = clock.longest_block_ms
    loop = f"holds the event loop for at most {longest_ms:.3g} ms"
    if bench.world.spec.blocking or bench.open().spec.blocking:
        loop = "it says that it blocks"
    elif longest_ms > limits.loop_ms:
        held = f"{clock.blocked_by} holds the event loop for {longest_ms:.0f} ms"
        problems.append(f"{held} (at most {limits.loop_ms:g}): set `blocking=True` in its spec")

    shown = "no steps"
    if "step" in p99:
        half = median(clock.samples["step"])
        shown = f"step {half:.3g} ms median, {p99['step']:.3g} ms p99"

    return passes(not problems, "; ".join(problems) or f"{shown}; {loop}")


async def _measured(bench: ConformanceRig) -> CallClock:
    """Times all calls of an episode, over every task; a quick environment's tasks over again until
    there are enough steps.
    """

    clock, repeat_until = CallClock(), time.monotonic() + REPEAT_S
    heart = asyncio.ensure_future(clock.beat())
    for task in cycle(bench.tasks):
        bench.note(f"timing task {task.task_id}")
        env = bench.open()
        actions = (await bench.played(task, env=env)).actions
        await _time_episode(
            clock,
            bench,
            env,
            task,
            actions,
        )

        once = len(clock.samples["reset"]) >= len(bench.tasks)
        steps = len(clock.samples.get("step", []))
        enough = steps >= FEWEST_STEPS or time.monotonic() > repeat_until
        if bench.late or (once and enough):
            break

    heart.cancel()

    return clock


async def _time_episode(
    clock: CallClock,
    bench: ConformanceRig,
    env: Env,
    task: Task,
    actions: Sequence[AgentTurn],
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
