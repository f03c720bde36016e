"""Logs of a planner that errs in broken repositories, put to the test there, as in
`python -m benchmarks.foreign confirmed`.

Run: `python -m benchmarks.repo.confirmed POOL [tasks [weight]]`; the planner does something at
random in one turn of `weight` and one.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.foreign.confirmed import lines

TASKS, WEIGHT = 24, 3


def main(pool: str, numbers: Sequence[str]) -> None:
    """Prints the table."""
    tasks, weight = (*map(int, numbers), *(TASKS, WEIGHT)[len(numbers) :])
    own = {"pool": str(Path(pool).resolve()), "tasks": tasks}
    for line in lines({"repo": own}, weight):
        print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
