"""What a way of breaking trees offers, before anybody has run a test on it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from random import Random

import msgspec

from synth.envs.repo.pool import Library


class BrokenTree(msgspec.Struct, frozen=True, kw_only=True):
    """A library broken in one way; the fields are those of `RepoTask`. `hint` is what may be told
    of the purpose (a feature's documentation), never of the edit.
    """

    kind: str
    edits: Mapping[str, str | None]
    solution: Mapping[str, str] = {}
    hidden: Mapping[str, str] = {}
    sites: int = 1
    steps: tuple[str, ...] = ()
    hint: str = ""
    about: Mapping[str, str] = {}


def told_of(operators: str, paths: Iterable[str], functions: Iterable[str]) -> Mapping[str, str]:
    """What is told about a broken tree: what was done, where, and to which functions."""
    return {
        "operators": operators,
        "modules": " ".join(sorted(paths)),
        "functions": " ".join(functions),
    }


Breaking = Callable[[Library, Path, Random], Iterator[BrokenTree]]
"""(library, its pristine tree, chance) -> ways to break it, as long as anybody asks."""
