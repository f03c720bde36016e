"""Parts that other installed packages bring by entry points: found by name, imported only once the
user's own flow names one.
"""

import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.metadata import EntryPoint, distributions
from pathlib import Path

from synth.envs.registry import ENVS
from synth.filters.registry import FILTERS
from synth.flows.data_folder import data_around
from synth.importers.registry import IMPORTERS
from synth.policies.registry import POLICIES
from synth.schemas import ConfigError
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
