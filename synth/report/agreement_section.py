"""Filters' agreement: which filters drop the same trajectories, and what each of them drops
alone.
"""

from itertools import combinations

from synth.engine.table import Table
from synth.ledger.ledger import Ledger
from synth.ledger.views import connect
from synth.report.browser.stand_ins import StandIns
from synth.report.section import Section
from synth.schemas.printable import in_html

SHOWN = 60
_EACH = """
WITH each AS (SELECT trajectory_id, filter, bool_and(keep) AS keep, bool_or(keep IS NULL) AS missing FROM decisions GROUP BY ALL),
  counted AS (SELECT *, count(*) FILTER (keep = false) OVER (PARTITION BY trajectory_id) AS droppers FROM each)
SELECT filter, count(*) FILTER (keep AND NOT missing), count(*) FILTER (keep = false),
  count(*) FILTER (missing AND keep IS DISTINCT FROM false),
  count(*) FILTER (keep = false AND droppers = 1) FROM counted GROUP BY filter ORDER BY filter
"""
_PAIRS = """
WITH each AS (
  SELECT trajectory_id, filter, bool_and(keep) AS keep FROM decisions GROUP BY ALL HAVING bool_and(keep IS NOT NULL)
)
SELECT a.filter, b.filter, count(*) FILTER (a.keep AND b.keep), count(*) FILTER (NOT a.keep AND b.keep),
  count(*) FILTER (a.keep AND NOT b.keep), count(*) FILTER (NOT a.keep AND NOT b.keep)
FROM each AS a JOIN each AS b ON a.trajectory_id = b.trajectory_id AND a.filter < b.filter GROUP BY ALL
"""
PAIR = (
    "filters",
    "both decided",
    "both keep",
    "only the first drops",
    "only the second drops",
    "both drop",
    "the same",
    "kappa",
)


def render(ledger: Ledger, stand_ins: StandIns) -> str | None:
    """What each filter decided, then every two of them over the trajectories that both decided
    on.
    """
    with connect(ledger) as connection:
        each = connection.execute(_EACH).fetchall()
        pairs = {
            (one, other): counts for one, other, *counts in connection.execute(_PAIRS).fetchall()
        }
    if not each:
        return None
    alone = [(name, *(f"{count:,}" for count in counts)) for name, *counts in each]
    parts = [
        Table(
            "Each filter", ("filter", "kept", "dropped", "undefined", "dropped by it alone"), alone
        ).html()
    ]
    found = [
        (names, counts)
        for names in combinations([name for name, *_ in each], 2)
        if (counts := pairs.get(names)) is not None
    ]
    found.sort(key=lambda pair: (-(pair[1][1] + pair[1][2]), pair[0]))
    rows = [
        (
            f"{one}, {other}",
            f"{sum(counts):,}",
            *(f"{count:,}" for count in counts),
            *_agreement(*counts),
        )
        for (one, other), counts in found
    ]
    if rows:
        note = (
            "Kappa (Cohen 1960) is agreement beyond chance: 1 always the same, 0 as by "
            "chance; - where one filter drops all or none."
        )
        more = f" The {SHOWN} pairs that differ most often are shown." if len(rows) > SHOWN else ""
        parts.append(
            f'<p class="quiet">{in_html(note + more)}</p>'
            + Table("Every two filters", PAIR, rows[:SHOWN]).html()
        )
    return "".join(parts)


def _agreement(both: int, first: int, second: int, neither: int) -> tuple[str, str]:
    """The share of equal verdicts, and Cohen's kappa."""
    n = both + second + first + neither
    same = (both + neither) / n
    chance = ((both + second) * (both + first) + (first + neither) * (second + neither)) / (n * n)
    constant = 0 in (both + second, first + neither, both + first, second + neither)
    return f"{same:.1%}", "-" if constant else f"{(same - chance) / (1 - chance):.2f}"


SECTION = Section("Filters' agreement", render)
