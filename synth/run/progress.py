"""What a person sees while a stage runs: a live line on a terminal, plain lines elsewhere, nothing when quiet."""

import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Protocol, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from schemas.outcome import Outcome
from schemas.trajectory import Trajectory, Usage
from synth.run.numbers import counted_noun, short_count, short_duration

PLAIN_EVERY_S = 10.0
SHOWN_EVERY = 10
"""Turns from one update of the bar to the next: it costs as much as a step of a fast world."""
ENOUGH_DONE, ENOUGH_S = 0.05, 5.0
"""Share of the units, and seconds, from which on the time left is told: the first to end are the short ones."""


class Progress(Protocol):
    """Told what happens; shows it on stderr."""

    def say(self, line: str) -> None: ...
    def start(self, stage: str, total: int, unit: str) -> None: ...
    def turned(self, usage: Usage | None) -> None: ...
    def advance(self, attempts: Sequence[Trajectory]) -> None: ...
    def step(self, count: int) -> None: ...
    def stop(self) -> None: ...


class Tally:
    """Episodes, successes, faults, turns, tokens and money of the stage under way; turns count when they are taken."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.usage = Usage()
        self.turns = 0
        self._of_finished = Usage()
        self._of_turns = Usage()

    def turn(self, usage: Usage | None) -> None:
        """Counts a turn of an episode under way."""
        self.turns += 1
        if usage is not None:
            self._of_turns = self._of_turns + usage
            self._settle()

    def add(self, attempts: Sequence[Trajectory]) -> None:
        """Counts all attempts at one slot."""
        for trajectory in attempts:
            self.outcomes[trajectory.outcome] += 1
            self._of_finished = self._of_finished + trajectory.totals
        self._settle()

    def _settle(self) -> None:
        """Finished episodes are among those whose turns were counted, where anybody counted them."""
        self.usage = max(self._of_turns, self._of_finished, key=lambda usage: usage.prompt_tokens + usage.completion_tokens)

    def line(self, *, live: bool = False) -> str:
        """For instance: 61 % success, 2 faults, 1.2k turns, 9.2M tokens, $0.02 (turns only while it runs)."""
        invalid = self.outcomes[Outcome.INVALID]
        valid = sum(self.outcomes.values()) - invalid
        parts = []
        if valid:
            parts.append(f"{100 * self.outcomes[Outcome.SUCCESS] / valid:.0f} % success")
        if invalid:
            parts.append(counted_noun(invalid, "fault"))
        if live and self.turns:
            parts.append(f"{short_count(self.turns)} turns")
        tokens = self.usage.prompt_tokens + self.usage.completion_tokens
        if tokens:
            parts.append(f"{short_count(tokens)} tokens")
        if self.usage.cost_usd is not None:
            parts.append(f"${self.usage.cost_usd:.2f}")
        return ", ".join(parts)

    def ending(self, *, live: bool = False) -> str:
        """The same as the end of a line."""
        line = self.line(live=live)
        return f", {line}" if line else ""


def time_left(done: int, total: int, took_s: float) -> str:
    """For instance: about 7 min left; nothing where too little is done to tell."""
    if not 0 < done < total or done < ENOUGH_DONE * total or took_s < ENOUGH_S:
        return ""
    return f"about {short_duration(took_s / done * (total - done))} left"


class LiveProgress:
    """A progress bar on a terminal."""

    def __init__(self, stream: TextIO) -> None:
        columns = (
            TextColumn("[bold]{task.description}"), BarColumn(bar_width=30), MofNCompleteColumn(), TextColumn("{task.fields[unit]}"),
            TimeElapsedColumn(), TextColumn("{task.fields[left]}"), TextColumn("{task.fields[tally]}"),
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
        self._task = self._bar.add_task(stage, total=total or None, unit=unit, tally="", left="")

    def turned(self, usage: Usage | None) -> None:
        """One turn was taken."""
        self._tally.turn(usage)
        if self._task is not None and self._tally.turns % SHOWN_EVERY == 1:
            self._bar.update(self._task, tally=self._tally.line(live=True))

    def advance(self, attempts: Sequence[Trajectory]) -> None:
        """One slot is done."""
        self._tally.add(attempts)
        self.step(1)

    def step(self, count: int) -> None:
        """Some units are done."""
        if self._task is None:
            return
        task = self._bar.tasks[self._bar.task_ids.index(self._task)]
        left = time_left(int(task.completed) + count, int(task.total or 0), task.elapsed or 0.0)
        self._bar.update(self._task, advance=count, tally=self._tally.line(live=True), left=left)

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

    def turned(self, usage: Usage | None) -> None:
        """One turn was taken."""
        self._tally.turn(usage)
        self._say_now_and_then()

    def advance(self, attempts: Sequence[Trajectory]) -> None:
        """One slot is done."""
        self._tally.add(attempts)
        self.step(1)

    def step(self, count: int) -> None:
        """Some units are done; says so every ten seconds."""
        self._done += count
        self._say_now_and_then()

    def _say_now_and_then(self) -> None:
        now = time.monotonic()
        if now - self._said < PLAIN_EVERY_S:
            return
        self._said = now
        of = f"/{self._total}" if self._total else ""
        left = time_left(self._done, self._total, now - self._began)
        self.say(f"{self._stage}: {self._done}{of} {self._unit}{', ' if left else ''}{left}{self._tally.ending(live=True)}")

    def stop(self) -> None:
        """The stage is over."""
        if self._done or self._tally.turns:
            took = time.monotonic() - self._began
            of = f"/{self._total}" if self._total else ""
            self.say(f"{self._stage}: {self._done}{of} {self._unit} in {took:.1f} s{self._tally.ending()}")


def progress_for(stream: TextIO | None = None, *, quiet: bool = False) -> Progress:
    """A bar on a terminal, plain lines elsewhere, nothing when quiet."""
    stream = stream or sys.stderr
    if quiet or not stream.isatty():
        return PlainProgress(stream, quiet=quiet)
    return LiveProgress(stream)
