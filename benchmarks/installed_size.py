"""What an installation of synth takes on disk, with and without some of its packages.

Run: `python -m benchmarks.installed_size [PACKAGE ...]` (polars, scipy, sqlglot) in an environment
where synth is installed, such as .venv.
"""

import re
import sys
from collections.abc import Iterable
from functools import cache
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

PACKAGES = ("polars", "scipy", "sqlglot")


def plain(name: str) -> str:
    """A name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(package: Distribution, extras: Iterable[str] = ()) -> list[Requirement]:
    """What a package needs here, with the extras that were asked for."""
    wanted = map(Requirement, package.requires or [])
    environments: list[dict[str, str]] = [{"extra": extra} for extra in ("", *extras)]
    return [
        one
        for one in wanted
        if one.marker is None or any(one.marker.evaluate(each) for each in environments)
    ]


def closure(root: str, without: frozenset[str] = frozenset()) -> set[str]:
    """`root` and all that it needs, what only packages of `without` need left out."""
    found: set[str] = set()
    open_ = [Requirement(root)]
    while open_:
        one = open_.pop()
        name = plain(one.name)
        if name in without or (name in found and not one.extras):
            continue
        found.add(name)
        open_ += needed(distribution(one.name), one.extras)
    return found


@cache
def size(package: str) -> int:
    """Bytes of the files that a package installed, what was compiled since left out."""
    files = distribution(package).files or []
    paths = {Path(str(file.locate())) for file in files if file.suffix != ".pyc"}
    return sum(path.stat().st_size for path in paths if path.is_file())


def main(packages: list[str]) -> None:
    """Prints megabytes (10^6 bytes) before and after, and what each package adds."""
    chosen = frozenset(map(plain, packages or PACKAGES))
    after = closure("synth-trajectories")
    before = closure("synth-trajectories", chosen)
    for title, names in (("without", before), ("with", after)):
        total = sum(map(size, names)) / 1e6
        print(f"{title} {', '.join(sorted(chosen))}: {len(names)} packages, {total:.0f} MB")
    for name in sorted(chosen):
        rest = after - closure("synth-trajectories", frozenset({name}))
        print(f"  {name} adds {sum(map(size, rest)) / 1e6:.0f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
