"""Scores: how the values of every metric are spread, and how many are undefined."""

from synth.engine.table import DrawnCell, Table, meant
from synth.ledger.ledger import StoredLedger
from synth.ledger.views import connect
from synth.report.browser.stand_ins import StandIns
from synth.report.meanings import legend, meanings
from synth.report.section import Section, asked, quiet
from synth.report.templates import drawings

BINS = 16
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
SELECT metric,
  CASE count(turn) WHEN count(*) THEN 'turns' WHEN 0 THEN 'wholes' ELSE 'both' END AS of,
  format('{{:,}}', count(v)) AS values, format('{{:,}}', count(*) - count(v)) AS undefined,
  any_value(least) AS least, quantile_cont(v, 0.1) AS "10 %", median(v) AS median,
  quantile_cont(v, 0.9) AS "90 %", any_value(most) AS most,
  [{", ".join(f"count(*) FILTER (bin = {at})" for at in range(BINS))}] AS spread
FROM placed GROUP BY metric ORDER BY metric
"""
_NOTE = (
    "Undefined values are no zeros: they are counted, and in no mean. <b>of</b>: a metric has a "
    "value for each turn, or for each whole, which is a trajectory or a task."
)


def render(ledger: StoredLedger, stand_ins: StandIns) -> str | None:
    """A line for each metric of the current flow."""
    with connect(ledger) as connection:
        columns, found = asked(connection, _SQL)

    rows = []
    for metric, subject, count, undefined, *values, spread in found:
        least, *_, most = figures = [_figure(value) for value in values]
        drawn = DrawnCell(drawings().histogram(spread, least, most) if any(spread) else "")
        named = DrawnCell(meant(metric, meanings("scores"))) or metric
        rows.append((named, subject, count, undefined, *figures, drawn))

    listed = Table("Every metric of the current flow", columns, rows).html()
    metrics = [metric for metric, *_ in found]
    return quiet(_NOTE) + listed + legend("scores", metrics) if found else None


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{0.0 if abs(value) < NOISE else value:.3g}"


SECTION = Section("Scores", render)
