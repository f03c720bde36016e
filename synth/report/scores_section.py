"""Scores: how the values of every metric are spread, and how many are undefined."""

from collections.abc import Sequence

from synth.engine.table import DrawnCell, Table, meant
from synth.ledger.ledger import Ledger
from synth.ledger.views import connect
from synth.report.browser.stand_ins import StandIns
from synth.report.html import legend
from synth.report.section import Section

BINS = 16
WIDTH, HEIGHT = 128, 26
NOISE = 1e-12
"""Below it a value is what rounding has left of 0."""
_SQL = f"""
WITH held AS (
  SELECT metric, turn, CASE WHEN isfinite(value) THEN value END AS v FROM scores
), spread AS (
  SELECT metric, min(v) AS least, max(v) AS most FROM held GROUP BY metric
), placed AS (
  SELECT h.metric, v, turn, least, most,
    CASE WHEN v IS NULL THEN NULL WHEN most = least THEN 0
      ELSE least({BINS - 1}, floor((v - least) / (most - least) * {BINS}))::INT END AS bin
  FROM held AS h JOIN spread USING (metric)
)
SELECT metric, count(*), count(*) FILTER (v IS NULL), count(turn), any_value(least),
  quantile_cont(v, 0.1), median(v), quantile_cont(v, 0.9), any_value(most),
  {", ".join(f"count(*) FILTER (bin = {at})" for at in range(BINS))}
FROM placed GROUP BY metric ORDER BY metric
"""
MEANINGS = {
    "gigpo": "advantage of a trial over the others of its task; beside it that of each step over "
    "others in the same state (GiGPO)",
    "graphgpo": "the same, steps by their distance to success in the graph of all trials (GraphGPO)",
    "salt": "for the steps alone: those that are alike in several trials share the mean advantage of "
    "these trials (SALT)",
    "mixed_group": "chance that a group of trials of a task holds both solved and failed ones",
    "error_branch_ratio": "share of the ways out of branching states of a task that never led to success, beside "
    "one that did",
    "potential": "how near to success a trial's states are, by what became of the other trials that were "
    "there",
    "decisive_drop": "what is left of that after a turn at which it fell by a quarter or more: a proposal for "
    "the critical step, no proof",
    "singletons": "share of the graph's nodes that one trial alone visited",
}
COLUMNS = (
    "metric",
    "of",
    "values",
    "undefined",
    "least",
    "10 %",
    "median",
    "90 %",
    "most",
    "spread",
)


def render(ledger: Ledger, stand_ins: StandIns) -> str | None:
    """A line for each metric of the current flow."""
    with connect(ledger) as connection:
        found = connection.execute(_SQL).fetchall()
    if not found:
        return None
    rows = []
    for metric, count, undefined, of_turns, *values in found:
        figures = [_figure(value) for value in values[:5]]
        subject = "turns" if of_turns == count else "wholes" if not of_turns else "both"
        named = DrawnCell(meant(metric, MEANINGS)) or metric
        rows.append(
            (
                named,
                subject,
                f"{count - undefined:,}",
                f"{undefined:,}",
                *figures,
                DrawnCell(_histogram(values[5:], figures)),
            )
        )
    note = (
        '<p class="quiet">Undefined values are no zeros: they are counted, and in no mean. '
        "<b>of</b>: a metric has a value for each "
        "turn, or for each whole, which is a trajectory or a task.</p>"
    )
    metrics = [metric for metric, *_ in found]
    return (
        note
        + Table("Every metric of the current flow", COLUMNS, rows).html()
        + legend(MEANINGS, metrics, "docs/topology.md")
    )


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{0.0 if abs(value) < NOISE else value:.3g}"


def _histogram(counts: Sequence[int], figures: Sequence[str]) -> str:
    most = max(counts, default=0)
    if not most:
        return ""
    step = WIDTH / BINS
    bars = "".join(
        f'<rect x="{at * step:.1f}" y="{HEIGHT - tall:.1f}" width="{step - 1:.1f}" '
        f'height="{tall:.1f}"><title>{count:,}</title></rect>'
        for at, count in enumerate(counts)
        if count and (tall := max(1.5, HEIGHT * count / most))
    )
    label = f"Histogram from {figures[0]} to {figures[4]}"
    return (
        f'<svg class="histogram" role="img" aria-label="{label}" width="{WIDTH}" '
        f'height="{HEIGHT}">{bars}</svg>'
    )


SECTION = Section("Scores", render)
