"""Rollouts: storefront episodes through the whole loop, next to the same planning and stepping
without it.

Run: `python -m benchmarks.rollout_rate`
"""

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from time import perf_counter

from benchmarks.alternation import medians
from benchmarks.figures import Figure, Report, shown
from benchmarks.machine import CpuOfOthers
from synth.envs.storefront import WORLD
from synth.ledger.storage.journal import Journal
from synth.policies.chance import trial_seed
from synth.policies.scripted import expert_policy
from synth.rollout.episode import EpisodeSpec
from synth.rollout.limits import Limits
from synth.rollout.slots import run_slots
from synth.schemas.canonical import slot_id
from synth.schemas.environment import AgentTurn
from synth.schemas.policy import Episode
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory

PROFILES = "mixed"
POLICY = expert_policy({"profiles": PROFILES}, model_name=None, sampling={})
LIVE = 512


def works_of(tasks: Sequence[Task], trials: int) -> list[EpisodeSpec]:
    """Trials of a task side by side, as the rollout stage plans them."""
    return [_work(task, trial) for task in tasks for trial in range(trials)]


def _work(task: Task, trial: int) -> EpisodeSpec:
    slot = slot_id(
        task_id=task.task_id,
        synthesizer="rollout",
        trial=trial,
        seed=0,
        policy=POLICY.identity,
        model=None,
        sampling={},
        settings={},
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


async def rolled_out(works: Sequence[EpisodeSpec], folder: Path) -> list[Trajectory]:
    """`run_slots` with a journal. Raises `RuntimeError` if an episode breaks."""
    journal = Journal(folder / "rollout.jsonl")
    trajectories = await run_slots(
        works,
        lambda _: WORLD.open({}),
        None,
        journal,
        {},
        live_episodes=LIVE,
    )
    journal.close(discard=True)
    broken = next((t.fault_detail for t in trajectories if t.fault is not None), None)
    if broken is not None:
        raise RuntimeError(broken)
    return trajectories


async def planned_and_stepped(works: Sequence[EpisodeSpec], turns: Sequence[int]) -> None:
    """As many turns of each episode, planned by the world's expert and stepped one after the other,
    then checked; nothing is kept.
    """
    for work, count in zip(works, turns, strict=True):
        env = WORLD.open({})
        await env.reset(work.task)
        seed = trial_seed(Episode(env, None, work.trial, work.seed))
        for _ in range(count):
            await env.step(await env.expert(PROFILES, seed))
        await env.check()


async def stepped(works: Sequence[EpisodeSpec], turns: Sequence[Sequence[AgentTurn]]) -> None:
    """The recorded turns of each episode stepped again: no planning, no check."""
    for work, recorded in zip(works, turns, strict=True):
        env = WORLD.open({})
        await env.reset(work.task)
        for turn in recorded:
            await env.step(turn)


def seconds(run: Callable[[], Awaitable[object]]) -> float:
    """Wall time of one coroutine."""
    started = perf_counter()
    asyncio.run(_awaited(run))
    return perf_counter() - started


async def _awaited(run: Callable[[], Awaitable[object]]) -> None:
    await run()


def measure(tasks: int = 200, trials: int = 2, rounds: int = 5) -> Report:
    """The same episodes three ways, turn by turn."""
    works = works_of(WORLD.make_tasks({}, 7, tasks), trials)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trajectories = asyncio.run(rolled_out(works, folder))
        turns = [
            [AgentTurn(turn.content, turn.tool_calls) for turn in t.turns] for t in trajectories
        ]
        lengths = [len(recorded) for recorded in turns]
        found = medians(
            {
                "rollout": lambda: seconds(lambda: rolled_out(works, folder)),
                "planned": lambda: seconds(lambda: planned_and_stepped(works, lengths)),
                "stepped": lambda: seconds(lambda: stepped(works, turns)),
            },
            rounds,
        )
    steps = sum(lengths)
    return Report(
        "Rollout rate",
        (
            Figure("episodes rolled out", len(works) / found["rollout"], "/s"),
            Figure("steps rolled out", steps / found["rollout"], "/s"),
            Figure("steps planned and taken without the loop", steps / found["planned"], "/s"),
            Figure("steps taken without loop and planner", steps / found["stepped"], "/s"),
            Figure("rollout / planning and stepping", found["planned"] / found["rollout"], "x"),
            Figure("rollout / stepping", found["stepped"] / found["rollout"], "x"),
            Figure(
                "the loop's own time per step",
                (found["rollout"] - found["planned"]) / steps * 1e6,
                "us",
            ),
        ),
        f"{tasks} storefront tasks x {trials} trials, {steps / len(works):.1f} steps each, expert "
        f"with profiles `{PROFILES}`, one core, "
        f"journal on the disk of {tempfile.gettempdir()}; medians of {rounds} rounds in turn. "
        "Ratios are of speeds.",
    )


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure(), others))
