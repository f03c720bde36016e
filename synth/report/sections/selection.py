"""Selection: what the data set is made of, before rows or tasks were chosen and after."""

from collections.abc import Mapping
from typing import Any

from synth.engine.table import Table
from synth.ledger.ledger import StoredLedger
from synth.report.browser.stand_ins import StandIns
from synth.report.section import Section, paragraph, quiet
from synth.report.sections.funnel import reports

SHOWN = 40
UNITS = {"sft": "loss (characters)", "rl": "tasks"}
COLUMNS = ("trait", "value", "before", "share before", "after", "share after")


def render(ledger: StoredLedger, stand_ins: StandIns) -> str | None:
    """A table for each kind of data set that was selected for, with shares in percent."""
    found = [
        _table(name, part)
        for name, report in reports(ledger).items()
        if report["kind"] == "selection"
        for part in report["parts"]
    ]
    return "".join(found) or None


def _table(name: str, part: Mapping[str, Any]) -> str:
    kind, after = part["for"], part["composition"]["after"]
    title = (
        f"{name}, for {kind}: {part['verified']:,} of {part['attempted']:,} {part['unit']}, "
        f"by {UNITS[kind]}"
    )
    rows = [
        (trait, value, *_counted(count, counts), *_counted(left.get(value, 0), left))
        for trait, counts in part["composition"]["before"].items()
        for left in [after.get(trait, {})]
        for value, count in sorted(counts.items(), key=lambda item: -item[1])
    ]
    if not rows:
        return paragraph(f"{title}: nothing to choose from.")

    beyond = len(rows) - SHOWN
    more = quiet(f"{beyond} more lines stand in the stage's report.") if beyond > 0 else ""
    return Table(title, COLUMNS, rows[:SHOWN]).html() + more


def _counted(count: int, counts: Mapping[str, int]) -> tuple[str, str]:
    """A count, and its share of all."""
    total = sum(counts.values())
    return f"{count:,}", f"{count / total:.0%}" if total else "-"


SECTION = Section("Selection", render)
