"""`synth` in a process of its own, with its state in a temporary folder: started, waited for,
weighed.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).resolve().parents[1]
SYNTH = (sys.executable, "-c", "from synth.cli.main import main; main()")


@dataclass(frozen=True, slots=True)
class Ended:
    """A process that has ended well: seconds from start to end, and its peak resident memory in
    MiB.
    """

    wall_s: float
    peak_mib: float


def start(command: Sequence[str], state: Path) -> "subprocess.Popen[bytes]":
    """Starts a command in a session of its own, without a terminal; its output goes to
    STATE/output.
    """
    state.mkdir(parents=True, exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"}
    with (state / "output").open("wb") as output:
        return subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment | {"SYNTH_STATE_DIR": str(state)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def ended(command: Sequence[str], state: Path) -> Ended:
    """Runs a command to its end. Raises `RuntimeError` with its output where it fails.

    Linux counts what the parent held at the start into the child's peak: call this from a small
    process.
    """
    started = perf_counter()
    process = start(command, state)
    _, status, usage = os.wait4(process.pid, 0)
    wall_s = perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(
            f"{' '.join(command)} ended with "
            f"{process.returncode}:\n{(state / 'output').read_text(errors='replace')}"
        )
    return Ended(wall_s, usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10))
