"""Faults: at which boundary the machinery broke, on which tasks, and whether long attempts were
lost more often.
"""

from functools import reduce

from synth.engine.numbers import counted_noun
from synth.engine.table import Table
from synth.ledger.derived_views import LOST_SHARE
from synth.ledger.ledger import StoredLedger
from synth.ledger.views import LedgerConnection, connect
from synth.report.browser.stand_ins import StandIns
from synth.report.rates import rate_cells
from synth.report.section import Section, asked, paragraph, quiet, shortened
from synth.stats.intervals import wilson

SHOWN = 15
LONGEST = 160
_KINDS = """
WITH kinds AS (
  SELECT fault, count(*) AS n, count(DISTINCT task_id) AS tasks, mode(fault_detail) AS detail
  FROM trajectories WHERE fault IS NOT NULL GROUP BY fault
), attempts AS (SELECT count(*) AS every FROM trajectories)
SELECT list(DISTINCT t.task_id ORDER BY t.task_id) AS which, k.fault AS boundary,
  format('{:,}', k.n) AS faults, format('{:.1f}%', 100 * (k.n / every)) AS share,
  format('{:,}', k.tasks) AS tasks, k.detail AS "commonest detail"
FROM kinds AS k JOIN trajectories AS t
  ON t.fault = k.fault AND t.fault_detail IS NOT DISTINCT FROM k.detail, attempts
GROUP BY k.fault, k.n, k.tasks, k.detail, every ORDER BY k.n DESC, k.fault
"""
_TASKS = """
SELECT count(*) AS n, count(*) FILTER (fault IS NOT NULL) AS lost, t.task_id AS task,
  any_value(k.goal) AS goal, format('{:,}', n) AS attempts, format('{:,}', lost) AS faults,
  format('{:.0f}%', 100 * (lost / n)) AS share,
  string_agg(DISTINCT fault, ', ' ORDER BY fault) AS kinds
FROM trajectories AS t LEFT JOIN tasks AS k USING (task_id) GROUP BY t.task_id HAVING lost > 0
ORDER BY lost / n DESC, lost DESC, t.task_id
"""
_LENGTHS = """
WITH deciles AS (
  SELECT unnest(list_distinct(quantile_disc(n_turns,
    [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]))) AS most FROM trajectories
), bins AS (
  SELECT most, coalesce(lag(most) OVER (ORDER BY most) + 1, 0) AS least FROM deciles
)
SELECT count(*) AS n, count(*) FILTER (fault IS NOT NULL) AS lost,
  if(least < most, concat(least, ' to ', most), most::VARCHAR) AS turns,
  format('{:,}', n) AS attempts, format('{:,}', lost) AS faults
FROM trajectories JOIN bins ON n_turns BETWEEN least AND most GROUP BY least, most ORDER BY most
"""
_NOTE = (
    "An attempt that the machinery broke has no reward and no label; it is tried again, and never "
    "exported."
)


def render(ledger: StoredLedger, stand_ins: StandIns) -> str | None:
    """By kind, by task, by decile of length; a line where nothing broke."""
    with connect(ledger) as connection:
        _, ((attempts, faults),) = asked(
            connection, "SELECT count(*), count(fault) FROM trajectories"
        )
        if not faults:
            return paragraph(f"None in {attempts:,} attempts.") if attempts else None
        return (
            quiet(_NOTE)
            + _by_kind(connection, stand_ins, attempts)
            + _by_task(connection, stand_ins)
            + _by_length(connection)
        )


def _by_kind(connection: LedgerConnection, stand_ins: StandIns, attempts: int) -> str:
    (_, *columns), found = asked(connection, _KINDS)
    rows = []
    for tasks, *cells, detail in found:
        said = reduce(lambda text, task: stand_ins.in_text(task, text), tasks, detail or "")
        rows.append((*cells, shortened(said, LONGEST)))
    return Table(f"By kind, in {attempts:,} attempts", columns, rows).html()


def _by_task(connection: LedgerConnection, stand_ins: StandIns) -> str:
    (_, _, *columns), found = asked(connection, _TASKS)
    rows = [
        (task[:8], shortened(stand_ins.in_text(task, goal or ""), LONGEST), *cells)
        for _, _, task, goal, *cells in found[:SHOWN]
    ]
    over = sum(lost > LOST_SHARE * n for n, lost, *_ in found)
    words = (
        f"{counted_noun(len(found), 'task')} with faults; {over:,} lost more than "
        f"{LOST_SHARE:.0%} of their attempts, and what is left there is no fair sample."
    )
    more = f" The {SHOWN} that lost most are shown." if len(found) > SHOWN else ""
    return paragraph(words + more) + Table("By task", columns, rows).html()


def _by_length(connection: LedgerConnection) -> str:
    (_, _, *columns), found = asked(connection, _LENGTHS)
    rows = [
        (*cells, *rate_cells(lost / n, *wilson(lost, n), digits=1)) for n, lost, *cells in found
    ]
    title = "By length: deciles of the turns that were taken"
    return Table(title, [*columns, "share", "95 %", ""], rows).html()


SECTION = Section("Faults", render)
