"""The ranking of sources as lines of text."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from synth.filters.rank_surprisal.sources import Interval, Ranking, Source

HEAD = ("", "RSR", "95 %", "of decisions", "trajectories", "tasks", "tokens", "above the first")


def lines(student: tuple[str, str | None, str, int], by: str, found: "Ranking") -> Iterator[str]:
    """Student, table, what was not scored, and what the ratio may stand for."""
    model, weights, template, cap = student
    yield (
        f"rank-surprisal ratio under {model} (weights {weights}, template {template[:12]}, "
        f"ranks to {cap}); lower suits it better"
    )
    cells = [
        (by, *HEAD[1:]),
        *(_cells(source, number) for number, source in enumerate(found.sources)),
    ]
    widths = [max(len(row[column]) for row in cells) for column in range(len(HEAD))]
    for row in cells:
        yield "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
    for source in found.sources:
        if source.not_scored:
            yield f"{source.name}: not scored: {_counted(source.not_scored)}"
    known = [
        f"{name} {'unknown' if rho is None else f'{rho:+.2f}'}"
        for name, rho in found.correlations.items()
    ]
    yield f"rank correlation of RSR over trajectories: {', '.join(known)}"
    if found.proxies:
        yield (
            f"RSR is a length proxy here: it goes with {' and '.join(found.proxies)}; compare "
            "sources of like length, or by decisions"
        )


def _cells(source: "Source", number: int) -> tuple[str, ...]:
    return (
        source.name,
        "none" if source.ratio is None else f"{source.ratio.value:.3f}",
        _span(source.ratio),
        "none" if source.decision is None else f"{source.decision:.3f}",
        f"{source.trajectories:,}",
        f"{source.tasks:,}",
        f"{source.tokens:,}",
        "" if number == 0 else _above(source),
    )


def _span(interval: "Interval | None") -> str:
    if interval is None or interval.low is None or interval.high is None:
        return "unknown"
    return f"{interval.low:.3f} to {interval.high:.3f}"


def _above(source: "Source") -> str:
    if source.above_first is None:
        return "no shared task"
    value = source.above_first
    if value.low is None:
        return f"{value.value:+.3f} (1 shared task)"
    verdict = "" if value.low > 0 else ", not shown"
    return (
        f"{value.value:+.3f} [{value.low:+.3f}, {value.high:+.3f}] on {source.shared_tasks:,} "
        f"tasks{verdict}"
    )


def _counted(reasons: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {why}" for why, count in sorted(reasons.items()))
