"""A `ToolEnv` as flows and `synth audit` take environments: an entry like those of the registry."""

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any

from synth.boundary import guard
from synth.envs.tool_env.gold import wrong_solutions
from synth.envs.tool_env.kit import ToolEnv
from synth.envs.tool_env.live import LiveToolEnv
from synth.envs.tool_env.session import opened
from synth.envs.tool_env.signature import ToolError
from synth.envs.world import EnvEntry
from synth.schemas.environment import EnvSpec
from synth.schemas.errors import ConfigError
from synth.schemas.task import Task

ALWAYS = frozenset({"tasks", "facts", "snapshot", "recheck"})
"""What the kit does for every environment."""


@cache
def world_of(kind: type[ToolEnv], name: str | None = None) -> EnvEntry:
    """The entry of an environment under a name, its own where none is given.

    One task is made to see whether tasks carry gold calls: then the environment has an expert.
    Raises `ConfigError` for a class that lacks something.
    """
    name, shown = name or kind.name, kind.__qualname__
    missing = sorted(kind.__abstractmethods__)
    missing += [part for part in ("version", "licence") if not getattr(kind, part)]
    if missing:
        raise ConfigError(f"{shown}: an environment needs {' and '.join(missing)}")
    if not kind.tools:
        raise ConfigError(f"{shown}: an environment needs a method under @tool")
    capabilities = ALWAYS if kind.affordances is ToolEnv.affordances else ALWAYS | {"affordances"}
    tasks = guard(f"{shown}: tasks", lambda: make_tasks(kind, name, {}, 0, 1))
    with_gold = any(isinstance(task, Task) and task.gold for task in tasks)
    spec = EnvSpec(
        name=name,
        version=kind.version,
        licence=kind.licence,
        capabilities=capabilities | {"expert"} if with_gold else capabilities,
        blocking=kind.blocking,
        facts={"state/now/*": "required"},
    )
    mutants = partial(wrong_solutions, kind, name) if with_gold else None
    return EnvEntry(
        spec,
        partial(LiveToolEnv, kind, spec),
        partial(make_tasks, kind, name),
        kind.config,
        mutants=mutants,
    )


def make_tasks(
    kind: type[ToolEnv],
    name: str,
    config: Mapping[str, Any],
    seed: int,
    count: int,
) -> Sequence[Task]:
    """Tasks with these settings. Raises `ConfigError` for a gold call that no tool takes."""
    env = opened(kind, name, config)
    env._seed = seed
    made, where = list(env.tasks(seed, count)), f"{kind.__qualname__}.tasks"
    for task in made:
        for call in (task.gold or ()) if isinstance(task, Task) else ():
            if call.name not in kind.tools:
                tools = ", ".join(kind.tools)
                raise ConfigError(f"{where}: a gold call of {call.name!r}; there are {tools}")
            try:
                kind.tools[call.name].parsed(call)
            except ToolError as error:
                gold = f"{call.name}({call.arguments})"
                raise ConfigError(f"{where}: the gold call {gold}: {error}") from error
    return made
