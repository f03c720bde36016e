"""Curation: the bare pass, and full state keys with all measures, per second and core; what ten
times the length and 100,000 rows cost.

Run: `python -m benchmarks.curation_pass` (the trajectories of ../shared/data, replicated)
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import msgspec

from benchmarks.bare_pass import PATTERNS
from benchmarks.figures import Figure, Report, Target, shown
from benchmarks.machine import CpuOfOthers
from benchmarks.real_trajectories import imported
from synth.importers.records import Imported
from synth.schemas.text.messages import to_messages
from synth.schemas.trajectory import Trajectory
from synth.text.pattern_set import PatternSet
from synth.topology.keys import trajectory_keys
from synth.topology.of_task import task_rows

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
FOLDERS = ("tau1", "tau1_retail", "tau2_retail_multi")
"""400 trajectories of about 31 messages, most of them four to a task."""
COUNT, LONG, PLAIN = 20_000, 100_000, 2_000
ROUNDS = 3
LONGER = 10
_ORDER = re.compile(r"#W(\d{7})")


def source() -> list[Trajectory]:
    """The recorded trajectories, those of a task side by side."""
    found = [
        entry.trajectory
        for entry in imported([DATA / folder for folder in FOLDERS])
        if isinstance(entry, Imported)
    ]
    return sorted(found, key=lambda trajectory: (trajectory.task_id, trajectory.trajectory_id))


def _renumbered(copy: int, order: re.Match[str]) -> str:
    return f"#W{(int(order[1]) + copy) % 10**7:07d}"


def replicated(trajectories: Sequence[Trajectory], count: int) -> Iterator[str]:
    """That many lines of JSON: every copy of a trajectory has a task of its own and shifted order
    numbers.
    """
    lines = [
        json.dumps(
            {"task_id": t.task_id, "success": t.outcome == "success", "messages": to_messages(t)},
            ensure_ascii=False,
        )
        for t in trajectories
    ]
    for number in range(count):
        copy, at = divmod(number, len(lines))
        shifted = _ORDER.sub(partial(_renumbered, copy), lines[at])
        yield shifted.replace('"task_id": "', f'"task_id": "{copy}-', 1)


def passed(file: Path, *flags: str) -> dict[str, Any]:
    """A pass in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.bare_pass", str(file), *flags]
    found: dict[str, Any] = json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout
    )
    return found


def write(file: Path, trajectories: Sequence[Trajectory], count: int) -> None:
    """A file of `count` lines."""
    with file.open("w", encoding="utf-8") as out:
        out.writelines(line + "\n" for line in replicated(trajectories, count))


def lengthened(trajectory: Trajectory, times: int) -> Trajectory:
    """The turns of a trajectory, so many times one after the other."""
    size = len(trajectory.turns)
    turns = (
        msgspec.structs.replace(
            turn, index=turn.index + size * again, content=f"{turn.content or ''} {again}"
        )
        for again in range(times)
        for turn in trajectory.turns
    )
    return msgspec.structs.replace(trajectory, turns=tuple(turns))


def keys_per_second(trajectories: Sequence[Trajectory]) -> float:
    """Full state keys alone."""
    began = process_time()
    for trajectory in trajectories:
        trajectory_keys(trajectory)
    return len(trajectories) / (process_time() - began)


def rows_per_second(trajectories: Sequence[Trajectory]) -> float:
    """Keys, graphs, and every measure of every trial and task."""
    tasks: dict[str, list[Trajectory]] = {}
    for trajectory in trajectories:
        tasks.setdefault(trajectory.task_id, []).append(trajectory)
    began = process_time()
    for task, trials in tasks.items():
        task_rows(task, trials)
    return len(trajectories) / (process_time() - began)


def scan_figures(trajectories: Sequence[Trajectory], rounds: int) -> list[Figure]:
    """The patterns alone, in one pass and one by one. Raises `RuntimeError` where the hits
    differ.
    """
    texts = [
        "\n".join(str(message.get("content") or "") for message in to_messages(trajectory))
        for trajectory in trajectories
    ]
    together, plain = (
        PatternSet(PATTERNS),
        {name: re.compile(pattern, re.ASCII) for name, pattern in PATTERNS.items()},
    )
    found, rates = [], []
    for _ in range(rounds):
        began = process_time()
        found = [together.hits(text) for text in texts]
        rates.append(len(texts) / (process_time() - began))
    began = process_time()
    expected = [
        tuple(name for name, pattern in plain.items() if pattern.search(text)) for text in texts
    ]
    of_re = len(texts) / (process_time() - began)
    if found != expected:
        raise RuntimeError("the pattern set hits other texts than re does")
    rate = median(rates)
    return [
        Figure("30 patterns alone", rate, "trajectories/s", Target("at least", 20_000)),
        Figure("over re, one by one", rate / of_re, "x", Target("at least", 50)),
    ]


def measure(
    count: int = COUNT, long: int = LONG, plain: int = PLAIN, rounds: int = ROUNDS
) -> Report:
    """Raises `RuntimeError` where the fast pass finds something else than the plain one."""
    trajectories = source()
    with tempfile.TemporaryDirectory() as folder:
        some, few, many = (Path(folder, name) for name in ("some", "few", "many"))
        write(some, trajectories, count)
        write(few, trajectories, plain)
        fast = [passed(some) for _ in range(rounds)]
        ours, theirs = passed(few), passed(few, "--plain")
        findings = [
            {key: found[key] for key in found if key not in ("cpu_s", "peak_mb")}
            for found in (ours, theirs)
        ]
        if findings[0] != findings[1]:
            raise RuntimeError(f"the fast pass found {findings[0]}, the plain one {findings[1]}")
        write(many, trajectories, long)
        streamed = passed(many)
    rate = count / median(found["cpu_s"] for found in fast)
    of_plain = plain / theirs["cpu_s"]
    longer = [lengthened(trajectory, LONGER) for trajectory in trajectories]
    keys = median(keys_per_second(trajectories) for _ in range(rounds))
    short_rate = median(rows_per_second(trajectories) for _ in range(rounds))
    long_rate = median(rows_per_second(longer) for _ in range(rounds))
    figures = [
        Figure("bare pass", rate, "trajectories/s", Target("at least", 8_000)),
        Figure("the same with the standard library", of_plain, "trajectories/s"),
        Figure("bare pass over it", rate / of_plain, "x", Target("at least", 20)),
        Figure(
            f"peak memory, streaming {long:,}", streamed["peak_mb"], "MB", Target("at most", 500)
        ),
        Figure(f"bare pass, streaming {long:,}", long / streamed["cpu_s"], "trajectories/s"),
        *scan_figures(trajectories, rounds),
        Figure("full state keys", keys, "trajectories/s", Target("at least", 1_000)),
        Figure(
            "keys, graphs and all measures", short_rate, "trajectories/s", Target("at least", 1_000)
        ),
        Figure(
            f"time per turn at {LONGER} times the length",
            short_rate / long_rate / LONGER,
            "x",
            Target("at most", 1.2),
        ),
    ]
    how = (
        f"{len(trajectories)} recorded trajectories of tau-bench and tau2-bench, replicated to "
        f"{count:,} with shifted order numbers; one "
        f"process, CPU seconds, medians of {rounds} passes. 30 patterns. The plain version found "
        f"the same in {plain:,}. Full keys and "
        "measures on the recorded ones, read before."
    )
    return Report("Curation pass", figures, how)


if __name__ == "__main__":
    if not DATA.is_dir():
        sys.exit(f"curation_pass: {DATA} is absent; it holds the trajectories that are replicated")
    others = CpuOfOthers()
    sys.exit(shown(measure(), others))
