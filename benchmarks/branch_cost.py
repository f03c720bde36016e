"""What a branch of a folder costs, and whether a restored tree is what the same commands make anew.

Run: `python -m benchmarks.branch_cost` (about two minutes); `--prefixes 1000` compares so many
restored trees with replayed ones (some minutes more), `--copies` does all of it by copies.

The tree is made here: 2,000 files in 100 folders, 50 MB. Times are milliseconds: the least of all,
the median and the 95th percentile; on a loaded machine the least says most about the code.
"""

import argparse
import asyncio
import os
import resource
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random

from benchmarks.branch_scripts import agreeing
from synth.confinement import (
    Branch,
    ProcessLimits,
    branch_of,
    how_branches_are_made,
    how_trees_are_counted,
)
from synth.confinement.keeping import only_copies

FOLDERS, FILES, BYTES = 100, 20, 25_000
LIMITS = ProcessLimits()
CHANGED = tuple(f"d{number:03}/f{number:02}" for number in (3, 5, 7))
Work = Callable[[], Awaitable[object]]


def make_tree(place: Path) -> None:
    """2,000 files of 25 kB, none like another."""
    random = Random(0)
    for folder in range(FOLDERS):
        inside = place / f"d{folder:03}"
        inside.mkdir()
        for file in range(FILES):
            (inside / f"f{file:02}").write_bytes(random.randbytes(BYTES))


async def times(name: str, work: Work, *, before: Work | None = None, rounds: int = 100) -> None:
    """Prints how long something takes, `before` not counted."""
    took = list[float]()
    for _ in range(rounds):
        if before is not None:
            await before()
        began = time.perf_counter()
        await work()
        took.append((time.perf_counter() - began) * 1e3)

    took.sort()
    low, middle, high = took[0], took[len(took) // 2], took[int(len(took) * 0.95)]
    print(f"{name:<44} {low:8.2f} {middle:8.2f} {high:8.2f}", flush=True)


async def costs(branch: Branch, rounds: int) -> None:
    """Prints what a branch's acts cost."""

    async def change() -> None:
        await branch.run(["/bin/sh", "-c", f"for f in {' '.join(CHANGED)}; do echo x >> $f; done"])

    async def there_and_back() -> None:
        await branch.thaw(await branch.freeze())

    print(f"{'':<44} {'least':>8} {'median':>8} {'95 %':>8}")
    start = await branch.freeze()
    await times(
        "freeze and thaw, three files changed", there_and_back, before=change, rounds=rounds
    )
    await times("thaw of the start", lambda: branch.thaw(start), before=change, rounds=rounds)
    await times("changes, three files", branch.changes, before=change, rounds=rounds)
    await times("read a file", lambda: branch.read(CHANGED[0], 1000), rounds=rounds)
    await times("write a file", lambda: branch.write(CHANGED[0], b"x"), rounds=rounds)
    await times("command that does nothing", lambda: branch.run(["true"]), rounds=rounds)
    await times("command that changes three files", change, rounds=rounds)

    began = _cpu()
    for _ in range(rounds):
        await branch.run(["true"])
    print(f"processor time of a command: {(_cpu() - began) / rounds * 1e3:.1f} ms")


async def _unconfined() -> None:
    process = await asyncio.create_subprocess_exec("/bin/sh", "-c", "true")
    await process.wait()


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


async def main(prefixes: int, rounds: int) -> None:
    """Everything."""
    print(f"branches: {how_branches_are_made()}; limits: {how_trees_are_counted()}")
    print(f"load: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")

    with tempfile.TemporaryDirectory() as folder:
        await asyncio.to_thread(make_tree, Path(folder))
        await times("a shell, unconfined", _unconfined, rounds=rounds)
        began = time.perf_counter()
        async with branch_of(Path(folder), limits=LIMITS) as branch:
            print(f"first branch of the tree: {(time.perf_counter() - began) * 1e3:.0f} ms")
            await costs(branch, rounds)
        await times(
            "another branch, opened and closed", lambda: _opened(Path(folder)), rounds=rounds
        )

    if prefixes:
        alike, tried, different = await agreeing(prefixes)
        print(f"restored trees equal to replayed ones: {alike} of {tried}")
        for one in different[:5]:
            print(one)


async def _opened(folder: Path) -> None:
    async with branch_of(folder, limits=LIMITS):
        pass


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--prefixes", type=int, default=0)
    options.add_argument("--rounds", type=int, default=100)
    options.add_argument("--copies", action="store_true")
    chosen = options.parse_args()
    if chosen.copies:
        only_copies()
    asyncio.run(main(chosen.prefixes, chosen.rounds))
