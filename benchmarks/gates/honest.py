"""Episodes in which an agent knew what it wrote: of worlds' planners, and of commands by hand."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from synth.envs.registry import ENVS
from synth.envs.world import EnvEntry
from synth.schemas import (
    Observation,
    Outcome,
    Source,
    Task,
    Termination,
    ToolCall,
    Trajectory,
    Turn,
)

DATA = Path(__file__).parent / "data"
MOST_TURNS = 100
_NAMES = ("Ada Brandt", "Jonas Keller", "Mira Ostrow", "Tom Achebe", "Lena Fischer", "Raj Patel")


class Command(msgspec.Struct, frozen=True):
    """What was asked, what a tool answered, and the call that follows from both."""

    tool: str
    argument: str
    goal: str
    answer: str
    call: str


def trajectory(
    name: str, opening: Sequence[Observation], turns: Sequence[Turn], **about: Any
) -> Trajectory:
    """An episode as far as provenance reads it."""
    return Trajectory(
        trajectory_id=name,
        slot_id="",
        attempt=0,
        task_id=name,
        env="gates",
        trial=0,
        synthesizer="rollout",
        policy="benchmark",
        outcome=Outcome.UNKNOWN,
        termination=Termination.AGENT_STOP,
        opening=tuple(opening),
        turns=tuple(turns),
        **about,
    )


async def _played(world: EnvEntry, task: Task) -> Trajectory:
    """What the planner of a world does on a task."""
    env: Any = world.open({})
    opening = await env.reset(task)
    turns: list[Turn] = []
    done = False

    while not done and len(turns) < MOST_TURNS:
        act = await env.expert(None, 0)
        response = await env.step(act)
        turns.append(Turn(len(turns), act.content, act.tool_calls, response.observations))
        done = response.done

    await env.close()
    about = {"system_prompt": opening.system_prompt, "tools": opening.tools}

    return trajectory(task.task_id, opening.observations, turns, **about)


def planned(name: str, count: int, seed: int = 411) -> list[Trajectory]:
    """Episodes of a world's careful planner, one a task."""
    module, attribute = ENVS[name].split(":")
    world: EnvEntry = getattr(import_module(module), attribute)
    return [asyncio.run(_played(world, task)) for task in world.make_tasks({}, seed, count)]


def commands(rounds: int, seed: int = 5) -> Iterator[Trajectory]:
    """Each command of data/commands.yaml so often, with other values each time."""
    found = msgspec.yaml.decode((DATA / "commands.yaml").read_bytes(), type=list[Command])
    for at in range(rounds):
        for number, one in enumerate(found):
            yield commanded(one, Random(f"{seed} {at} {number}"), f"{at}-{number}")


def commanded(one: Command, rng: Random, name: str) -> Trajectory:
    """A command with drawn values: asked for, after a look that answered, then called."""
    drawn = {
        "id1": f"{rng.choice('ABKX')}-{rng.randint(10_000, 99_999)}",
        "id2": f"S{rng.randint(100, 999)}-{rng.randint(10, 99)}",
        "num1": rng.randint(101, 9_973),
        "num2": rng.randint(10_001, 99_991),
        "amt": rng.randint(10_101, 99_999) / 100,
        "sha": f"{rng.getrandbits(28):07x}",
        "date": f"2026-{rng.randint(1, 12):02}-{rng.randint(2, 27):02}",
        "name": rng.choice(_NAMES),
        "mail": f"{rng.choice(_NAMES).split()[1].lower()}{rng.randint(10, 99)}@mail.example",
    }
    goal, answer, text = (part.format(**drawn) for part in (one.goal, one.answer, one.call))
    look = ToolCall.received("c0", "look", "{}")
    call = ToolCall.received("c1", one.tool, json.dumps({one.argument: text}))
    turns = [
        Turn(0, tool_calls=(look,), observations=(Observation(answer, call_id="c0", name="look"),)),
        Turn(1, tool_calls=(call,), observations=(Observation("ok", call_id="c1", name=one.tool),)),
    ]

    return trajectory(name, [Observation(goal, Source.USER)], turns)
