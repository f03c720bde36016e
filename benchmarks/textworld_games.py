"""TextWorld: what making a game costs, and what a snapshot holds. Needs the extra `textworld`.

Run: `python -m benchmarks.textworld_games`
"""

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Mapping

from benchmarks.figures import Figure, Report, shown
from benchmarks.machine import CpuOfOthers
from synth.envs.textworld import SPEC, WORLD

SEED = 7
LARGE = {"rooms": 8, "objects": 30, "quest_breadth": 2}
TURNS = 20
ABOUT = ("take", "drop", "go")


def children_s() -> float:
    """CPU seconds of processes that were started and have ended."""
    times = os.times()
    return times.children_user + times.children_system


def making(settings: Mapping[str, int], games: int) -> float:
    """CPU seconds a game takes, made by one worker, its start included."""
    before = children_s()
    list(WORLD.make_tasks(settings, SEED, games))
    return (children_s() - before) / games


async def snapshot_bytes() -> int:
    """Of a snapshot after `TURNS` turns of an agent that takes, drops and walks about."""
    (task,) = WORLD.make_tasks({}, SEED, 1)
    env = WORLD.open({})
    await env.reset(task)
    for at in range(TURNS):
        open_to_it = await env.affordances()
        about = [turn for turn in open_to_it if turn.tool_calls[0].name in ABOUT]
        if (await env.step(about[at % len(about)])).done:
            raise RuntimeError("the walk won the game; choose another seed")
    return len((await env.snapshot()).blob)


def measure(games: int = 8, large: int = 0) -> Report:
    """Games are made in a folder of their own: none is there before. Large ones only if asked."""
    with tempfile.TemporaryDirectory() as name:
        os.environ["SYNTH_STATE_DIR"] = name
        figures = [
            Figure(f"a game of the default size, {games} made", making({}, games), "CPU s"),
            Figure(f"a snapshot after {TURNS} turns", asyncio.run(snapshot_bytes()), "bytes"),
        ]
        if large:
            figures.append(Figure(f"a large game, {large} made", making(LARGE, large), "CPU s"))
    size = ", ".join(f"{key} {value}" for key, value in LARGE.items())
    return Report(f"TextWorld {SPEC.version}", figures, f"From seed {SEED}; large: {size}.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.textworld_games",
        description=__doc__,
        epilog="Example: python -m benchmarks.textworld_games --large 1",
    )
    parser.add_argument("--large", type=int, default=0, help="large games to be made: minutes each")
    others = CpuOfOthers()
    sys.exit(shown(measure(large=parser.parse_args().large), others))
