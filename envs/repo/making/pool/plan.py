"""What the making of a pool would do, without doing it."""

from pathlib import Path
from typing import TYPE_CHECKING

from synth.envs.repo.making.kinds import kinds_named
from synth.envs.repo.making.pool.files import pool_at
from synth.envs.repo.making.taking.own import own_library
from synth.envs.repo.making.taking.sdists import release

if TYPE_CHECKING:
    from synth.envs.repo.making.pool.maker import WantedTasks


def planned(folder: Path, wanted: "WantedTasks", archives: Path) -> list[str]:
    """A line for each library, and one for each kind. Raises `ConfigError`."""
    there = {one.name: one for one in pool_at(folder).libraries}
    lines = list[str]()
    for name in [*wanted.libraries, *wanted.folders]:
        if name in there:
            lines.append(f"{name}: is in the pool, {len(there[name].tests):,} tests")
        elif name in wanted.folders:
            lines.append(f"{name}: taken from {wanted.folders[name]}")
        elif own_library(name) is not None:
            lines.append(f"{name}: comes with synth")
        else:
            one = release(name)
            said = f"{name} {one.version} ({one.licence}, {one.repository})"
            lines.append(f"{said}: fetched by pip with its hash, and kept in {archives}")

    kinds = kinds_named(wanted.kinds)
    for engine in dict.fromkeys(one for kind in kinds.values() for one in kind.engines):
        fitting = {name: kind for name, kind in kinds.items() if engine in kind.engines}
        whole = sum(kind.share for kind in fitting.values())
        lines += [
            f"{name}: {kind.share / whole:.0%} of a library's tasks ({engine})"
            for name, kind in fitting.items()
        ]
    return lines
