"""What a person sees while a stage runs: a live line on a terminal, plain lines elsewhere, nothing
when quiet.
"""

import sys
import time
from collections.abc import Iterable, Sequence
from typing import Protocol, TextIO

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.text import Text

from synth.engine.budget import Budget
from synth.engine.forecast import Forecast, forecast
from synth.engine.numbers import short_duration
from synth.engine.tally import RunCounts, played, tokens_of
from synth.schemas.printable import between_words, printable
from synth.schemas.trajectory import Trajectory, Usage

PLAIN_EVERY_S = 10.0
SHOWN_EVERY = 10
"""Turns from one update of the bar to the next: it costs as much as a step of a fast world."""
ENOUGH_DONE, ENOUGH_S = 0.05, 5.0
"""Share of the units, and seconds, from which on the time left is told: the first to end are the
short ones.
"""


class Progress(Protocol):
    """Told what happens; shows it on stderr."""

    def say(self, line: str) -> None: ...
    def start(self, stage: str, total: int, unit: str, budget: Budget | None = None) -> None: ...
    def turned(self, usage: Usage | None) -> None: ...
    def spoke(self, usage: Usage) -> None: ...
    def replayed(self, usage: Usage) -> None: ...
    def advance(self, attempts: Sequence[Trajectory]) -> None: ...
    def step(self, count: int) -> None: ...
    def committed(self, count: int) -> None: ...
    def stop(self, *, whole: bool = False) -> None: ...


def time_left(done: int, total: int, took_s: float) -> str:
    """For instance: about 7 min left; nothing where too little is done to tell."""
    if not 0 < done < total or done < ENOUGH_DONE * total or took_s < ENOUGH_S:
        return ""
    return f"about {short_duration(took_s / done * (total - done))} left"


def done_again(stage: str, committed: int, again: int, unit: str) -> str:
    """What is told where a stage was interrupted before all that had ended was committed."""
    return (
        f"{stage}: {committed:,} {unit} are committed; {again:,} more had ended and are done "
        "again (replies of models are kept)"
    )


class _Bar(Bar):
    """A bar with lines below it."""

    below: Sequence[Text] = ()

    def get_renderables(self) -> Iterable[RenderableType]:
        """The bar and its lines."""
        yield self.make_tasks_table(self.tasks)
        yield from self.below


class LiveProgress:
    """A progress bar on a terminal; below it what has come of it so far, and what is still to be
    expected.
    """

    def __init__(self, stream: TextIO) -> None:
        columns = (
            TextColumn("{task.description}", style="bold", markup=False),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TextColumn("{task.fields[unit]}", markup=False),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}", markup=False),
        )
        self._bar = _Bar(*columns, console=Console(file=stream), transient=True)
        self._tally = RunCounts()
        self._budget: Budget | None = None
        self._forecast: Forecast | None = None
        self._began = 0.0
        self._task: TaskID | None = None

    def say(self, line: str) -> None:
        """A line above the bar, broken between words."""
        console = self._bar.console
        console.print(
            between_words(printable(line), console.width),
            markup=False,
            highlight=False,
            soft_wrap=True,
        )

    def start(self, stage: str, total: int, unit: str, budget: Budget | None = None) -> None:
        """A stage begins; with a `budget` its ceilings are looked at."""
        self._tally, self._budget, self._forecast = RunCounts(), budget, None
        self._bar.below, self._began = (), time.monotonic()
        self._bar.start()
        self._task = self._bar.add_task(
            printable(stage), total=total or None, unit=printable(unit), left=""
        )

    def turned(self, usage: Usage | None) -> None:
        """One turn was taken."""
        self._tally.turn(usage)
        if self._task is not None and self._tally.turns % SHOWN_EVERY == 1:
            self._show_tally()

    def spoke(self, usage: Usage) -> None:
        """The model that plays the user has replied."""
        self._tally.spoke(usage)

    def replayed(self, usage: Usage) -> None:
        """So much of what is to come has been answered before, and lies in the journal."""
        self._tally.replayed_tokens += tokens_of(usage)

    def advance(self, attempts: Sequence[Trajectory]) -> None:
        """One slot was tried; it is done if it has a valid attempt."""
        self._tally.add(attempts)
        if self._task is not None:
            task = self._bar.tasks[self._bar.task_ids.index(self._task)]
            room = self._budget.room() if self._budget is not None else ()
            self._forecast = forecast(
                self._tally, int(task.total or 0), time.monotonic() - self._began, room
            )
        self.step(int(played(attempts)))

    def step(self, count: int) -> None:
        """Some units are done."""
        if self._task is None:
            return
        task = self._bar.tasks[self._bar.task_ids.index(self._task)]
        left = time_left(
            int(task.completed) + count + self._tally.unplayed,
            int(task.total or 0),
            task.elapsed or 0.0,
        )
        self._bar.update(self._task, advance=count, left=left)
        self._show_tally()

    def committed(self, count: int) -> None:
        """The stage is interrupted; what was told as done beyond `count` is done again."""
        if self._task is None:
            return
        task = self._bar.tasks[self._bar.task_ids.index(self._task)]
        again = int(task.completed) - count
        if again > 0:
            self._bar.update(self._task, completed=count)
            self.say(done_again(task.description, count, again, task.fields["unit"]))

    def _show_tally(self) -> None:
        lines = [Text(printable(self._tally.line(live=True)), overflow="ellipsis", no_wrap=True)]
        if self._forecast is not None:
            lines.append(Text(f"expected for all: {self._forecast.expected()}", style="dim"))
            warning = self._forecast.warning()
            lines += [Text(warning, style="yellow")] if warning is not None else []
        self._bar.below = lines

    def stop(self, *, whole: bool = False) -> None:
        """The stage is over; a line of what it did stays."""
        if self._task is not None:
            task = self._bar.tasks[self._bar.task_ids.index(self._task)]
            done, took = int(task.completed), task.elapsed or 0.0
            self._bar.remove_task(self._task)
            self._bar.below = ()
            self._task = None
            self.say(
                f"{task.description}: {done} {task.fields['unit']} in {took:.1f} "
                f"s{self._tally.ending()}"
            )
        self._bar.stop()


class PlainProgress:
    """A line now and then, for logs."""

    def __init__(self, stream: TextIO, *, quiet: bool = False) -> None:
        self._stream = stream
        self._quiet = quiet
        self._tally = RunCounts()
        self._stage, self._unit = "", ""
        self._done = self._total = 0
        self._began = self._said = 0.0
        self._budget: Budget | None = None
        self._foretold = False

    def say(self, line: str) -> None:
        """One line."""
        if not self._quiet:
            print(printable(line), file=self._stream, flush=True)

    def start(self, stage: str, total: int, unit: str, budget: Budget | None = None) -> None:
        """A stage begins; with a `budget` its ceilings are looked at."""
        self._stage, self._total, self._unit = stage, total, unit
        self._tally, self._done = RunCounts(), 0
        self._budget, self._foretold = budget, False
        self._began = self._said = time.monotonic()

    def turned(self, usage: Usage | None) -> None:
        """One turn was taken."""
        self._tally.turn(usage)
        self._say_now_and_then()

    def spoke(self, usage: Usage) -> None:
        """The model that plays the user has replied."""
        self._tally.spoke(usage)

    def replayed(self, usage: Usage) -> None:
        """So much of what is to come has been answered before, and lies in the journal."""
        self._tally.replayed_tokens += tokens_of(usage)

    def advance(self, attempts: Sequence[Trajectory]) -> None:
        """One slot was tried; it is done if it has a valid attempt."""
        self._tally.add(attempts)
        if not self._foretold and not self._quiet:
            room = self._budget.room() if self._budget is not None else ()
            found = forecast(self._tally, self._total, time.monotonic() - self._began, room)
            if found is not None:
                self._foretold = True
                self.say(f"{self._stage}: {found.line()}")
        self.step(int(played(attempts)))

    def step(self, count: int) -> None:
        """Some units are done; says so every ten seconds."""
        self._done += count
        self._say_now_and_then()

    def committed(self, count: int) -> None:
        """The stage is interrupted; what was told as done beyond `count` is done again."""
        again = self._done - count
        if again > 0:
            self._done = count
            self.say(done_again(self._stage, count, again, self._unit))

    def _say_now_and_then(self) -> None:
        now = time.monotonic()
        if now - self._said < PLAIN_EVERY_S:
            return
        self._said = now
        of = f"/{self._total}" if self._total else ""
        left = time_left(self._done + self._tally.unplayed, self._total, now - self._began)
        self.say(
            f"{self._stage}: {self._done}{of} "
            f"{self._unit}{', ' if left else ''}{left}{self._tally.ending(live=True)}"
        )

    def stop(self, *, whole: bool = False) -> None:
        """The stage is over; one that was done to its end may have had less to do than it was
        planned to have at most.
        """
        if self._done or self._tally.turns or self._tally.outcomes:
            took = time.monotonic() - self._began
            of = f"/{self._total}" if self._total and not whole else ""
            self.say(
                f"{self._stage}: {self._done}{of} {self._unit} in {took:.1f} "
                f"s{self._tally.ending()}"
            )


def progress_for(stream: TextIO | None = None, *, quiet: bool = False) -> Progress:
    """A bar on a terminal, plain lines elsewhere, nothing when quiet."""
    stream = stream or sys.stderr
    if quiet or not stream.isatty():
        return PlainProgress(stream, quiet=quiet)
    return LiveProgress(stream)
