"""Success by method: who solved how often, with intervals over tasks; and what the attempts came
to.
"""

from synth.engine.table import Table
from synth.ledger.ledger import StoredLedger
from synth.ledger.views import connect
from synth.report.browser.stand_ins import StandIns
from synth.report.rates import NO_RATE, rate_cells
from synth.report.section import Section, asked, quiet
from synth.stats.intervals import clustered

_SQL = """
WITH each AS (
  SELECT synthesizer, policy, coalesce(model, '') AS model, task_id, count(*) AS n,
    count(*) FILTER (outcome = 'success') AS success,
    count(*) FILTER (outcome = 'failure') AS failure,
    count(*) FILTER (outcome = 'truncated') AS truncated,
    count(*) FILTER (outcome = 'unknown') AS unknown,
    count(*) FILTER (outcome = 'invalid') AS invalid,
    success + failure + truncated AS judged
  FROM trajectories GROUP BY ALL
)
SELECT synthesizer AS method, policy || if(model = '', '', ' (' || model || ')') AS by,
  format('{:,}', count(*)) AS tasks, format('{:,}', sum(n)::BIGINT) AS attempts,
  format('{:,}', sum(success)::BIGINT) AS solved, format('{:,}', sum(failure)::BIGINT) AS failed,
  format('{:,}', sum(truncated)::BIGINT) AS truncated,
  format('{:,}', sum(unknown)::BIGINT) AS "no verdict",
  format('{:,}', sum(invalid)::BIGINT) AS faults,
  list(success ORDER BY task_id) FILTER (judged > 0) AS of_tasks,
  list(judged ORDER BY task_id) FILTER (judged > 0) AS judged_of_tasks
FROM each GROUP BY synthesizer, policy, model
ORDER BY min(CASE synthesizer WHEN 'rollout' THEN 0 ELSE 1 END), synthesizer, policy, model
"""
_NOTE = (
    "The rate is solved of solved, failed and truncated: a fault is no verdict. The intervals "
    "resample whole tasks. Attempts that continue others (retries, injected failures) begin from "
    "chosen states: their rates are not set against a rollout's."
)


def render(ledger: StoredLedger, stand_ins: StandIns) -> str | None:
    """A line for each method and policy."""
    with connect(ledger) as connection:
        columns, found = asked(connection, _SQL)

    rows = []
    for *cells, solved, judged in found:
        rate = NO_RATE
        if judged:
            rate = rate_cells(sum(solved) / sum(judged), *clustered(solved, judged))
        rows.append((*cells, *rate))

    columns = [*columns[:-2], "success rate", "95 %", ""]
    return quiet(_NOTE) + Table("Attempts by method", columns, rows).html() if rows else None


SECTION = Section("Success by method", render)
