"""Comparisons of collected trials: how many there are, why others are none, and what chance
gives.
"""

from collections import Counter
from collections.abc import Iterator

from benchmarks.foreign.families import families, imported
from synth.ledger.ledger import StoredLedger
from synth.pairs.labels import PairSettings
from synth.pairs.observed.report import WITHOUT, ObservedReport
from synth.pairs.observed.rows import observed_pairs
from synth.stats.length_balance import length_auc


def lines() -> Iterator[str]:
    """A table in Markdown; families without a task of both outcomes have no line."""
    yield (
        "| family | tasks with both outcomes | with a comparison | comparisons | shuffled "
        "| posterior >= .95 | shuffled | single | across policies | AUC of length | none because |"
    )
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|"
    total = Counter[str]()
    for name in families():
        report = ObservedReport()
        with imported([name]) as url:
            for _ in observed_pairs(StoredLedger(url), PairSettings(allow_benchmark=True), report):
                pass
        total.update(tasks=report.groups, compared=report.compared)
        if report.groups:
            yield _line(name, report)
    yield ""
    yield (
        f"{total['compared']} of {total['tasks']} tasks give a comparison "
        f"({total['compared'] / total['tasks']:.2f}); every other one has its reason."
    )


def _line(name: str, report: ObservedReport) -> str:
    aucs = [
        f"{auc:.2f} {family}"
        for family, lengths in sorted(report.kept.items())
        if (auc := length_auc(lengths)) is not None
    ]
    why = {
        reason.removeprefix(WITHOUT): count
        for reason, count in report.left_out.items()
        if reason.startswith(WITHOUT)
    }
    cells = [
        name,
        report.groups,
        report.compared,
        report.found,
        f"{report.shuffled.pairs:.1f}",
        report.decisive,
        f"{report.shuffled.likely:.1f}",
        report.counts["single"],
        report.counts["across_policies"],
        ", ".join(aucs) or "too few",
        ", ".join(f"{count} {reason}" for reason, count in why.items()) or "-",
    ]
    return f"| {' | '.join(map(str, cells))} |"
