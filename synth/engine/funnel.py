"""The funnel: what went in at each stage, what came out, and why the rest did not."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from synth.engine.table import Table
from synth.schemas.printable import in_markdown

Reports = Mapping[str, Mapping[str, Any]]


class FunnelRow(msgspec.Struct, frozen=True):
    """One line: a stage, how many units came in and went on, the reasons for the difference, and
    what else is worth knowing.
    """

    stage: str
    unit: str
    came_in: int
    went_on: int
    reasons: str
    notes: tuple[str, ...] = ()


def funnel(reports: Reports) -> Iterator[FunnelRow]:
    """The rows of the table, from the stages' reports in their order."""
    for name, report in reports.items():
        yield from _ROWS[report["kind"]](name, report)


def _tasks(name: str, report: Mapping[str, Any]) -> Iterator[FunnelRow]:
    yield FunnelRow(name, "tasks", report["count"], report["count"], "")


def _episodes(name: str, report: Mapping[str, Any]) -> Iterator[FunnelRow]:
    outcomes = dict(report["outcomes"])
    total = sum(outcomes.values())
    invalid = outcomes.pop("invalid", 0)
    reasons = [counted(outcomes)] if outcomes else []
    reasons += [f"faults: {counted(report['faults'])}"] if invalid else []
    yield FunnelRow(name, "attempts", total, total - invalid, "; ".join(reasons))


def _filter(name: str, report: Mapping[str, Any]) -> Iterator[FunnelRow]:
    """A line per filter with what it alone would drop, and one for all of them; notes stand at the
    last.
    """
    notes = tuple(map(str, report.get("also", ())))
    several = len(report["filters"]) > 1
    for counts in report["filters"]:
        kept, dropped, undefined = (
            sum(counts[key].values()) for key in ("kept", "dropped", "undefined")
        )
        reasons = [f"dropped: {counted(counts['dropped'])}"] if dropped else []
        reasons += [f"undefined: {counted(counts['undefined'])}"] if undefined else []
        came_in, told = kept + dropped + undefined, () if several else notes
        yield FunnelRow(
            f"{name} {counts['name']}",
            "trajectories",
            came_in,
            kept + undefined,
            "; ".join(reasons),
            told,
        )
    if several:
        yield FunnelRow(
            f"{name}, all together", "trajectories", report["total"], report["kept"], "", notes
        )


def _export(name: str, report: Mapping[str, Any]) -> Iterator[FunnelRow]:
    for folder, dataset in report["datasets"].items():
        left_out = dataset["left_out"]
        reasons = [f"left out: {counted(left_out)}"] if left_out else []
        if dataset["trained_turns"] or not dataset["rows"]:
            why = f"no rows: {dataset['empty']}" if dataset.get("empty") else "no rows"
            reasons += [
                f"{dataset['trained_turns']:,} turns carry loss" if dataset["rows"] else why
            ]
        yield FunnelRow(
            f"{name} {folder}",
            "rows",
            dataset["rows"] + sum(left_out.values()),
            dataset["rows"],
            "; ".join(reasons),
        )


def _calibration(name: str, report: Mapping[str, Any]) -> Iterator[FunnelRow]:
    low, high = report["interval"]
    reasons = [f"for {report['target_pass_rate']:g} of {report['against']}: "]
    if report["finished"]:
        reasons[0] += (
            f"level {report['level']:g}, {report['pass_rate']:.2f} expected ({low:.2f} to "
            f"{high:.2f})"
        )
        reasons += [] if report["reached"] else ["not reached"]
    else:
        reasons[0] += "not finished"
    reasons += [f"{report['faults']:,} ended in faults"] if report["faults"] else []
    yield FunnelRow(
        name,
        "episodes",
        report["episodes"] + report["faults"],
        report["episodes"],
        "; ".join(reasons),
    )


def _method(name: str, report: Mapping[str, Any]) -> Iterator[FunnelRow]:
    """What a method attempted, what stood up to its tests, and why the rest did not; what it has to
    say beside that are notes.
    """
    reasons = f"rejected: {counted(report['rejected'])}" if report["rejected"] else ""
    yield FunnelRow(
        name,
        report["unit"],
        report["attempted"],
        report["verified"],
        reasons,
        tuple(map(str, report.get("also", ()))),
    )


def _selection(name: str, report: Mapping[str, Any]) -> Iterator[FunnelRow]:
    """A line for each kind of dataset that was selected for."""
    for part in report["parts"]:
        yield from _method(f"{name} {part['for']}", part)


def _nothing(name: str, report: Mapping[str, Any]) -> Iterator[FunnelRow]:
    """Of a stage that works on no units."""
    return iter(())


_ROWS = {
    "method": _method,
    "selection": _selection,
    "report": _nothing,
    "calibration": _calibration,
    "tasks": _tasks,
    "imported": _episodes,
    "episodes": _episodes,
    "filter": _filter,
    "export": _export,
}


def counted(counts: Mapping[str, int]) -> str:
    """For instance: 190 failure, 3 truncated (the largest first)."""
    return ", ".join(
        f"{count:,} {name}"
        for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )


def funnel_table(reports: Reports) -> Table:
    """What went into each stage and what went on, with the reasons for the difference."""
    rows = tuple(
        (row.stage, f"{row.came_in:,}", f"{row.went_on:,}", row.unit, row.reasons)
        for row in funnel(reports)
    )
    return Table("Funnel", ("stage", "in", "kept", "unit", "reasons"), rows)


def funnel_notes(reports: Reports) -> Iterator[tuple[str, str]]:
    """(stage, what it has to say beside its line), for below the table."""
    for row in funnel(reports):
        if row.notes:
            yield row.stage, "; ".join(row.notes)


def funnel_markdown(reports: Reports) -> str:
    """For reports and artifacts."""
    notes = [f"- {in_markdown(f'{stage}: {said}')}\n" for stage, said in funnel_notes(reports)]
    return "".join([funnel_table(reports).markdown(), *(["\n"] if notes else []), *notes])
