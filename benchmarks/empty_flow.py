"""Empty flow: what `synth run` costs by itself, beyond its imports; whether it starts or leaves any
process.

Run: `python -m benchmarks.empty_flow`
"""

import os
import signal
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.alternation import medians
from benchmarks.command_line import SYNTH, ended, start
from benchmarks.figures import Figure, Report, Target, shown
from benchmarks.machine import CpuOfOthers
from benchmarks.process_table import PROC, children, session_members

FLOW = "configs/empty.yaml"
POLL_S = 0.002
TRACED = """
import sys
started = []
sys.addaudithook(lambda event, _: started.append(event) if event in {
    "subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system",
    "os.exec",
} else None)
modules, out = list(sys.modules), sys.argv.pop(1)
def write():
    with open(out, "w") as file:
        file.write(" ".join(started) + "\\n" + " ".join(sys.modules))
from synth.cli.main import main
try:
    main()
finally:
    write()
"""
"""Runs `synth` and writes which calls that start a process were made (first line), and every module
that was imported (second).
"""
IMPORTS = """
import sys
from importlib import import_module
for name in open(sys.argv[1]).read().split():
    import_module(name)
"""


def run_command(folder: Path) -> list[str]:
    """`synth run` of the empty flow into a fresh directory."""
    return ["run", FLOW, "--run-dir", tempfile.mkdtemp(dir=folder), "--quiet"]


def traced(folder: Path) -> tuple[list[str], Path]:
    """One run watched from inside: calls that start processes, and a file that names the modules it
    imported, in their order.
    """
    trace, modules = folder / "trace", folder / "modules"
    ended([sys.executable, "-c", TRACED, str(trace), *run_command(folder)], folder / "state")
    calls, _, imported = trace.read_text(encoding="utf-8").partition("\n")
    modules.write_text(
        "\n".join(name for name in imported.split() if name != "__main__"), encoding="utf-8"
    )
    return calls.split(), modules


def children_seen(folder: Path) -> int:
    """Distinct children of one run, looked for every two milliseconds."""
    process = start([*SYNTH, *run_command(folder)], folder / "state")
    seen: set[int] = set()
    while process.poll() is None:
        seen |= children(process.pid)
        time.sleep(POLL_S)
    if process.returncode != 0:
        raise RuntimeError((folder / "state" / "output").read_text(errors="replace"))
    return len(seen)


def left_after_kill(folder: Path, after_s: float) -> int:
    """SIGKILL to the process alone, that long after its start; members of its session that still
    live.
    """
    process = start([*SYNTH, *run_command(folder)], folder / "state")
    time.sleep(after_s)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    return len(session_members(process.pid))


def measure(rounds: int = 9, kills: int = 10) -> Report:
    """Run, bare imports and help, turn by turn; then `kills` runs killed at points spread over
    their duration.
    """
    if not PROC.is_dir():
        raise RuntimeError("benchmarks.empty_flow reads /proc and needs Linux")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        calls, modules = traced(folder)
        found = medians(
            {
                "run": lambda: ended([*SYNTH, *run_command(folder)], folder / "state").wall_s,
                "imports": lambda: (
                    ended([sys.executable, "-c", IMPORTS, str(modules)], folder / "state").wall_s
                ),
                "help": lambda: ended([*SYNTH, "--help"], folder / "state").wall_s,
            },
            rounds,
        )
        left = sum(
            left_after_kill(folder, found["run"] * (kill + 0.5) / kills) for kill in range(kills)
        )
        seen = children_seen(folder)
    none = Target("at most", 0)
    return Report(
        "Empty flow",
        (
            Figure("synth run, whole process", found["run"], "s"),
            Figure("a process that imports the same modules", found["imports"], "s"),
            Figure(
                "overhead beyond imports",
                found["run"] - found["imports"],
                "s",
                Target("at most", 0.3),
            ),
            Figure("child processes seen in /proc", seen, "", none),
            Figure("calls that start a process", len(calls), "", none),
            Figure(f"processes left after {kills} kills (SIGKILL)", left, "", none),
            Figure("synth --help, whole process", found["help"], "s", Target("at most", 0.5)),
        ),
        f"`synth run {FLOW}`, medians of {rounds} runs in turn; killed at {kills} points from "
        "start to end.",
    )


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure(), others))
