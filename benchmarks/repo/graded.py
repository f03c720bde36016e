"""What grading found in a pool and what it left: of all that were made, those taken out included.

Run: `python -m benchmarks.repo.graded POOL`, after `synth repo grade POOL`.
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.repo.bench import at_least, at_most
from synth.envs.repo.bots.tiers import BY_HEART, MENDED_BY, NOT_TOLD, REFUSED, TRIVIAL
from synth.envs.repo.pool import RepoTask, read_pool, read_task, read_tasks
from synth.schemas import ConfigError


def graded(folder: Path) -> tuple[list[RepoTask], list[RepoTask]]:
    """All tasks that were made, and those that are left. Raises `ConfigError` where some were not
    graded, or by another version.
    """
    pool = read_pool(folder)
    places = sorted((folder / "tasks").glob("*.json"))
    made = [read_task(folder, place.stem) for place in places]
    open_ones = sum(REFUSED not in task.about for task in made)
    if open_ones:
        raise ConfigError(
            f"{folder}: {open_ones} of {len(made)} tasks are not graded; "
            f"`synth repo grade {folder}`"
        )
    return made, list(read_tasks(folder, pool))


def told(name: str, tasks: Sequence[RepoTask]) -> None:
    """Prints the shares of these tasks."""
    pairs = [task.about[REFUSED].split(" of ") for task in tasks]
    refused, tried = (sum(int(pair[at]) for pair in pairs) for at in (0, 1))
    by_bots = [task for task in tasks if MENDED_BY in task.about]
    bots = Counter(bot for task in by_bots for bot in task.about[MENDED_BY].split())
    kinds = Counter(task.kind for task in tasks)

    print(f"{name}: {len(tasks)} tasks, {dict(sorted(kinds.items()))}")
    trivial = sum(task.tier == TRIVIAL for task in by_bots)
    print(f"  tier 0, of those that bots tried: {at_most(trivial, len(by_bots))}")
    print(f"  mended by: {dict(bots)}")
    print(f"  wrong patches refused: {at_least(refused, tried)}")
    print(f"  by heart: {sum(task.about.get(BY_HEART) == NOT_TOLD for task in tasks)}")
    print(f"  hidden tests: {at_least(sum(bool(task.hidden) for task in tasks), len(tasks))}")


def main() -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("pool", type=Path)
    try:
        made, left = graded(parser.parse_args().pool)
    except ConfigError as error:
        parser.exit(2, f"{error}\n")

    told("all that were made", made)
    told("left", left)


if __name__ == "__main__":
    main()
