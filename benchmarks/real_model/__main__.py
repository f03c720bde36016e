"""`python -m benchmarks.real_model PYTHON MODEL [OUT]`: the whole mission over three worlds, played
by a model of 135M parameters; exit code 1 where it comes to nothing.

PYTHON is the interpreter of vLLM's environment and MODEL what `weights.py` wrote; `make real-model`
makes both. Runs and the server's log lie below OUT.
"""

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.machine import machine
from benchmarks.real_model.mission import AGAIN, FULL, WORLDS, World, run_dir, settings
from benchmarks.real_model.served import served
from benchmarks.real_model.table import Row, lines, missed, row
from synth import publish, run


def played(python: Path, model: Path, out: Path) -> list[Row]:
    """All worlds, one after the other, on one server; the first once more, with other tasks, where
    something is missed.
    """
    out.mkdir(parents=True, exist_ok=True)
    with served(python, model, out / "server.log") as url:
        rows = [_played(world, url, out) for world in WORLDS]
        if missed(rows):
            rows.append(_played(AGAIN, url, out))
    return rows


def _played(world: World, url: str, out: Path) -> Row:
    began = time.monotonic()
    result = run(FULL, run_dir=run_dir(out, world), set=settings(world, url))
    done = row(world.name, result, time.monotonic() - began)
    if any(done.rows.values()):
        publish(result.run_dir, f"me/real-{world.name}", licence="apache-2.0")  # a dry run
    print("\n".join(lines([done])), flush=True)
    return done


def main(arguments: Sequence[str]) -> int:
    """Prints the table, and what is missed."""
    python, model, *out = map(Path, arguments)
    folder = out[0] if out else Path(tempfile.mkdtemp(prefix="synth-real-model-"))
    began = time.monotonic()
    rows = played(python, model, folder)
    print(f"# A real model, {machine()}\n\n" + "\n".join(lines(rows)))
    print(f"\n{time.monotonic() - began:.0f} s with the server's start; runs below {folder}")
    for problem in (found := missed(rows)):
        print(f"MISSED: {problem}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
