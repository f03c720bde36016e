"""What the names in a flow stand for: registry entries, parts that installed packages bring by
entry points, or a user's own `package.module:attribute`.
"""

import contextlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.metadata import EntryPoint, distributions
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from synth.boundary import guard, imported
from synth.envs.registry import ENVS
from synth.envs.tool_env.entry import world_of
from synth.envs.tool_env.kit import ToolEnv
from synth.envs.world import EnvEntry
from synth.filters.registry import FILTERS
from synth.flows.data_folder import data_around
from synth.importers.registry import IMPORTERS
from synth.policies.registry import POLICIES
from synth.schemas import ConfigError, EnvSpec, explain, strictly
from synth.synthesizers.registry import SYNTHESIZERS

GROUPS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "world": ("synth.envs", ENVS),
    "filter": ("synth.filters", FILTERS),
    "stage": ("synth.synthesizers", SYNTHESIZERS),
    "policy": ("synth.policies", POLICIES),
    "format": ("synth.importers", IMPORTERS),
}
"""The group of entry points and the registry of a kind of part; a name of the registry wins."""
PARTS = ("world", "filter", "stage", "policy")
"""The kinds that a flow names."""


def plugin(kind: str, name: str) -> str | None:
    """The `module:attribute` that an installed package gives a name, None where none does; nothing
    is imported.

    Raises `ConfigError` where two packages give it.
    """
    found = [(package, target) for package, other, target in _given(kind) if other == name]
    if len(found) > 1:
        packages = " and ".join(sorted(package for package, _ in found))
        raise ConfigError(
            f"{kind} {name!r}: given by {packages}; uninstall all but one, or name yours as "
            "package.module:attribute"
        )
    return found[0][1] if found else None


def plugin_names(kind: str) -> frozenset[str]:
    """The names that stand for parts of other packages; those of our registry never do."""
    return frozenset(name for _, name, _ in _given(kind)) - GROUPS[kind][1].keys()


def _given(kind: str) -> Iterator[tuple[str, str, str]]:
    """(package, name, target) of a kind."""
    # A package is looked for where Python looks for modules, but in no run and no dataset.
    places = [place for place in dict.fromkeys(sys.path) if data_around(Path(place)) is None]
    for package, point in _points(tuple((place, _changed(place)) for place in places)):
        if point.group == GROUPS[kind][0]:
            yield package, point.name, point.value


@lru_cache(maxsize=8)
def _points(places: tuple[tuple[str, int], ...]) -> tuple[tuple[str, EntryPoint], ...]:
    """Every entry point of ours, by package; looked for again where a folder has changed since."""
    found: dict[str, list[tuple[str, EntryPoint]]] = {}
    groups = {group for group, _ in GROUPS.values()}
    for package in distributions(path=[place for place, _ in places]):
        if "synth." not in (
            package.read_text("entry_points.txt") or ""
        ):  # its name costs a longer file
            continue
        points = [(package.name, point) for point in package.entry_points if point.group in groups]
        found.setdefault(package.name, points)  # the first on the path is the one that is imported
    return tuple(point for points in found.values() for point in points)


def _changed(place: str) -> int:
    try:
        return Path(place).stat().st_mtime_ns
    except OSError:
        return 0


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
