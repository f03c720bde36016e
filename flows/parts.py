"""What the names in a flow stand for: registry entries, or a user's own `package.module:attribute`."""

import re
import sys
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from envs.registry import ENVS
from envs.world import World
from flows.yaml_file import read_settings
from schemas.environment import Env, EnvSpec
from schemas.errors import ConfigError
from schemas.settings_error import explain
from schemas.task import Task
from synth.boundary import called, imported

_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")
_FOLDERS: list[str] = []


def look_also_in(folder: Path) -> None:
    """Lets users' own parts be found in a folder; it comes last on the path, so it hides nothing that is installed."""
    place = str(folder.absolute())
    if place not in _FOLDERS:
        _FOLDERS.append(place)
    if place not in sys.path:
        sys.path.append(place)


def folders() -> tuple[str, ...]:
    """Where users' own parts are looked for."""
    return tuple(_FOLDERS)


def part(kind: str, name: str, registry: Mapping[str, str]) -> Any:
    """What a name stands for. Raises `ConfigError`; a user's own module is looked for in the current directory too."""
    if name in registry:
        return imported(f"{kind} {name!r}", registry[name])
    if not _DOTTED.fullmatch(name):
        raise ConfigError(f"unknown {kind} {name!r}; known: {', '.join(sorted(registry))}, or your own as package.module:attribute")
    look_also_in(Path.cwd())
    try:
        return imported(f"{kind} {name!r}", name)
    except ConfigError as error:
        absent = error.__cause__.name if isinstance(error.__cause__, ModuleNotFoundError) else None
        module = name.partition(":")[0]
        if absent is not None and f"{module}.".startswith(f"{absent}."):
            raise ConfigError(f"{kind} {name!r}: cannot import {module}: it is not installed, nor in {' or '.join(_FOLDERS)}") from error
        if isinstance(error.__cause__, AttributeError):
            raise ConfigError(f"{error} (it is {getattr(sys.modules[module], '__file__', None) or 'built in'})") from error
        raise


def world(name: str) -> World:
    """A world by name. Raises `ConfigError`."""
    found = part("world", name, ENVS)
    if not isinstance(found, World):
        raise ConfigError(f"world {name!r} is of type {type(found).__name__}, not an envs.world.World")
    if not (isinstance(found.config, type) and issubclass(found.config, BaseModel) and isinstance(found.spec, EnvSpec)):
        raise ConfigError(f"world {name!r}: World takes spec (an EnvSpec), open, make_tasks and config (a pydantic model class)")
    return found


def world_settings(name: str, overrides: Sequence[str], known: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A world's settings from `key=value` pairs over those that are known, checked to the last key. Raises `ConfigError`."""
    settings, model = {**(known or {}), **read_settings(overrides)}, world(name).config
    try:
        model.model_validate(settings)
    except ValidationError as error:
        raise ConfigError(f"--set {explain(error, model)}") from error
    return settings


def open_env(name: str, config: Mapping[str, Any]) -> Env:
    """A fresh world; see `schemas.environment.OpenEnv`."""
    return world(name).open(config)


def make_tasks(name: str, config: Mapping[str, Any], seed: int, count: int) -> Sequence[Task]:
    """A world's tasks, at most `count`; see `schemas.environment.MakeTasks`. Raises `ConfigError` for what is no task of that world."""
    what = f"world {name!r}: make_tasks"
    made = called(what, lambda: tuple(islice(world(name).make_tasks(config, seed, count), count)))
    for task in made:
        if not isinstance(task, Task):
            raise ConfigError(f"{what} gave a {type(task).__name__}, not a schemas.task.Task (make one with Task.identified)")
        if task.env != name:
            raise ConfigError(f"{what} gave a task with env={task.env!r}; it must be {name!r}, as the flow names the world")
        if not -(2**63) <= task.seed < 2**63:
            raise ConfigError(f"{what} gave a task with seed {task.seed}: beyond 64 bits; derive seeds modulo 2**63")
    return made


def spec_of(name: str, config: Mapping[str, Any]) -> EnvSpec:
    """What a world is."""
    return world(name).spec
