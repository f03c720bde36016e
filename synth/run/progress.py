"""What a person sees while a stage runs: a live line on a terminal, plain lines elsewhere, nothing when quiet."""

import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Protocol, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from schemas.outcome import Outcome
from schemas.trajectory import Trajectory, Usage

PLAIN_EVERY_S = 10.0


class Progress(Protocol):
    """Told what happens; shows it on stderr."""

    def say(self, line: str) -> None: ...
    def start(self, stage: str, total: int, unit: str) -> None: ...
    def advance(self, attempts: Sequence[Trajectory]) -> None: ...
    def step(self, count: int) -> None: ...
    def stop(self) -> None: ...


class Tally:
    """Episodes, successes, faults, tokens and money of the stage under way."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.usage = Usage()

    def add(self, attempts: Sequence[Trajectory]) -> None:
        """Counts all attempts at one slot."""
        for trajectory in attempts:
            self.outcomes[trajectory.outcome] += 1
            self.usage = self.usage + trajectory.totals

    def line(self) -> str:
        """For instance: 61 % success, 2 faults, 12k tokens, $0.02."""
        invalid = self.outcomes[Outcome.INVALID]
        valid = sum(self.outcomes.values()) - invalid
        parts = []
        if valid:
            parts.append(f"{100 * self.outcomes[Outcome.SUCCESS] / valid:.0f} % success")
        if invalid:
            parts.append(f"{invalid} faults")
        tokens = self.usage.prompt_tokens + self.usage.completion_tokens
        if tokens:
            parts.append(f"{tokens / 1000:.1f}k tokens")
        if self.usage.cost_usd is not None:
            parts.append(f"${self.usage.cost_usd:.2f}")
        return ", ".join(parts)

    def ending(self) -> str:
        """The same as the end of a line."""
        line = self.line()
        return f", {line}" if line else ""


class LiveProgress:
    """A progress bar on a terminal."""

    def __init__(self, stream: TextIO) -> None:
        columns = (
            TextColumn("[bold]{task.description}"), BarColumn(bar_width=30), MofNCompleteColumn(), TextColumn("{task.fields[unit]}"),
            TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(), TextColumn("{task.fields[tally]}"),
        )  # fmt: skip
        self._bar = Bar(*columns, console=Console(file=stream), transient=True)
        self._tally = Tally()
        self._task: TaskID | None = None

    def say(self, line: str) -> None:
        """A line above the bar."""
        self._bar.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def start(self, stage: str, total: int, unit: str) -> None:
        """A stage begins."""
        self._tally = Tally()
        self._bar.start()
        self._task = self._bar.add_task(stage, total=total or None, unit=unit, tally="")

    def advance(self, attempts: Sequence[Trajectory]) -> None:
        """One slot is done."""
        self._tally.add(attempts)
        if self._task is not None:
            self._bar.update(self._task, advance=1, tally=self._tally.line())

    def step(self, count: int) -> None:
        """Some units without outcomes are done."""
        if self._task is not None:
            self._bar.update(self._task, advance=count)

    def stop(self) -> None:
        """The stage is over; a line of what it did stays."""
        if self._task is not None:
            task = self._bar.tasks[self._bar.task_ids.index(self._task)]
            done, took = int(task.completed), task.elapsed or 0.0
            self._bar.remove_task(self._task)
            self._task = None
            self.say(f"{task.description}: {done} {task.fields['unit']} in {took:.1f} s{self._tally.ending()}")
        self._bar.stop()


class PlainProgress:
    """A line now and then, for logs."""

    def __init__(self, stream: TextIO, *, quiet: bool = False) -> None:
        self._stream = stream
        self._quiet = quiet
        self._tally = Tally()
        self._stage, self._unit = "", ""
        self._done = self._total = 0
        self._began = self._said = 0.0

    def say(self, line: str) -> None:
        """One line."""
        if not self._quiet:
            print(line, file=self._stream, flush=True)

    def start(self, stage: str, total: int, unit: str) -> None:
        """A stage begins."""
        self._stage, self._total, self._unit = stage, total, unit
        self._tally, self._done = Tally(), 0
        self._began = self._said = time.monotonic()

    def advance(self, attempts: Sequence[Trajectory]) -> None:
        """One slot is done."""
        self._tally.add(attempts)
        self.step(1)

    def step(self, count: int) -> None:
        """Some units are done; says so every ten seconds."""
        self._done += count
        now = time.monotonic()
        if now - self._said >= PLAIN_EVERY_S:
            self._said = now
            left = (now - self._began) / max(1, self._done) * (self._total - self._done)
            rest = f"/{self._total} {self._unit}, about {left:.0f} s left" if self._total else f" {self._unit}"
            self.say(f"{self._stage}: {self._done}{rest}{self._tally.ending()}")

    def stop(self) -> None:
        """The stage is over."""
        if self._done:
            took = time.monotonic() - self._began
            of = f"/{self._total}" if self._total else ""
            self.say(f"{self._stage}: {self._done}{of} {self._unit} in {took:.1f} s{self._tally.ending()}")


def progress_for(stream: TextIO | None = None, *, quiet: bool = False) -> Progress:
    """A bar on a terminal, plain lines elsewhere, nothing when quiet."""
    stream = stream or sys.stderr
    if quiet or not stream.isatty():
        return PlainProgress(stream, quiet=quiet)
    return LiveProgress(stream)
