"""Exports: seconds for 20,000 trajectories from a ledger to SFT rows on disk, and the memory that
more of them take.

Run: `python -m benchmarks.export_rate`
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.figures import Figure, Report, Target, shown
from benchmarks.import_rate import TURNS, write
from benchmarks.machine import CpuOfOthers

_IMPORT = """
import sys
from pathlib import Path
from synth.importers.commit import import_into
from synth.engine.progress import progress_for
import_into(sys.argv[2], [Path(sys.argv[1])], "auto", progress_for(quiet=True))
"""
_EXPORT = """
import resource, sys
from time import perf_counter, process_time
from synth.exporters.folder.dataset_folder import DatasetFolder
from synth.exporters.export import export
from synth.exporters.kind import RowSettings
from synth.ledger.ledger import StoredLedger
began = perf_counter()
settings = RowSettings(form=sys.argv[3], outcomes=("success", "failure"), allow_benchmark=True)
report = export("sft", StoredLedger(sys.argv[1]), DatasetFolder(sys.argv[2]), settings)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(report.rows, perf_counter() - began, process_time(), peak)
"""


def exported(run: Path, out: Path, form: str, expected: int) -> tuple[float, float, float]:
    """(seconds, CPU seconds, peak memory in MB) of an export in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", _EXPORT, str(run), str(out), form],
        check=True,
        capture_output=True,
        text=True,
    )
    rows, seconds, cpu, memory = done.stdout.split()
    if int(rows) != expected:
        raise RuntimeError(f"{rows} of {expected} were written")
    return float(seconds), float(cpu), float(memory) / 1024


def measure(few: int = 2_000, many: int = 20_000) -> Report:
    """Imports made-up attempts and exports them: `few`, then `many`, in TRL's form, and `many` in
    Axolotl's.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for count in (few, many):
            write(folder / "attempts.jsonl", count)
            subprocess.run(
                [
                    sys.executable,
                    "-c",
                    _IMPORT,
                    str(folder / "attempts.jsonl"),
                    str(folder / f"run{count}"),
                ],
                check=True,
            )
        _, _, small = exported(folder / f"run{few}", folder / "few", "trl", few)
        seconds, cpu, large = exported(folder / f"run{many}", folder / "many", "trl", many)
        other, cpu_other, _ = exported(folder / f"run{many}", folder / "axolotl", "axolotl", many)
    return Report(
        "Export",
        (
            Figure(
                f"{many:,} trajectories of {TURNS} turns as SFT rows for TRL",
                seconds,
                "s",
                Target("at most", 30),
            ),
            Figure(f"{many:,} for Axolotl", other, "s", Target("at most", 30)),
            Figure("CPU time of the former", cpu, "s"),
            Figure("CPU time of the latter", cpu_other, "s"),
            Figure(
                f"peak memory for {many:,} over that for {few:,}",
                large / small,
                "times",
                Target("at most", 1.5),
            ),
            Figure(f"peak memory for {many:,}", large, "MB"),
        ),
        "Made-up attempts of 17 KB each, imported before; wall-clock time in a process of its "
        "own, imports of Python included.",
    )


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure(), others))
