"""Texts in which nobody planted a secret: real trajectories, standard library, packages.

What is installed decides what is drawn of packages: figures hold for what the locks name.
"""

import sysconfig
from collections.abc import Callable, Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path
from random import Random

import msgspec

from benchmarks.real_trajectories import folders, real
from synth.schemas.trajectory import Trajectory
from synth.text.redaction.places import texts

OURS = "synth-trajectories"
TESTS = {"test", "tests", "testing"}
REAL = "real trajectories"
SEED = 1
SOURCES, METADATA = 900, 300
"""Files drawn of packages."""


class Unplanted(msgspec.Struct, frozen=True):
    """One text, and what it is a part of: a trajectory, or a file, which is its own."""

    source: str
    whole: str
    place: str
    text: str


def standard_library() -> Iterator[Unplanted]:
    """Every Python file but those of tests and of packages."""
    root = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root)
        if not {"site-packages", *TESTS} & set(name.parts):
            yield _file("standard library", name.as_posix(), path)


def package_sources() -> Iterator[Unplanted]:
    """Python files drawn of all installed packages but ours, those of their tests left out."""
    yield from _drawn("packages", _is_source, SOURCES)


def package_metadata() -> Iterator[Unplanted]:
    """What packages say about themselves, drawn: METADATA, RECORD (digests), bills of materials."""
    yield from _drawn("metadata of packages", _is_metadata, METADATA)


def real_texts(trajectories: list[Trajectory]) -> Iterator[Unplanted]:
    """Every text of trajectories."""
    for one in trajectories:
        for place, text in texts(one):
            yield Unplanted(REAL, one.trajectory_id, place, text)


def real_trajectories() -> list[Trajectory]:
    """All of them, sorted by folder."""
    return list(real(folders()))


def _installed() -> Iterator[tuple[str, Path]]:
    """(name below site-packages, path) of the files of every package that can be imported."""
    for one in distributions():
        if one.name != OURS:
            yield from _files(one)


def _files(package: Distribution) -> Iterator[tuple[str, Path]]:
    for file in package.files or ():
        path = Path(str(file.locate()))
        if ".." not in file.parts and path.is_file():
            yield file.as_posix(), path


def _is_source(name: Path) -> bool:
    return name.suffix == ".py" and not TESTS & set(name.parts)


def _is_metadata(name: Path) -> bool:
    said = name.name in ("METADATA", "RECORD") or name.suffix == ".json"
    return said and name.parts[0].endswith(".dist-info")


def _drawn(source: str, fits: Callable[[Path], bool], count: int) -> Iterator[Unplanted]:
    """So many files by `SEED`; all where there are fewer."""
    found = {name: path for name, path in _installed() if fits(Path(name))}
    for name in sorted(Random(SEED).sample(sorted(found), min(count, len(found)))):
        yield _file(source, name, found[name])


def _file(source: str, name: str, path: Path) -> Unplanted:
    return Unplanted(source, name, "", path.read_text(encoding="utf-8", errors="replace"))
