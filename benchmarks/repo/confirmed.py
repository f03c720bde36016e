"""Logs of a planner that errs in broken repositories, put to the test there, as in
`python -m benchmarks.foreign confirmed`.

Run: `python -m benchmarks.repo.confirmed POOL [tasks]`
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.foreign.confirmed import lines

TASKS = 24


def main(pool: str, tasks: Sequence[str]) -> None:
    """Prints the table."""
    own = {"pool": str(Path(pool).resolve()), "tasks": int(tasks[0]) if tasks else TASKS}
    for line in lines({"repo": own}):
        print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
