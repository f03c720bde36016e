"""Real trajectories through `synth curate`: `python -m benchmarks.foreign [PART ...]`."""

import sys
from importlib import import_module

PARTS = ("doors", "observed", "confirmed", "speaking", "pace")
"""Modules here, each with `lines() -> Iterator[str]`."""


def main() -> int:
    """Prints the tables, part by part, as each is measured."""
    asked = sys.argv[1:] or PARTS
    unknown = [name for name in asked if name not in PARTS]
    if unknown:
        print(f"{unknown[0]} is no part; known: {', '.join(PARTS)}", file=sys.stderr)
        return 2
    for name in asked:
        for line in import_module(f"benchmarks.foreign.{name}").lines():
            print(line, flush=True)
        print()

    return 0


if __name__ == "__main__":
    sys.exit(main())
