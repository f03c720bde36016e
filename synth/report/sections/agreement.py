"""Filters' agreement: which filters drop the same trajectories, and what each of them drops
alone.
"""

from synth.engine.table import Table
from synth.ledger.ledger import StoredLedger
from synth.ledger.views import connect
from synth.report.browser.stand_ins import StandIns
from synth.report.section import Section, asked, quiet

SHOWN = 60
_EACH = """
WITH each AS (
  SELECT trajectory_id, filter, bool_and(keep) AS keep, bool_or(keep IS NULL) AS missing
  FROM decisions GROUP BY ALL
), counted AS (
  SELECT *, count(*) FILTER (keep = false) OVER (PARTITION BY trajectory_id) AS droppers FROM each
)
SELECT filter, format('{:,}', count(*) FILTER (keep AND NOT missing)) AS kept,
  format('{:,}', count(*) FILTER (keep = false)) AS dropped,
  format('{:,}', count(*) FILTER (missing AND keep IS DISTINCT FROM false)) AS undefined,
  format('{:,}', count(*) FILTER (keep = false AND droppers = 1)) AS "dropped by it alone"
FROM counted GROUP BY filter ORDER BY filter
"""
_PAIRS = """
WITH each AS (
  SELECT trajectory_id, filter, bool_and(keep) AS keep FROM decisions
  GROUP BY ALL HAVING bool_and(keep IS NOT NULL)
), pairs AS (
  SELECT a.filter AS one, b.filter AS other, count(*) AS n,
    count(*) FILTER (a.keep AND b.keep) AS keeping,
    count(*) FILTER (NOT a.keep AND b.keep) AS by_first,
    count(*) FILTER (a.keep AND NOT b.keep) AS by_second,
    count(*) FILTER (NOT a.keep AND NOT b.keep) AS dropping
  FROM each AS a JOIN each AS b ON a.trajectory_id = b.trajectory_id AND a.filter < b.filter
  GROUP BY ALL
), measured AS (
  SELECT *, (keeping + dropping) / n AS same,
    ((keeping + by_second) * (keeping + by_first)
      + (by_first + dropping) * (by_second + dropping)) / (n * n) AS chance,
    0 IN (keeping + by_second, by_first + dropping, keeping + by_first, by_second + dropping)
      AS constant
  FROM pairs
)
SELECT concat(one, ', ', other) AS filters, format('{:,}', n) AS "both decided",
  format('{:,}', keeping) AS "both keep", format('{:,}', by_first) AS "only the first drops",
  format('{:,}', by_second) AS "only the second drops", format('{:,}', dropping) AS "both drop",
  format('{:.1f}%', 100 * same) AS "the same",
  if(constant, '-', format('{:.2f}', (same - chance) / (1 - chance))) AS kappa
FROM measured ORDER BY by_first + by_second DESC, one, other
"""
"""Kappa: Cohen 1960."""
_NOTE = (
    "Kappa (Cohen 1960) is agreement beyond chance: 1 always the same, 0 as by chance; - where one "
    "filter drops all or none."
)
_MORE = f" The {SHOWN} pairs that differ most often are shown."


def render(ledger: StoredLedger, stand_ins: StandIns) -> str | None:
    """What each filter decided, then every two of them over the trajectories that both decided
    on.
    """
    with connect(ledger) as connection:
        each = Table("Each filter", *asked(connection, _EACH))
        columns, pairs = asked(connection, _PAIRS)

    if not pairs:
        return each.html() if each.rows else None

    note = _NOTE + (_MORE if len(pairs) > SHOWN else "")
    return each.html() + quiet(note) + Table("Every two filters", columns, pairs[:SHOWN]).html()


SECTION = Section("Filters' agreement", render)
