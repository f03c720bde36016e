"""Exports of a ledger: what tools give away of step labels, how stored pairs rank trials."""

from collections.abc import Iterator, Sequence

from benchmarks.gates.means import Mean
from benchmarks.topology_ranking import by_pairs, graphs, noise
from synth.ledger.ledger import StoredLedger
from synth.pairs import LabelSettings, StepReport, paired_steps
from synth.schemas import Trajectory

SCRIPTED = LabelSettings(include_scripted=True)


def of_steps(source: str, ledger: StoredLedger) -> Iterator[Mean]:
    """Yields what the tool of a step gives away of its label."""
    report = StepReport()
    list(paired_steps(ledger, SCRIPTED, report))
    aucs = {"tool alone": report.tool_auc, "tool and the last one": report.context_auc}
    for what, (found, left) in aucs.items():
        yield Mean(source, f"prm, AUC of {what}: all hard labels", _known(found), "")
        yield Mean(source, f"prm, AUC of {what}: in pairs", _known(left), "at most .6")
    hard = sum(n for (_, label), n in report.labels.items() if label is not None)
    yield Mean(source, "prm, hard labels that leave", [float(hard)], "")
    left_out = float(report.left_out["no_opposite_of_its_tool"])
    yield Mean(source, "prm, left out without an opposite", [left_out], "")


def _known(value: float | None) -> list[float]:
    return [] if value is None else [value]


def of_pairs(source: str, trials: Sequence[Trajectory]) -> Iterator[Mean]:
    """Yields how the stored pairs rank trials, with outcomes shuffled and as they are."""
    tasks = graphs(trials)
    if not tasks:
        return
    shuffled, ranked = noise(tasks, by_pairs, None), by_pairs(tasks, None)
    yield Mean(
        source, f"potential pairs, outcomes shuffled ({len(tasks)} tasks)", _known(shuffled), ".5"
    )
    if ranked is not None:
        what = f"potential pairs, as they are ({ranked.low:.2f} to {ranked.high:.2f})"
        yield Mean(source, what, [ranked.auroc], "above .5")
