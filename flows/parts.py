"""What the names in a flow stand for: registry entries, parts of installed packages, or a user's
own `package.module:attribute`.
"""

import contextlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from synth.boundary import guard, imported
from synth.envs.registry import ENVS
from synth.envs.tool_env.entry import world_of
from synth.envs.tool_env.kit import ToolEnv
from synth.envs.world import EnvEntry
from synth.flows.data_folder import data_around
from synth.flows.plugins import plugin, plugin_names
from synth.schemas import ConfigError, EnvSpec, explain, strictly

T = TypeVar("T")
Model = TypeVar("Model", bound=BaseModel)
DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")
_FOLDERS: list[str] = []


def look_also_in(folder: Path) -> None:
    """Lets users' own parts be found in a folder once one is named; until then nothing in it can be
    imported.
    """
    place = str(folder.absolute())
    if place not in _FOLDERS:
        _FOLDERS.append(place)


def folders() -> tuple[str, ...]:
    """Where users' own parts are looked for."""
    return tuple(_FOLDERS)


def part(kind: str, name: str, registry: Mapping[str, str], within: Sequence[str] = ()) -> Any:
    """What a name stands for, which the user's own flow or command line says: no data does. Raises
    `ConfigError`.

    A user's own module is looked for `within` these folders; where none are given, in those of
    `look_also_in` and the current one.
    None that is a run or a dataset, or lies in one, is looked in.
    """
    what, target = f"{kind} {name!r}", target_of(kind, name, registry)
    if target != name:
        return imported(what, target)
    if not within:
        look_also_in(Path.cwd())
    given = tuple(within) or folders()
    places = [place for place in given if data_around(Path(place)) is None]
    # they come last, so they hide nothing that is installed
    sys.path += [place for place in dict.fromkeys(places) if place not in sys.path]
    try:
        return imported(what, name)
    except ConfigError as error:
        absent = error.__cause__.name if isinstance(error.__cause__, ModuleNotFoundError) else None
        module = name.partition(":")[0]
        if absent is not None and f"{module}.".startswith(f"{absent}."):
            beside = f"nor in {' or '.join(places)}" if places else "and no folder was looked in"
            skipped = " and ".join(place for place in given if place not in places)
            data = f" ({skipped}: a run or a dataset, never looked in)" if skipped else ""
            raise ConfigError(
                f"{what}: cannot import {module}: it is not installed, {beside}{data}"
            ) from error
        if isinstance(error.__cause__, AttributeError):
            raise ConfigError(
                f"{error} (it is {getattr(sys.modules[module], '__file__', None) or 'built in'})"
            ) from error
        raise


def target_of(kind: str, name: str, registry: Mapping[str, str]) -> str:
    """The `module:attribute` that a name stands for; nothing is imported. Raises `ConfigError` for
    a name that nobody gives.
    """
    if name in registry or DOTTED.fullmatch(name):
        return registry.get(name, name)
    target = plugin(kind, name)
    if target is None:
        known = ", ".join(sorted({*registry, *plugin_names(kind)}))
        raise ConfigError(
            f"unknown {kind} {name!r}; known: {known}, or your own as package.module:attribute"
        )
    if not DOTTED.fullmatch(target):
        raise ConfigError(
            f"{kind} {name!r}: its package's entry point is {target!r}, not module:attribute"
        )
    return target


def world(name: str, within: Sequence[str] = ()) -> EnvEntry:
    """A world by the name that the user's own flow or command line gives it. Raises
    `ConfigError`.
    """
    found = part("world", name, ENVS, within)
    if isinstance(found, type) and issubclass(found, ToolEnv):
        found = world_of(found, name)
    if not isinstance(found, EnvEntry):
        raise ConfigError(
            f"world {name!r} is of type {type(found).__name__}, not a ToolEnv or a "
            "synth.envs.world.EnvEntry"
        )
    settings = isinstance(found.config, type) and issubclass(found.config, BaseModel)
    if not (settings and isinstance(found.spec, EnvSpec)):
        raise ConfigError(
            f"world {name!r}: EnvEntry takes spec (an EnvSpec), open, make_tasks and config (a "
            "pydantic model class)"
        )
    return found


@contextlib.contextmanager
def at(where: str) -> Iterator[None]:
    """What is wrong in there is told with its place in the flow."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error


def validated(
    model: type[Model], settings: Any, where: str, also: Iterable[str] = (), before: str = ""
) -> Model:
    """Settings that a user wrote, as their model has them. Raises `ConfigError` with the place,
    which `before` stands before; `also` are keys that are known beside the model's.
    """
    found = or_refusal(f"{where}: its settings", lambda: strictly(model, settings))
    if isinstance(found, ValidationError):
        raise ConfigError(f"{before}{explain(found, model, where, also)}")
    return found


def or_refusal(what: str, make: Callable[[], T]) -> T | ValidationError:
    """What a part of a user's own may make of its settings, or pydantic's refusal of them. Raises
    `ConfigError` for all else.
    """

    def made() -> T | ValidationError:
        try:
            return make()
        except ValidationError as error:
            return error

    return guard(what, made)
