"""The funnel: what went in at each stage, what came out, and why the rest did not."""

from collections.abc import Iterator, Mapping

import msgspec

from synth.engine.table import Table
from synth.ledger.log.manifest import Json
from synth.schemas import in_markdown

Report = Json
Reports = Mapping[str, Report]


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


def _tasks(name: str, report: Report) -> Iterator[FunnelRow]:
    yield FunnelRow(name, "tasks", report["count"], report["count"], "")


def _episodes(name: str, report: Report) -> Iterator[FunnelRow]:
    outcomes = dict(report["outcomes"])
    total = sum(outcomes.values())
    invalid = outcomes.pop("invalid", 0)
    reasons = _reasons(("", outcomes), ("faults: ", report["faults"] if invalid else {}))
    yield FunnelRow(name, "attempts", total, total - invalid, reasons)


def _filter(name: str, report: Report) -> Iterator[FunnelRow]:
    """A line per filter with what it alone would drop, and one for all of them; notes stand at the
    last.
    """
    notes = _notes(report)
    several = len(report["filters"]) > 1

    for one in report["filters"]:
        dropped, undefined = one["dropped"], one["undefined"]
        went_on = sum(one["kept"].values()) + sum(undefined.values())
        yield FunnelRow(
            f"{name} {one['name']}",
            "trajectories",
            went_on + sum(dropped.values()),
            went_on,
            _reasons(("dropped: ", dropped), ("undefined: ", undefined)),
            () if several else notes,
        )

    if several:
        stage, total = f"{name}, all together", report["total"]
        yield FunnelRow(stage, "trajectories", total, report["kept"], "", notes)


def _export(name: str, report: Report) -> Iterator[FunnelRow]:
    for folder, dataset in report["datasets"].items():
        rows, left_out, trained = dataset["rows"], dataset["left_out"], dataset["trained_turns"]
        reasons = [_reasons(("left out: ", left_out))] if left_out else []
        if not rows:
            reasons.append(f"no rows: {dataset['empty']}" if dataset.get("empty") else "no rows")
        elif trained:
            reasons.append(f"{trained:,} turns carry loss")
        came_in = rows + sum(left_out.values())
        yield FunnelRow(f"{name} {folder}", "rows", came_in, rows, "; ".join(reasons))


def _calibration(name: str, report: Report) -> Iterator[FunnelRow]:
    low, high = report["interval"]
    reasons = f"for {report['target_pass_rate']:g} of {report['against']}: "
    if report["finished"]:
        reasons += (
            f"level {report['level']:g}, {report['pass_rate']:.2f} expected ({low:.2f} to "
            f"{high:.2f}){'' if report['reached'] else '; not reached'}"
        )
    else:
        reasons += "not finished"

    played, faults = report["episodes"], report["faults"]
    reasons += f"; {faults:,} ended in faults" if faults else ""
    yield FunnelRow(name, "episodes", played + faults, played, reasons)


def _method(name: str, report: Report) -> Iterator[FunnelRow]:
    """What a method attempted, what stood up to its tests, and why the rest did not; what it has to
    say beside that are notes.
    """
    reasons = _reasons(("rejected: ", report["rejected"]))
    tried, verified = report["attempted"], report["verified"]
    yield FunnelRow(name, report["unit"], tried, verified, reasons, _notes(report))


def _selection(name: str, report: Report) -> Iterator[FunnelRow]:
    """A line for each kind of dataset that was selected for."""
    for part in report["parts"]:
        yield from _method(f"{name} {part['for']}", part)


def _nothing(name: str, report: Report) -> Iterator[FunnelRow]:
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


def _notes(report: Report) -> tuple[str, ...]:
    return tuple(map(str, report.get("also", ())))


def _reasons(*found: tuple[str, Mapping[str, int]]) -> str:
    """Counts with what they are counts of, without those that are empty."""
    return "; ".join(f"{what}{counted(counts)}" for what, counts in found if counts)


def counted(counts: Mapping[str, int]) -> str:
    """For instance: 190 failure, 3 truncated (the largest first)."""
    largest = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count:,} {name}" for name, count in largest)


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
