"""The other process of the determinism check: reads an errand from stdin, does it, writes what came
of it to stdout.

Both ends of the pipe are this program; nothing from elsewhere is ever unpickled.
"""

import asyncio
import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synth.envs.conformance.experts import players
from synth.envs.transcript import Transcript, play
from synth.schemas.environment import Env
from synth.schemas.task import Task


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
    """One errand, from stdin to stdout."""
    errand: Errand = pickle.load(sys.stdin.buffer)
    tasks = list(errand.make_tasks(errand.config, errand.seed, errand.count))
    sys.stdout.buffer.write(pickle.dumps((tasks, asyncio.run(walk_all(errand)))))
