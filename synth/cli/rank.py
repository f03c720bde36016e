"""`synth rank`: which teacher, method or policy a student would learn most from."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from synth.cli.options import command, open_run, tell, tell_json

if TYPE_CHECKING:
    from synth import Interval, Ranking

HEAD = ("RSR", "95 %", "of decisions", "trajectories", "tasks", "tokens", "above the first")


@command
def rank(run: str, by: str, student: str | None, seed: int, as_json: bool) -> None:
    """Rank sources by the rank-surprisal ratio that the filter rank_surprisal has measured: lower
    suits the student better.

    \b
    Example:  synth rank runs/mine --by synthesizer
    """
    import msgspec

    from synth import rank as ranked

    found, who = ranked(open_run(run), by=by, student=student, seed=seed)
    if as_json:
        said = {"student": who, "by": by, **msgspec.to_builtins(found), "proxies": found.proxies}
        tell_json(said)
        return
    for line in _lines(who, by, found):
        tell(line)


def _lines(student: tuple[str, str | None, str, int], by: str, found: "Ranking") -> Iterator[str]:
    """Student, table, what was not scored, and what the ratio may stand for."""
    model, weights, template, cap = student
    yield (
        f"rank-surprisal ratio under {model} (weights {weights}, template {template[:12]}, "
        f"ranks to {cap}); lower suits it better"
    )
    cells = [(by, *HEAD), *(_cells(source, at) for at, source in enumerate(found.sources))]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for name, *rest in cells:
        numbers = (cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))
        yield "  ".join([name.ljust(widths[0]), *numbers])
    for source in found.sources:
        if source.not_scored:
            reasons = sorted(source.not_scored.items())
            said = ", ".join(f"{count:,} {why}" for why, count in reasons)
            yield f"{source.name}: not scored: {said}"
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


def _cells(source: Any, at: int) -> tuple[str, ...]:
    return (
        source.name,
        "none" if source.ratio is None else f"{source.ratio.value:.3f}",
        _span(source.ratio),
        "none" if source.decision is None else f"{source.decision:.3f}",
        *(f"{count:,}" for count in (source.trajectories, source.tasks, source.tokens)),
        _above(source.above_first, source.shared_tasks) if at else "",
    )


def _span(interval: "Interval | None") -> str:
    if interval is None or interval.low is None or interval.high is None:
        return "unknown"
    return f"{interval.low:.3f} to {interval.high:.3f}"


def _above(value: "Interval | None", tasks: int) -> str:
    if value is None:
        return "no shared task"
    if value.low is None:
        return f"{value.value:+.3f} (1 shared task)"
    verdict = "" if value.low > 0 else ", not shown"
    return f"{value.value:+.3f} [{value.low:+.3f}, {value.high:+.3f}] on {tasks:,} tasks{verdict}"
