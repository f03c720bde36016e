"""TextWorld: how late the event loop is with 64 episodes live, and whether a snapshot beats
replaying. Needs the extra `textworld`.

Run: `python -m benchmarks.textworld_lag`
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import cast

from benchmarks.figures import Figure, Report, Target, shown
from benchmarks.machine import CpuOfOthers
from synth.envs.audit.latency import percentile
from synth.envs.textworld import SPEC, WORLD
from synth.ledger.storage.journal import Journal
from synth.policies.scripted import expert_policy
from synth.rollout.episode import EpisodeSpec
from synth.rollout.limits import Limits
from synth.rollout.live_envs.threads import ThreadedEnv, Threads
from synth.rollout.slots import run_slots
from synth.schemas.canonical import slot_id
from synth.schemas.environment import AgentTurn, Env
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory

LIVE = 64
BEAT_S = 0.002
SEED = 7
POLICY = expert_policy({"profiles": "wanders"}, model_name=None, sampling={})
LENGTHS = (5, 20, 60)
"""Turns after which a world is put aside."""


def work(task: Task, trial: int) -> EpisodeSpec:
    """One episode of the expert that wanders."""
    slot = slot_id(
        task_id=task.task_id,
        synthesizer="rollout",
        trial=trial,
        seed=0,
        policy=POLICY.identity,
        model=None,
        sampling={},
    )
    return EpisodeSpec(
        slot_id=slot,
        task=task,
        trial=trial,
        seed=0,
        synthesizer="rollout",
        policy=POLICY,
        limits=Limits(),
    )


async def rolled_out(
    tasks: Sequence[Task], folder: Path
) -> tuple[list[Trajectory], list[float], float]:
    """All episodes at once on as many threads as cores: trajectories, the loop's lateness at each
    beat (ms), wall time (s).
    """
    works = [work(tasks[at % len(tasks)], at // len(tasks)) for at in range(LIVE)]
    threads, journal, late = Threads(), Journal(folder / "rollout.jsonl"), []

    async def beat() -> None:
        while True:
            began = perf_counter()
            await asyncio.sleep(BEAT_S)
            late.append(1000 * (perf_counter() - began - BEAT_S))

    heart = asyncio.ensure_future(beat())
    began = perf_counter()
    trajectories = await run_slots(
        works,
        lambda _: cast(Env, ThreadedEnv(WORLD.open({}), threads)),
        None,
        journal,
        {},
        live_episodes=LIVE,
    )
    took = perf_counter() - began
    heart.cancel()
    journal.close(discard=True)
    broken = next((t.fault_detail for t in trajectories if t.fault is not None), None)
    if broken is not None:
        raise RuntimeError(broken)
    return trajectories, late, took


async def back_again(task: Task, turns: int, rounds: int) -> tuple[float, float]:
    """Milliseconds to get a fresh world to where another is after so many turns: from a snapshot,
    and by doing them again.
    """
    done: list[AgentTurn] = []
    env = WORLD.open({})
    await env.reset(task)
    while len(done) < turns:
        back_and_forth = [
            turn
            for turn in await env.affordances()
            if turn.tool_calls[0].name in ("take", "drop", "go")
        ]
        done.append(back_and_forth[len(done) % len(back_and_forth)])
        if (await env.step(done[-1])).done:
            raise RuntimeError("the walk won the game; choose another task")
    kept = await env.snapshot()
    restored, replayed = [], []
    for _ in range(rounds):
        began = perf_counter()
        await WORLD.open({}).restore(kept)
        restored.append(perf_counter() - began)
        began = perf_counter()
        other = WORLD.open({})
        await other.reset(task)
        for turn in done:
            await other.step(turn)
        replayed.append(perf_counter() - began)
    return 1000 * median(restored), 1000 * median(replayed)


def measure(tasks: int = 16, rounds: int = 5) -> Report:
    """Games are made before anything is timed."""
    with tempfile.TemporaryDirectory() as name:
        os.environ.setdefault("SYNTH_STATE_DIR", name)
        made = list(WORLD.make_tasks({}, SEED, tasks))
        late: list[float] = []
        rates: list[float] = []
        for _ in range(rounds):
            trajectories, lags, took = asyncio.run(rolled_out(made, Path(name)))
            late += lags
            rates.append(sum(len(trajectory.turns) for trajectory in trajectories) / took)
        back = [(turns, *asyncio.run(back_again(made[0], turns, rounds))) for turns in LENGTHS]
    return Report(
        f"TextWorld {SPEC.version}",
        (
            Figure(
                f"the event loop is late with {LIVE} episodes live, p99",
                percentile(late, 0.99),
                "ms",
                Target("at most", 100),
            ),
            Figure("the same, median", median(late), "ms"),
            Figure("the same, longest", max(late), "ms"),
            Figure("steps planned and taken", median(rates), "/s"),
            *(
                Figure(f"a world put back to after {turns} turns: {how}", value, "ms")
                for turns, restored, replayed in back
                for how, value in (("snapshot", restored), ("replay", replayed))
            ),
        ),
        f"{LIVE} episodes on {tasks} games of the default size, all live at once on "
        f"{os.cpu_count()} threads, "
        f"expert that wanders, {len(late):,} beats of {1000 * BEAT_S:g} ms in {rounds} rounds.",
    )


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure(), others))
