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

from synth.envs.conformance.experts import players
from synth.envs.conformance.finding import ConformanceRig, Finding, part
from synth.envs.transcript import (
    MAX_TURNS,
    Transcript,
    difference,
    perform,
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
class Walk:
    """One episode to play: who plays which task, and for how long at most."""

    task: Task
    who: str
    max_turns: int


@dataclass(frozen=True)
class Errand:
    """A world to open, tasks to make, and walks to play in it, all from one seed."""

    open: Callable[[Mapping[str, Any]], Env]
    make_tasks: Callable[[Mapping[str, Any], int, int], Sequence[Task]]
    config: Mapping[str, Any]
    seed: int
    count: int
    walks: Sequence[Walk]


@part("deterministic")
async def determinism(bench: ConformanceRig) -> Finding:
    """Plays with the expert and at random, then performs the same actions in fresh instances."""
    errand = _errand(bench)
    turns = 0
    for walk, transcript in zip(errand.walks, await walk_all(errand), strict=True):
        bench.note(f"an episode of {walk.who} done again")
        env = bench.open()
        again = await perform(env, walk.task, transcript.actions)
        await env.close()
        what = difference(transcript, again)
        if what is not None:
            return Finding(False, f"task {walk.task.task_id} by {walk.who}: {what}")
        turns += len(again.actions)
    return Finding(True, f"{turns} turns done twice")


@part("deterministic")
async def fresh_process(bench: ConformanceRig) -> Finding:
    """Makes the tasks and plays them in another process, where hash seeds and whatever else a
    process draws are others.
    """
    errand = _errand(bench)
    expected = await walk_all(errand)
    try:
        asked = pickle.dumps(errand)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        return Finding(None, f"not tried: the world cannot be named in another process ({error})")
    bench.note("the same episodes in another process")
    child = _other_process(asked, START_S + bench.call_limit_s)
    if child.returncode != 0:
        last = (child.stderr.decode(errors="replace").strip().splitlines() or ["no message"])[-1]
        return Finding(False, f"the other process failed: {last}"[:400])
    tasks, found = pickle.loads(child.stdout)
    if bench.claims("tasks") and not bench.given and tasks != list(bench.tasks):
        return Finding(False, "another process makes other tasks from the same seed")
    for walk, here, there in zip(errand.walks, expected, found, strict=True):
        what = _acts_otherwise(here, there) or difference(here, there)
        if what is not None:
            return Finding(False, f"task {walk.task.task_id} by {walk.who}: {what}")
    return Finding(True, f"{len(found)} episodes played again in another process")


def _errand(bench: ConformanceRig) -> Errand:
    """Each task, walked by each policy that can."""
    walks = [
        Walk(task, who, RANDOM_TURNS if who == "random_affordance" else MAX_TURNS)
        for task in bench.tasks
        for who in players(bench.world.spec)
    ]
    return Errand(
        bench.world.open,
        bench.world.make_tasks,
        dict(bench.config),
        bench.seed,
        len(bench.tasks),
        walks,
    )


def _acts_otherwise(here: Transcript, there: Transcript) -> str | None:
    """The first turn at which the world's own expert, or its affordances, led to another action."""
    for turn, (a, b) in enumerate(zip(here.actions, there.actions, strict=False)):
        if a != b:
            return f"turn {turn}: {a} here, {b} in another process"[:400]
        if response_difference(here.responses[turn], there.responses[turn]) is not None:
            return None
    return (
        None
        if len(here.actions) == len(there.actions)
        else f"{len(here.actions)} turns here, {len(there.actions)} in another process"
    )


def _other_process(asked: bytes, limit_s: float) -> "subprocess.CompletedProcess[bytes]":
    """Another interpreter with this one's import path, given an errand on stdin; blocks the check's
    own thread.
    """
    return subprocess.run(
        [sys.executable, "-P", "-c", _CHILD],
        input=asked,
        capture_output=True,
        timeout=limit_s,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "PYTHONHASHSEED": _other_hash_seed(),
        },
        check=False,
    )


def _other_hash_seed() -> str:
    """A hash seed that this process does not have."""
    return "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"


async def walk_all(errand: Errand) -> list[Transcript]:
    """The transcripts of the walks, each in a fresh instance."""
    transcripts = []
    for walk in errand.walks:
        env = errand.open(errand.config)
        choose = players(env.spec)[walk.who]
        transcripts.append(
            await play(env, walk.task, choose, seed=errand.seed, max_turns=walk.max_turns)
        )
        await env.close()
    return transcripts


def main() -> None:
    """The other process: one errand, from stdin to stdout. Both ends of the pipe are this program;
    nothing from elsewhere is ever unpickled.
    """
    errand: Errand = pickle.load(sys.stdin.buffer)
    tasks = list(errand.make_tasks(errand.config, errand.seed, errand.count))
    sys.stdout.buffer.write(pickle.dumps((tasks, asyncio.run(walk_all(errand)))))
