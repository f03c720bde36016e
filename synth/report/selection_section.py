"""Selection: what the data set is made of, before rows or tasks were chosen and after."""

from collections.abc import Mapping
from typing import Any

from synth.engine.table import Table
from synth.ledger.ledger import Ledger
from synth.report.browser.stand_ins import StandIns
from synth.report.funnel_section import reports
from synth.report.section import Section
from synth.schemas.printable import in_html

SHOWN = 40
UNITS = {"sft": "loss (characters)", "rl": "tasks"}


def render(ledger: Ledger, stand_ins: StandIns) -> str | None:
    """A table for each kind of data set that was selected for, with shares in percent."""
    found = [
        (name, part)
        for name, report in reports(ledger).items()
        if report["kind"] == "selection"
        for part in report["parts"]
    ]
    return "".join(_table(name, part) for name, part in found) or None


def _table(name: str, part: Mapping[str, Any]) -> str:
    before, after = part["composition"]["before"], part["composition"]["after"]
    rows = []
    for trait, counts in before.items():
        left = after.get(trait, {})
        for value, count in sorted(counts.items(), key=lambda item: -item[1]):
            kept = left.get(value, 0)
            rows.append(
                (
                    trait,
                    value,
                    f"{count:,}",
                    _percent(count, counts),
                    f"{kept:,}",
                    _percent(kept, left),
                )
            )
    more = (
        f'<p class="quiet">{len(rows) - SHOWN} more lines stand in the stage\'s report.</p>'
        if len(rows) > SHOWN
        else ""
    )
    unit = UNITS[part["for"]]
    title = (
        f"{name}, for {part['for']}: {part['verified']:,} of {part['attempted']:,} "
        f"{part['unit']}, by {unit}"
    )
    return (
        Table(
            title,
            ("trait", "value", "before", "share before", "after", "share after"),
            rows[:SHOWN],
        ).html()
        + more
        if rows
        else _none(title)
    )


def _none(title: str) -> str:
    return f"<p>{in_html(title)}: nothing to choose from.</p>"


def _percent(count: int, counts: Mapping[str, int]) -> str:
    total = sum(counts.values())
    return f"{count / total:.0%}" if total else "-"


SECTION = Section("Selection", render)
