"""Figures, their targets, and the table that shows both."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from benchmarks.machine import CpuOfOthers


@dataclass(frozen=True, slots=True)
class Target:
    """What a figure must reach, or must not pass."""

    sense: Literal["at least", "at most"]
    bound: float

    def holds(self, value: float) -> bool:
        """Whether a value meets it."""
        return value >= self.bound if self.sense == "at least" else value <= self.bound


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number with its unit; without a target it is only reported."""

    name: str
    value: float
    unit: str = ""
    target: Target | None = None

    @property
    def missed(self) -> bool:
        """Whether it has a target and does not meet it."""
        return self.target is not None and not self.target.holds(self.value)

    def cells(self) -> tuple[str, str, str]:
        """As the table shows it."""
        if self.target is None:
            return self.name, with_unit(self.value, self.unit), ""
        verdict = "MISSED" if self.missed else "holds"
        return (
            self.name,
            with_unit(self.value, self.unit),
            f"{self.target.sense} {with_unit(self.target.bound, self.unit)}: {verdict}",
        )


@dataclass(frozen=True, slots=True)
class Report:
    """All figures of one benchmark."""

    title: str
    figures: Sequence[Figure]
    how: str
    """What was run, how often, and which of the runs the figures are."""

    @property
    def missed(self) -> list[Figure]:
        """Figures that do not meet their targets."""
        return [figure for figure in self.figures if figure.missed]


def with_unit(value: float, unit: str) -> str:
    """Three significant digits, or whole numbers from 100 on."""
    whole = value == int(value) or abs(value) >= 100
    return f"{value:,.0f} {unit}".strip() if whole else f"{value:.3g} {unit}".strip()


def table(report: Report, others: float) -> str:
    """The report as a Markdown table; `others` = cores that other processes kept busy meanwhile."""
    rows = [("figure", "value", "target"), *(figure.cells() for figure in report.figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    noise = f"Other processes kept {others:.2f} cores busy meanwhile."
    if others > 0.2:
        noise += " More than 0.2: absolute figures are too low, run again on a quiet machine."
    return "\n".join([f"## {report.title}", "", *lines, "", report.how, noise])


def shown(report: Report, others: CpuOfOthers) -> int:
    """Prints the table; the exit code is 1 where a target is missed."""
    print(table(report, others.cores()), flush=True)
    return 1 if report.missed else 0
