"""Success by method: who solved how often, with intervals over tasks; and what the attempts came
to.
"""

from synth.engine.table import DrawnCell, Table
from synth.ledger.ledger import Ledger
from synth.ledger.views import connect
from synth.report.browser.stand_ins import StandIns
from synth.report.rates import bar, percents
from synth.report.section import Section
from synth.stats.intervals import clustered

OUTCOMES = ("success", "failure", "truncated", "unknown", "invalid")
_COUNTED = ", ".join(
    f"count(*) FILTER (outcome = '{outcome}') AS n_{outcome}" for outcome in OUTCOMES
)
_SQL = f"""
WITH each AS (
  SELECT synthesizer, policy, coalesce(model, '') AS model, task_id, count(*) AS n, {_COUNTED},
    count(*) FILTER (outcome IN ('success', 'failure', 'truncated')) AS judged
  FROM trajectories GROUP BY ALL
)
SELECT synthesizer, policy, model, count(*) AS tasks, sum(n) AS n, {", ".join(f"sum(n_{outcome})" for outcome in OUTCOMES)},
  list(n_success ORDER BY task_id) FILTER (judged > 0), list(judged ORDER BY task_id) FILTER (judged > 0)
FROM each GROUP BY ALL ORDER BY min(CASE synthesizer WHEN 'rollout' THEN 0 ELSE 1 END), synthesizer, policy, model
"""
COLUMNS = (
    "method",
    "by",
    "tasks",
    "attempts",
    "solved",
    "failed",
    "truncated",
    "no verdict",
    "faults",
    "success rate",
    "95 %",
    "",
)


def render(ledger: Ledger, stand_ins: StandIns) -> str | None:
    """A line for each method and policy."""
    with connect(ledger) as connection:
        found = connection.execute(_SQL).fetchall()
    if not found:
        return None
    rows = []
    for method, policy, model, tasks, attempts, *counts, solved, judged in found:
        rate = ("-", "-", DrawnCell(""))
        if judged:
            middle, (low, high) = sum(solved) / sum(judged), clustered(solved, judged)
            rate = (f"{middle:.0%}", percents(low, high), DrawnCell(bar(middle, low, high)))
        by = f"{policy} ({model})" if model else policy
        rows.append(
            (method, by, f"{tasks:,}", *(f"{int(count):,}" for count in (attempts, *counts)), *rate)
        )
    note = (
        '<p class="quiet">The rate is solved of solved, failed and truncated: a fault is no '
        "verdict. The intervals resample whole tasks. "
        "Attempts that continue others (retries, injected failures) begin from chosen states: "
        "their rates are not set against a "
        "rollout's.</p>"
    )
    return note + Table("Attempts by method", COLUMNS, rows).html()


SECTION = Section("Success by method", render)
