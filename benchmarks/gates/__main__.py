"""All gates by source, with exact bounds: `python -m benchmarks.gates [--at-once N] [PART ...]`."""

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from benchmarks.gates.part import measured
from benchmarks.gates.table import table

PARTS = (
    "arguments",
    "values",
    "wordings",
    "goals",
    "model_wordings",
    "leaks",
    "raw_calls",
    "refusals",
    "contamination",
    "benchmark_stamps",
    "closing_words",
    "real_closing_words",
    "closing_cases",
    "closing_episodes",
    "attribution",
    "lucky",
)
"""Modules here, each with `rows() -> list[Rate]`; the longest first."""


def main(given: Sequence[str] | None = None) -> int:
    """Prints the table, part by part, as each is measured; what they took, to stderr. A part that
    fails loses the others nothing: exit code 1.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gates")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--at-once", type=int, default=2, help="processes [default: 2]")
    asked = parser.parse_args(given)
    unknown = [name for name in asked.parts if name not in PARTS]
    if unknown:
        parser.error(f"{unknown[0]} is no part; known: {', '.join(PARTS)}")

    return 1 if _shown(asked.parts or PARTS, asked.at_once) else 0


def _shown(names: Sequence[str], at_once: int) -> int:
    """Measures and prints; how many parts failed."""
    failed, head = 0, 0
    # a part that changes what its process knows (the state folder, caches) is alone in its own
    with ProcessPoolExecutor(at_once, get_context("spawn"), max_tasks_per_child=1) as processes:
        for name, running in [(name, processes.submit(measured, name)) for name in names]:
            try:
                rates, seconds = running.result()
            except Exception as error:  # noqa: BLE001  whatever it was, the other parts are told
                print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
                failed += 1
                continue

            print("\n".join([*table(rates)][head:]), flush=True)
            print(f"{name}: {seconds:.0f} s", file=sys.stderr, flush=True)
            head = 2

    return failed


if __name__ == "__main__":
    sys.exit(main())
