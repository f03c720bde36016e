"""All gates by source, with exact bounds: `python -m benchmarks.gates [PART ...]`."""

import sys
from importlib import import_module

from benchmarks.gates.table import table

PARTS = (
    "arguments",
    "benchmark_stamps",
    "raw_calls",
    "refusals",
    "contamination",
    "goals",
    "closing_words",
    "real_closing_words",
    "values",
    "leaks",
    "attribution",
    "lucky",
)
"""Modules here, each with `rows() -> list[Rate]`."""


def main() -> int:
    """Prints the table, part by part, as each is measured."""
    asked = sys.argv[1:] or PARTS
    unknown = [name for name in asked if name not in PARTS]
    if unknown:
        print(f"{unknown[0]} is no part; known: {', '.join(PARTS)}", file=sys.stderr)
        return 2

    printed = False
    for name in asked:
        lines = list(table(import_module(f"benchmarks.gates.{name}").rows()))
        print("\n".join(lines[2:] if printed else lines), flush=True)
        printed = True

    return 0


if __name__ == "__main__":
    sys.exit(main())
