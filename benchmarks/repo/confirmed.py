"""Logs of a planner that errs in broken repositories, put to the test there, as in
`python -m benchmarks.foreign confirmed`.

Run: `python -m benchmarks.repo.confirmed POOL [tasks [weight [errs]]]`; in one turn of `weight` and
one the planner hands in what is there, or does what another policy does (`errs`: `random`).
"""

import sys
from pathlib import Path

from benchmarks.foreign.confirmed import lines
from synth import AgentTurn, ToolCall, View, policy

TASKS, WEIGHT = 24, 12
ERRS = "benchmarks.repo.confirmed:hands_in"


@policy(deterministic=True)
async def hands_in(view: View) -> AgentTurn:
    """Calls the work done, whatever is left of it."""
    return AgentTurn(None, (ToolCall(f"call_{len(view.turns)}", "submit", "{}"),))


def main(pool: str, tasks: str = str(TASKS), weight: str = str(WEIGHT), errs: str = ERRS) -> None:
    """Prints the table."""
    own = {"pool": str(Path(pool).resolve()), "tasks": int(tasks)}
    for line in lines({"repo": own}, int(weight), errs):
        print(line, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
