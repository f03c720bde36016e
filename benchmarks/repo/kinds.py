"""Ways of breaking repositories: how many of the broken trees make a task, and what tasks.

Run: `python -m benchmarks.repo.kinds POOL [--libraries a,b] [--kinds a,b] [--tries 8] [--seed 7]`;
POOL is made where it is not there (`synth repo make`).
"""

import argparse
import asyncio
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from random import Random

from synth.api.repositories import archives
from synth.envs.repo.making.kinds import KINDS
from synth.envs.repo.making.libraries import prepared
from synth.envs.repo.making.pool.files import pool_at, write_pool
from synth.envs.repo.making.tools import make_tools
from synth.envs.repo.making.validation import Validation
from synth.envs.repo.pool import Library, RepoTask, base_of, tools_of


async def library_of(pool: Path, name: str) -> Library:
    """A library of the pool, taken into it where it is not there."""
    known = pool_at(pool)
    found = next((one for one in known.libraries if one.name == name), None)
    if found is None:
        make_tools(tools_of(pool))
        found = await prepared(name, pool, archives=archives(), say=print)
        write_pool(pool, [*known.libraries, found], known.tasks)
    return found


async def tried(
    pool: Path, library: Library, kind: str, tries: int, seed: int
) -> list[RepoTask | str]:
    """What the first broken trees of a kind come to."""
    validation = Validation(pool)
    drawn = KINDS[kind].breaking()(library, base_of(pool, library.name), Random(seed))
    return [await validation.task(library, one) for one in islice(drawn, tries)]


def apart(task: RepoTask) -> frozenset[str]:
    """The files of a task's edits that are tests out of view."""
    return frozenset({*task.solution, *task.hidden})


def row(kind: str, found: Sequence[RepoTask | str], seconds: float) -> str:
    """A line of the table."""
    tasks = [one for one in found if isinstance(one, RepoTask)]
    if not found:
        return f"{kind:<20} nothing to try"
    failing = statistics.median(len(one.failing) for one in tasks) if tasks else 0
    places = statistics.median(one.sites for one in tasks) if tasks else 0
    several = sum(one.sites > 1 or len(one.edits.keys() - apart(one)) > 1 for one in tasks)
    hidden = sum(bool(one.hidden) for one in tasks)
    numbers = (
        f"{len(found):>6} {len(tasks):>6} {failing:>8.0f} {places:>6.0f} {several:>8} {hidden:>7}"
    )
    return f"{kind:<20} {numbers} {seconds / len(found):>8.1f}"


async def measured(options: argparse.Namespace) -> None:
    """Prints the table, and why the others make no task."""
    found: dict[str, list[RepoTask | str]] = {}
    took: dict[str, float] = {}
    for name in options.libraries.split(","):
        library = await library_of(options.pool, name)
        for kind in options.kinds.split(","):
            if library.engine not in KINDS[kind].engines:
                continue
            began = time.monotonic()
            results = await tried(options.pool, library, kind, options.tries, options.seed)
            took[kind] = took.get(kind, 0.0) + time.monotonic() - began
            found.setdefault(kind, []).extend(results)
            print(name, row(kind, results, time.monotonic() - began), flush=True)

    print(f"\n{'kind':<20}  tried  valid  failing  sites  several  hidden  s each")
    for kind, results in found.items():
        print(row(kind, results, took[kind]))
    for kind, results in found.items():
        reasons = Counter(one for one in results if isinstance(one, str))
        print(kind, dict(reasons.most_common()))


def main() -> None:
    """Reads the options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pool", type=Path)
    parser.add_argument("--libraries", default="inflection,semver,cachetools,voluptuous,toolz")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--tries", type=int, default=8)
    parser.add_argument("--seed", type=int, default=7)
    asyncio.run(measured(parser.parse_args()))


if __name__ == "__main__":
    main()
