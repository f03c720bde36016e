"""What a live episode holds, and what is left of it when it is closed."""

import gc
import os
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import msgspec

from synth.envs.conformance.finding import ConformanceRig, part, passes
from synth.envs.transcript import taken_to
from synth.schemas import AgentTurn, Env, Task

EPISODES = 32
Played = list[tuple[Task, tuple[AgentTurn, ...]]]
SLACK = 2.0
"""Times what the spec states: it names an order of magnitude."""
LEFT_BYTES = 16 * 1024
"""Less than this left over per episode is the interpreter's own."""
RESIDENT_SLACK = 2**20
"""The allocator takes memory in arenas: resident growth counts beyond this per episode."""


class HeldBytes(msgspec.Struct, frozen=True):
    """Bytes per episode: `live` by Python's own count, `grown` those of the process, `left` those
    that are there when it is closed; `snapshot` is the largest.
    """

    live: int
    grown: int
    left: int
    snapshot: int | None

    def rows(self, allowed: int, why: str) -> list[tuple[str, str, str]]:
        """What was measured, beside what a live episode is allowed, and why so much."""
        rows = [
            ("a live episode (Python's allocations)", _kib(self.live), f"{_kib(allowed)}, {why}"),
            (
                "a live episode (growth of the process)",
                _kib(self.grown),
                _kib(allowed + RESIDENT_SLACK),
            ),
            ("left when closed", _kib(self.left), _kib(LEFT_BYTES)),
        ]
        if self.snapshot is not None:
            rows.append(("largest snapshot", _kib(self.snapshot), "64 KiB"))

        return rows

    def problems(self, allowed: int) -> Iterator[str]:
        """What is more than it may be."""
        if self.live > allowed or self.grown > allowed + RESIDENT_SLACK:
            most_held = _kib(max(self.live, self.grown))
            yield f"a live episode holds {most_held}, at most {_kib(allowed)}"

        if self.left > LEFT_BYTES:
            yield f"{_kib(self.left)} are left of each closed episode"


@part()
async def memory_is_bounded(bench: ConformanceRig) -> str:
    """Episodes played to before their last turn and kept live, then closed and let go."""

    played: Played = []
    for task in bench.tasks[:EPISODES]:
        bench.note(f"memory of task {task.task_id}")
        played.append((task, (await bench.played(task)).actions[:-1]))

    # what a first episode imports and caches is not an episode's own
    await _live(bench, played[:2])
    held = await _held(bench, played)
    if held.left > LEFT_BYTES:
        # what is kept once for later, such as servers for reuse, is there by now; leaks come again
        held = msgspec.structs.replace(held, left=(await _held(bench, played)).left)

    stated = bench.world.spec.memory_bytes
    allowed = int(SLACK * stated) if stated else bench.limits.episode_bytes
    why = "twice what the spec states" if stated else "the default"
    title = f"Memory per episode, over {EPISODES} live ones"
    bench.table(title, ("what", "measured", "at most"), held.rows(allowed, why))
    problems = list(held.problems(allowed))
    found = f"{_kib(held.live)} per live episode (at most {_kib(allowed)})"

    return passes(not problems, "; ".join(problems) or found)


async def _held(bench: ConformanceRig, played: Played) -> HeldBytes:
    """Measures as many episodes as are kept live, then closed and let go."""

    gc.collect()
    resident = _resident()
    tracemalloc.start()

    def more() -> int:
        gc.collect()
        return max(0, tracemalloc.get_traced_memory()[0] - start) // EPISODES

    try:
        start = tracemalloc.get_traced_memory()[0]
        envs = await _live(bench, [played[index % len(played)] for index in range(EPISODES)])
        live, grown = more(), max(0, _resident() - resident) // EPISODES
        snapshots = bench.claims("snapshot")
        sizes = [len((await env.snapshot()).blob) for env in envs if snapshots]
        for env in envs:
            await env.close()
        del env, envs
        left = more()
    finally:
        tracemalloc.stop()

    return HeldBytes(
        live,
        grown,
        left,
        max(sizes, default=None),
    )


async def _live(bench: ConformanceRig, played: Played) -> list[Env]:
    """One live instance per episode, its turns taken."""

    envs = []
    for task, actions in played:
        env = bench.open()
        await taken_to(env, task, actions)
        envs.append(env)

    return envs


def _resident() -> int:
    """Bytes of memory that this process has; 0 where the system does not say."""
    if not sys.platform.startswith("linux"):
        return 0
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _kib(count: int) -> str:
    return f"{count / 1024:.1f} KiB" if count < 2**20 else f"{count / 2**20:.1f} MiB"
