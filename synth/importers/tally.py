"""What an import found, counted: trajectories by format and outcome, rejections by reason."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from synth.importers.records import Rejection, Replaced
from synth.schemas.trajectory import Trajectory

SHOWN = 100_000
"""Rejections kept whole; beyond that they are counted only."""


@dataclass(slots=True)
class FileTally:
    """One file, while it is read: nothing of it counts before it is whole."""

    formats: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    reasons: Counter[str] = field(default_factory=Counter)
    rejections: list[Rejection] = field(default_factory=list)
    benchmarks: set[str] = field(default_factory=set)
    marks: int = 0
    replaced: list[Replaced] = field(default_factory=list)
    """Of each file with lone surrogates."""

    def add(self, trajectory: Trajectory, marks: int) -> None:
        """Counts a trajectory that comes in."""
        counts = self.formats[format_name(trajectory)]
        turns = trajectory.turns
        counts.update(
            trajectories=1, turns=len(turns), tool_calls=sum(len(turn.tool_calls) for turn in turns)
        )
        counts[trajectory.outcome.value] += 1
        self.marks += marks
        if trajectory.benchmark is not None:
            self.benchmarks.add(trajectory.benchmark)

    def end(self, before: Trajectory, ended: Trajectory) -> None:
        """Counts a trajectory that came in, but could not be held as it was, under its new
        outcome.
        """
        counts = self.formats[format_name(before)]
        turns = len(ended.turns) - len(before.turns)
        calls = sum(len(turn.tool_calls) for turn in before.turns[len(ended.turns) :])
        counts.update({"turns": turns, "tool_calls": -calls, before.outcome.value: -1})
        counts[ended.outcome.value] += 1

    def present(self, trajectory: Trajectory) -> None:
        """Counts a trajectory that is in the ledger already."""
        self.formats[format_name(trajectory)]["present"] += 1

    def reject(self, rejection: Rejection) -> None:
        """Counts what does not come in."""
        self.reasons[rejection.reason] += 1
        if len(self.rejections) < SHOWN:
            self.rejections.append(rejection)

    @property
    def trajectories(self) -> int:
        """How many came in."""
        return sum(counts["trajectories"] for counts in self.formats.values())


@dataclass(slots=True)
class ImportTally(FileTally):
    """All files of an import together."""

    files: int = 0

    def take(self, file: FileTally) -> None:
        """Adds a file that is whole, or refused."""
        self.files += 1
        for name, counts in file.formats.items():
            self.formats[name].update(counts)
        self.reasons.update(file.reasons)
        self.rejections.extend(file.rejections[: max(0, SHOWN - len(self.rejections))])
        self.benchmarks |= file.benchmarks
        self.marks += file.marks
        self.replaced += file.replaced

    def total(self, names: Iterable[str]) -> int:
        """Sum of some counts over all formats."""
        return sum(counts[name] for counts in self.formats.values() for name in names)


def format_name(trajectory: Trajectory) -> str:
    """The format that an imported trajectory was in."""
    return (trajectory.source or "unknown").split(":", 1)[0]
