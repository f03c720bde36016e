"""`python -m benchmarks`: every benchmark in a process of its own, one table each; exit code 1
where a target is missed.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from benchmarks.command_line import ROOT
from benchmarks.machine import machine
from benchmarks.real_trajectories import DATA

BENCHMARKS = (
    "storefront_targets",
    "critical_steps",
    "rollout_rate",
    "journal_cost",
    "ledger_commits",
    "memory_growth",
    "empty_flow",
    "engine_efficiency",
    "openai_client",
    "import_rate",
    "export_rate",
    "label_exports",
    "injected_failures",
    "pairs",
    "reverse_tasks",
    "near_duplicates",
    "pattern_scan",
    "corpus_memory",
    "topology_memory",
    "report_size",
)
"""A benchmark's process exits with 1 where it misses a target, and with its traceback where it
breaks.
"""
ON_REAL_DATA = ("curation_pass", "control_tokens")
"""Those that read real trajectories, and are skipped where these are absent."""
ALL = (*BENCHMARKS, *ON_REAL_DATA)


def main(chosen: Sequence[str] = ALL) -> int:
    """Runs them one after the other, whatever one of them comes to."""
    print(f"# Benchmarks, {datetime.now(UTC):%Y-%m-%d}\n\n{machine()}", flush=True)
    failed = []
    for name in chosen:
        print(flush=True)
        if name in ON_REAL_DATA and not DATA.is_dir():
            print(
                f"## {name}\n\nSkipped: real trajectories absent ({DATA.relative_to(ROOT.parent)} "
                "beside the repository).",
                flush=True,
            )
            continue
        if (
            subprocess.run(
                [sys.executable, "-m", f"benchmarks.{name}"], cwd=ROOT, check=False
            ).returncode
            != 0
        ):
            failed.append(name)
    print(
        f"\n{'Missed or broken: ' + ', '.join(failed) if failed else 'Every target holds.'}",
        flush=True,
    )
    return 1 if failed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=f"{__doc__} All of them take half an hour.",
        epilog="Example: python -m benchmarks ledger_commits",
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"which of them [all]: {', '.join(ALL)}"
    )
    names = parser.parse_args().names
    unknown = [name for name in names if name not in ALL]
    if unknown:
        parser.error(f"unknown benchmark {unknown[0]}; known: {', '.join(ALL)}")
    sys.exit(main(names or ALL))
