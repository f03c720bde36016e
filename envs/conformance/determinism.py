"""Same seed and same actions give the same observations, state keys and verdict: here, and in
another process.
"""

import asyncio
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synth.envs.bots import players
from synth.envs.conformance.finding import ConformanceRig, FailedError, NotTriedError, part
from synth.envs.transcript import (
    MAX_TURNS,
    Transcript,
    difference,
    play,
    response_difference,
)
from synth.schemas.environment import Env
from synth.schemas.task import Task

RANDOM_TURNS = 20
START_S = 30.0
"""Seconds that another interpreter may take to start and import the world, on top of the walks
themselves.
"""
_CHILD = "from synth.envs.conformance.determinism import main; main()"


@dataclass(frozen=True)
class ReplayJob:
    """A world to open, tasks to make, and episodes to play in it, all from one seed: who plays which
    task.
    """

    open: Callable[[Mapping[str, Any]], Env]
    make_tasks: Callable[[Mapping[str, Any], int, int], Sequence[Task]]
    config: Mapping[str, Any]
    seed: int
    count: int
    walks: Sequence[tuple[Task, str]]


@part("deterministic")
async def determinism(bench: ConformanceRig) -> str:
    """Plays with the expert and at random, then performs the same actions in fresh instances."""
    errand, turns = _errand(bench), 0
    for (task, who), transcript in zip(errand.walks, await walk_all(errand), strict=True):
        bench.note(f"an episode of {who} done again")
        again = await bench.performed(task, transcript.actions)
        what = difference(transcript, again)
        if what is not None:
            raise FailedError(f"task {task.task_id} by {who}: {what}")
        turns += len(again.actions)
    return f"{turns} turns done twice"


@part("deterministic")
async def fresh_process(bench: ConformanceRig) -> str:
    """Makes the tasks and plays them in another process, where hash seeds and whatever else a
    process draws are others.
    """
    errand = _errand(bench)
    expected = await walk_all(errand)
    try:
        asked = pickle.dumps(errand)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        why = f"not tried: the world cannot be named in another process ({error})"
        raise NotTriedError(why) from error
    bench.note("the same episodes in another process")
    child = _other_process(asked, START_S + bench.call_limit_s)
    if child.returncode != 0:
        last = (child.stderr.decode(errors="replace").strip().splitlines() or ["no message"])[-1]
        raise FailedError(f"the other process failed: {last}"[:400])
    tasks, found = pickle.loads(child.stdout)
    if bench.claims("tasks") and not bench.given and tasks != list(bench.tasks):
        raise FailedError("another process makes other tasks from the same seed")
    for (task, who), here, there in zip(errand.walks, expected, found, strict=True):
        what = _acts_otherwise(here, there) or difference(here, there)
        if what is not None:
            raise FailedError(f"task {task.task_id} by {who}: {what}")
    return f"{len(found)} episodes played again in another process"


def _errand(bench: ConformanceRig) -> ReplayJob:
    """Each task, walked by each policy that can."""
    world, tasks = bench.world, bench.tasks
    walks = [(task, who) for task in tasks for who in bench.players]
    config = dict(bench.config)
    return ReplayJob(world.open, world.make_tasks, config, bench.seed, len(tasks), walks)


def _acts_otherwise(here: Transcript, there: Transcript) -> str | None:
    """The first turn at which the world's own expert, or its affordances, led to another action."""
    for turn, (a, b) in enumerate(zip(here.actions, there.actions, strict=False)):
        if a != b:
            return f"turn {turn}: {a} here, {b} in another process"[:400]
        if response_difference(here.responses[turn], there.responses[turn]) is not None:
            return None
    turns, others = len(here.actions), len(there.actions)
    return None if turns == others else f"{turns} turns here, {others} in another process"


def _other_process(asked: bytes, limit_s: float) -> "subprocess.CompletedProcess[bytes]":
    """Another interpreter with this one's import path and another hash seed, given an errand on
    stdin; blocks the check's own thread.
    """
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "PYTHONHASHSEED": "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1",
    }
    command = [sys.executable, "-P", "-c", _CHILD]
    return subprocess.run(
        command, input=asked, capture_output=True, timeout=limit_s, env=environment, check=False
    )


async def walk_all(errand: ReplayJob) -> list[Transcript]:
    """The transcripts of the walks, each in a fresh instance."""
    transcripts = []
    for task, who in errand.walks:
        env, most = errand.open(errand.config), MAX_TURNS
        if who == "random_affordance":
            most = RANDOM_TURNS
        choose = players(env.spec)[who]
        transcripts.append(await play(env, task, choose, seed=errand.seed, max_turns=most))
        await env.close()
    return transcripts


def main() -> None:
    """The other process: one errand, from stdin to stdout. Both ends of the pipe are this program;
    nothing from elsewhere is ever unpickled.
    """
    errand: ReplayJob = pickle.load(sys.stdin.buffer)
    tasks = list(errand.make_tasks(errand.config, errand.seed, errand.count))
    sys.stdout.buffer.write(pickle.dumps((tasks, asyncio.run(walk_all(errand)))))
