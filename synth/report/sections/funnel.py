"""The funnel: what went into each stage, what went on, and why the rest did not."""

from collections.abc import Mapping
from typing import Any

from synth.engine.funnel import funnel_notes, funnel_table
from synth.engine.runs.stage_reports import episodes_report
from synth.engine.table import Table
from synth.ledger.ledger import StoredLedger
from synth.ledger.log.state import IMPORT
from synth.report.browser.stand_ins import StandIns
from synth.report.section import Section
from synth.schemas import in_html


def reports(ledger: StoredLedger) -> Mapping[str, Mapping[str, Any]]:
    """What the current flow's stages have reported, in their order, after what was imported."""
    found: dict[str, Mapping[str, Any]] = {}
    if any(shard.stage == IMPORT for shard in ledger.state.shards):
        found[IMPORT] = {**episodes_report(ledger, IMPORT), "kind": "imported"}
    for name, line in ledger.state.stages.items():
        report = ledger.state.done.get((name, line.stage_key))
        if report is not None:
            found[name] = report
    return found


def render(ledger: StoredLedger, stand_ins: StandIns) -> str | None:
    """The table that a run ends with."""
    listed = funnel_table(reports(ledger))
    if not listed.rows:
        return None
    notes = "".join(
        f"<li><b>{in_html(stage)}</b>: {in_html(said)}</li>"
        for stage, said in funnel_notes(reports(ledger))
    )
    named = Table("What went into each stage and what went on", listed.columns, listed.rows)
    return named.html() + (f'<ul class="quiet">{notes}</ul>' if notes else "")


SECTION = Section("Funnel", render)
