"""What grading found in a pool and what it left: of all that were made, those taken out included.

Run: `python -m benchmarks.repo.graded POOL`, after `synth repo grade POOL`.
"""

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.repo.bench import at_least, at_most
from synth.envs.repo.bots.tiers import BY_HEART, MENDED_BY, NOT_TOLD, REFUSED, TRIVIAL
from synth.envs.repo.pool import RepoTask, read_pool, read_task, read_tasks


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


def main(folder: Path) -> None:
    """Prints both tables."""
    pool = read_pool(folder)
    made = sorted(path.stem for path in (folder / "tasks").glob("*.json"))
    told("all that were made", [read_task(folder, identity) for identity in made])
    told("left", list(read_tasks(folder, pool)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
