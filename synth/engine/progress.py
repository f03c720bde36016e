"""What a person sees while a stage runs: a live line on a terminal, plain lines elsewhere, nothing
when quiet.
"""

import sys
import time
from collections.abc import Iterable, Sequence
from typing import TextIO

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.text import Text

from synth.engine.budget import Budget
from synth.engine.forecast import Forecast, forecast
from synth.engine.numbers import short_duration
from synth.engine.tally import RunCounts, played, tokens_of
from synth.schemas import Outcome, Trajectory, Usage, between_words, printable

PLAIN_EVERY_S = 10.0
ENOUGH_DONE, ENOUGH_S = 0.05, 5.0
"""Share of the units, and seconds, from which on a line says the time left: the first to end are
the short ones.
"""


def time_left(done: int, total: int, took_s: float) -> str:
    """For instance: about 7 min left; nothing where too little is done to tell."""
    if not 0 < done < total or done < ENOUGH_DONE * total or took_s < ENOUGH_S:
        return ""
    return f"about {short_duration(took_s / done * (total - done))} left"


class PlainProgress:
    """Told what happens: keeps the counts of the stage under way, for the worker's record too, and
    says a line now and then, for logs.
    """

    shown_every = 1
    """Turns."""

    def __init__(self, stream: TextIO, *, quiet: bool = False) -> None:
        self._stream, self._quiet = stream, quiet
        self._stage = self._unit = ""
        self._done = self._total = 0
        self._tally = RunCounts()
        self._budget: Budget | None = None
        self._forecast: Forecast | None = None
        self._began = self._said = 0.0
        self._moved = time.time()

    def record(self) -> dict[str, object]:
        """What the worker's record says of the stage under way."""
        return {
            "stage": self._stage,
            "done": self._done,
            "total": self._total,
            "unit": self._unit,
            "faults": self._tally.outcomes[Outcome.INVALID],
            "moved": self._moved,
        }

    def say(self, line: str) -> None:
        """One line."""
        if not self._quiet:
            print(printable(line), file=self._stream, flush=True)

    def start(self, stage: str, total: int, unit: str, budget: Budget | None = None) -> None:
        """A stage begins; with a `budget` its ceilings are looked at."""
        self._stage, self._total, self._unit, self._done = stage, total, unit, 0
        self._tally, self._budget, self._forecast = RunCounts(), budget, None
        self._began = self._said = time.monotonic()
        self._moved = time.time()

    def turned(self, usage: Usage | None) -> None:
        """One turn was taken."""
        self._moved = time.time()
        self._tally.turn(usage)
        if self._tally.turns % self.shown_every == 0:
            self._show()

    def spoke(self, usage: Usage, role: str) -> None:
        """The model that plays the user, or a role, has replied."""
        self._moved = time.time()
        self._tally.spoke(usage, role)

    def replayed(self, usage: Usage) -> None:
        """So much of what is to come has been answered before, and lies in the journal."""
        self._tally.replayed_tokens += tokens_of(usage)

    def advance(self, attempts: Sequence[Trajectory]) -> None:
        """One slot was tried; it is done if it has a valid attempt."""
        self._tally.add(attempts)
        room = self._budget.room() if self._budget is not None else ()
        found = forecast(self._tally, self._total, time.monotonic() - self._began, room)
        if found is not None and self._forecast is None:
            self._announce(found)
        self._forecast = found or self._forecast
        self.step(int(played(attempts)))

    def step(self, count: int) -> None:
        """Some units are done."""
        self._moved = time.time()
        self._done += count
        self._show()

    def committed(self, count: int) -> None:
        """The stage is interrupted; what was told as done beyond `count` is done again."""
        again = self._done - count
        if again > 0:
            self._done = count
            self.say(
                f"{self._stage}: {count:,} {self._unit} are committed; {again:,} more had ended "
                "and are done again (replies of models are kept)"
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

    def _left(self) -> str:
        tried, took_s = self._done + self._tally.unplayed, time.monotonic() - self._began
        return time_left(tried, self._total, took_s)

    def _announce(self, found: Forecast) -> None:
        self.say(f"{self._stage}: {found.line()}")

    def _show(self) -> None:
        now = time.monotonic()
        if self._quiet or now - self._said < PLAIN_EVERY_S:
            return
        self._said = now
        of, left = f"/{self._total}" if self._total else "", self._left()
        self.say(
            f"{self._stage}: {self._done}{of} {self._unit}{', ' if left else ''}{left}"
            f"{self._tally.ending(live=True)}"
        )


Progress = PlainProgress
"""What stages tell; a terminal shows it otherwise."""


class _Bar(Bar):
    """A bar with lines below it."""

    below: Sequence[Text] = ()

    def get_renderables(self) -> Iterable[RenderableType]:
        """The bar and its lines."""
        yield self.make_tasks_table(self.tasks)
        yield from self.below


class LiveProgress(PlainProgress):
    """A progress bar on a terminal; below it what has come of it so far, and what is still to be
    expected.
    """

    shown_every = 10
    """Turns: to show one costs as much as a step of a fast environment."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        columns = (
            TextColumn("{task.description}", style="bold", markup=False),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TextColumn("{task.fields[unit]}", markup=False),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}", markup=False),
        )
        self._bar = _Bar(*columns, console=Console(file=stream), transient=True)
        self._task: TaskID | None = None

    def say(self, line: str) -> None:
        """A line above the bar, broken between words."""
        console = self._bar.console
        words = between_words(printable(line), console.width)
        console.print(words, markup=False, highlight=False, soft_wrap=True)

    def start(self, stage: str, total: int, unit: str, budget: Budget | None = None) -> None:
        """A stage begins; with a `budget` its ceilings are looked at."""
        super().start(stage, total, unit, budget)
        self._bar.below = ()
        self._bar.start()
        self._task = self._bar.add_task(
            printable(stage), total=total or None, unit=printable(unit), left=""
        )

    def stop(self, *, whole: bool = False) -> None:
        """The stage is over; a line of what it did stays."""
        if self._task is not None:
            self._bar.remove_task(self._task)
            self._bar.below, self._task = (), None
            super().stop(whole=True)
        self._bar.stop()

    def _announce(self, found: Forecast) -> None:
        """It stands below the bar."""

    def _show(self) -> None:
        if self._task is None:
            return
        self._bar.update(self._task, completed=self._done, left=self._left())
        lines = [Text(printable(self._tally.line(live=True)), overflow="ellipsis", no_wrap=True)]
        if self._forecast is not None:
            lines.append(Text(f"expected for all: {self._forecast.expected()}", style="dim"))
            warning = self._forecast.warning()
            lines += [Text(warning, style="yellow")] if warning is not None else []
        self._bar.below = lines


def progress_for(stream: TextIO | None = None, *, quiet: bool = False) -> Progress:
    """A bar on a terminal, plain lines elsewhere, nothing when quiet."""
    stream = stream or sys.stderr
    if quiet or not stream.isatty():
        return PlainProgress(stream, quiet=quiet)
    return LiveProgress(stream)
