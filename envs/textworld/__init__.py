"""TextWorld as an environment: text adventures by seed, played through typed tools, checked on the
game's own facts.
"""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from synth.envs.textworld.config import TextWorldConfig, validated
from synth.envs.world import EnvEntry
from synth.schemas import Draft, Env, EnvSpec, NoGoal, Task, Window

if find_spec("textworld") is None:
    raise ImportError(
        "TextWorld is not installed; pip install -c constraints.txt -e '.[textworld]'"
    )

SPEC = EnvSpec(
    name="textworld",
    version="1",
    licence="MIT (TextWorld), GPL-2.0-or-later (its interpreter, jericho)",
    capabilities=frozenset({"affordances", "facts", "snapshot", "expert", "recheck", "tasks"}),
    blocking=True,
    memory_bytes=2 * 2**20,
    facts={
        "quest/*/completed": "required",
        "thing/*/place": "required",
        "door/*/state": "required",
        "container/*/state": "required",
        "food/*/eaten": "protected",
        "player/*/room": "free",
    },
    profiles=("wanders",),
)


def open_textworld(settings: Mapping[str, Any]) -> Env:
    """A world without a game until it is reset. Raises `ConfigError` for settings that it does not
    know.
    """
    from synth.envs.textworld.env import TextWorldEnv

    return TextWorldEnv(SPEC, validated(settings))


def make_tasks(
    settings: Mapping[str, Any],
    seed: int,
    count: int,
) -> Sequence[Task]:
    """See `synth.envs.textworld.tasks.tasks_of`."""
    from synth.envs.textworld.tasks import tasks_of

    return tasks_of(
        SPEC.name,
        validated(settings),
        seed,
        count,
    )


def write_goal(window: Window) -> Draft | NoGoal:
    """See `synth.envs.textworld.tasks.write_goal`."""
    from synth.envs.textworld import tasks

    return tasks.write_goal(window)


def reword(draft: Draft, lines: Sequence[str]) -> Draft:
    """See `synth.envs.textworld.rewording.reader.reworded`."""
    from synth.envs.textworld.rewording.reader import reworded

    return reworded(draft, lines)


def exploring(settings: Mapping[str, Any], seed: int) -> Mapping[str, Any]:
    """A game of its own for each exploration: the one that a task of that seed is played in."""
    return {**settings, "explored_seed": seed}


WORLD = EnvEntry(
    SPEC,
    open_textworld,
    make_tasks,
    TextWorldConfig,
    write_goal=write_goal,
    reword=reword,
    exploring=exploring,
)
