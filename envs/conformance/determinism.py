"""Same settings and seed make the same tasks; same actions give the same observations, state keys
and verdict: here, in another process, and for a task read back from a file.
"""

import asyncio
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from synth.envs.bots import players
from synth.envs.conformance.finding import ConformanceRig, FailedError, NotTriedError, part
from synth.envs.transcript import (
    MAX_TURNS,
    Transcript,
    difference,
    play,
    response_difference,
)
from synth.schemas import Env, Task, canonical_json

RANDOM_TURNS = 20
START_S = 30.0
"""Seconds that another interpreter may take to start and import the environment, on top of the
walks themselves.
"""
_CHILD = "from synth.envs.conformance.determinism import main; main()"

Walks = Sequence[tuple[Task, str]]
"""Each task with the name of the player that plays it."""


@part("deterministic")
async def determinism(bench: ConformanceRig) -> str:
    """Plays with the expert and at random, then performs the same actions in fresh instances."""

    async def again(task: Task, known: Transcript) -> Transcript:
        return await bench.performed(task, known.actions)

    turns = 0
    for who, choose in bench.players.items():
        turns += await bench.alike(", done again", again, {who: choose}, _most_turns(who))

    return f"{turns} turns done twice"


@part("deterministic")
async def fresh_process(bench: ConformanceRig) -> str:
    """Makes the tasks and plays them in another process, where hash seeds and whatever else a
    process draws are others.
    """

    walks = [(task, who) for task in bench.tasks for who in bench.players]
    walked = partial(walk_all, bench.world.open, dict(bench.config), bench.seed, walks)
    made = partial(bench.world.make_tasks, dict(bench.config), bench.seed, len(bench.tasks))
    expected = await walked()

    try:
        asked = pickle.dumps((made, walked))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        why = f"not tried: the world cannot be named in another process ({error})"
        raise NotTriedError(why) from error

    bench.note("the same episodes in another process")
    tasks, found = _in_another_process(asked, START_S + bench.limits.input_s)
    if bench.claims("tasks") and not bench.given and tasks != list(bench.tasks):
        raise FailedError("another process makes other tasks from the same seed")

    for (task, who), here, there in zip(walks, expected, found, strict=True):
        what = _acts_otherwise(here, there) or difference(here, there)
        if what is not None:
            raise FailedError(f"task {task.task_id} by {who}: {what}")

    return f"{len(found)} episodes played again in another process"


async def walk_all(
    open_env: Callable[[Mapping[str, Any]], Env],
    config: Mapping[str, Any],
    seed: int,
    walks: Walks,
) -> list[Transcript]:
    """The transcripts of the walks, each in a fresh instance."""

    transcripts = []
    for task, who in walks:
        env = open_env(config)
        choose = players(env.spec)[who]
        transcripts.append(
            await play(
                env,
                task,
                choose,
                seed=seed,
                max_turns=_most_turns(who),
            )
        )
        await env.close()

    return transcripts


def _most_turns(who: str) -> int:
    return RANDOM_TURNS if who == "random_affordance" else MAX_TURNS


def _acts_otherwise(here: Transcript, there: Transcript) -> str | None:
    """The first turn at which the environment's own expert, or its affordances, led to another
    action.
    """

    for turn, (a, b) in enumerate(zip(here.actions, there.actions, strict=False)):
        if a != b:
            return f"turn {turn}: {a} here, {b} in another process"[:400]
        if response_difference(here.responses[turn], there.responses[turn]) is not None:
            return None

    turns, others = len(here.actions), len(there.actions)

    return None if turns == others else f"{turns} turns here, {others} in another process"


def _in_another_process(asked: bytes, limit_s: float) -> Any:
    """What another interpreter, with this one's import path and another hash seed, answers;
    blocks the part's own thread. Raises `FailedError` where it fails.
    """

    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "PYTHONHASHSEED": "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1",
    }
    command = [sys.executable, "-P", "-c", _CHILD]
    child = subprocess.run(
        command,
        input=asked,
        capture_output=True,
        timeout=limit_s,
        env=environment,
        check=False,
    )
    if child.returncode != 0:
        last = (child.stderr.decode(errors="replace").strip().splitlines() or ["no message"])[-1]
        raise FailedError(f"the other process failed: {last}"[:400])

    return pickle.loads(child.stdout)


def main() -> None:
    """The other process: makes the tasks and plays the walks that stand on stdin, and writes both
    to stdout.

    Both ends of the pipe are this program; nothing from elsewhere is ever unpickled.
    """
    made, walked = pickle.load(sys.stdin.buffer)
    sys.stdout.buffer.write(pickle.dumps((list(made()), asyncio.run(walked()))))


@part("tasks")
async def tasks_by_seed(bench: ConformanceRig) -> str:
    """Made twice they are equal, another seed makes others, ids are unique hashes of the content
    that survive a file.
    """

    if not bench.given:
        _made_again(bench)
    if len({task.task_id for task in bench.tasks}) != len(bench.tasks):
        raise FailedError("two tasks have the same id")

    of = bench.world.spec.name
    for task in bench.tasks:
        fields = msgspec.structs.asdict(task)
        identity = fields.pop("task_id")
        if identity != Task.identified(**fields).task_id:
            raise FailedError(
                f"the id {identity} is not the hash of its task (use Task.identified)"
            )

        if canonical_json(_read_back(task)) != canonical_json(task):
            raise FailedError(f"task {identity} reads back from a file as another")
        if task.env != of:
            raise FailedError(f"task {identity} is for {task.env}, the world is {of}")

    derived = ", derived: whether a seed makes the same ones was not asked" if bench.given else ""

    return f"{len(bench.tasks)} tasks{derived}"


def _made_again(bench: ConformanceRig) -> None:
    """Makes the tasks again, by another seed, and fewer. Raises `FailedError` for what is wrong."""

    tasks, count = list(bench.tasks), len(bench.tasks)

    def made(seed: int, many: int) -> list[Task]:
        return list(bench.world.make_tasks(bench.config, seed, many))

    if made(bench.seed, count) != tasks:
        raise FailedError("the same seed makes other tasks the second time")
    if made(bench.seed + 1, count) == tasks:
        raise FailedError("another seed makes the same tasks")
    if made(bench.seed, 1) != tasks[:1]:
        raise FailedError("the first task depends on how many are made")


@part()
async def tasks_open_their_world(bench: ConformanceRig) -> str:
    """A task read back from a file, in an environment opened from its own `env_config` as rollouts
    open it, goes like the task as made.
    """

    async def stored(task: Task, known: Transcript) -> Transcript:
        read = _read_back(task)
        bench.note(f"a world opened from env_config {dict(task.env_config)}")
        env = bench.world.open(read.env_config)
        found = await bench.played(read, env=env)
        await env.close()

        return found

    where = ", read back and opened from its env_config"
    await bench.alike(where, stored)

    return ""


def _read_back(task: Task) -> Task:
    """The task as a file gives it back."""
    return msgspec.json.decode(canonical_json(task), type=Task)
