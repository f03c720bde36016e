"""Faults: at which boundary the machinery broke, on which tasks, and whether long attempts were
lost more often.
"""

from functools import reduce

from synth.engine.numbers import counted_noun
from synth.engine.table import DrawnCell, Table
from synth.ledger.derived_views import LOST_SHARE
from synth.ledger.ledger import Ledger
from synth.ledger.views import LedgerConnection, connect
from synth.report.browser.stand_ins import StandIns
from synth.report.rates import bar, percents
from synth.report.section import Section
from synth.schemas.printable import in_html
from synth.stats.intervals import wilson

SHOWN = 15
LONGEST = 160
_KINDS = """
WITH kinds AS (
  SELECT fault, count(*) AS n, count(DISTINCT task_id) AS tasks, mode(fault_detail) AS detail FROM trajectories WHERE fault IS NOT NULL
  GROUP BY fault
)
SELECT k.fault, k.n, k.tasks, list(DISTINCT t.task_id ORDER BY t.task_id), k.detail
FROM kinds AS k JOIN trajectories AS t ON t.fault = k.fault AND t.fault_detail IS NOT DISTINCT FROM k.detail
GROUP BY ALL ORDER BY 2 DESC, 1
"""
_TASKS = """
SELECT t.task_id, any_value(k.goal), count(*), count(*) FILTER (fault IS NOT NULL) AS lost, string_agg(DISTINCT fault, ', ' ORDER BY fault)
FROM trajectories AS t LEFT JOIN tasks AS k USING (task_id) GROUP BY t.task_id HAVING lost > 0
ORDER BY lost / count(*) DESC, lost DESC, t.task_id
"""
_DECILES = (
    "SELECT list_distinct(quantile_disc(n_turns, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, "
    "0.9, 1.0])) FROM trajectories"
)
_LENGTHS = (
    "SELECT n_turns, count(*), count(*) FILTER (fault IS NOT NULL) FROM trajectories GROUP BY 1"
)


def render(ledger: Ledger, stand_ins: StandIns) -> str | None:
    """By kind, by task, by decile of length; a line where nothing broke."""
    with connect(ledger) as connection:
        attempts = connection.execute("SELECT count(*) FROM trajectories").fetchall()[0][0]
        if not attempts:
            return None
        kinds = connection.execute(_KINDS).fetchall()
        if not kinds:
            return f"<p>None in {attempts:,} attempts.</p>"
        return (
            _by_kind(kinds, attempts, stand_ins)
            + _by_task(connection, stand_ins)
            + _by_length(connection)
        )


def _by_kind(
    kinds: list[tuple[str, int, int, list[str], str | None]], attempts: int, stand_ins: StandIns
) -> str:
    rows = []
    for kind, count, tasks, which, detail in kinds:
        said = reduce(lambda text, task: stand_ins.in_text(task, text), which, detail or "")
        rows.append((kind, f"{count:,}", f"{count / attempts:.1%}", f"{tasks:,}", _short(said)))
    note = (
        '<p class="quiet">An attempt that the machinery broke has no reward and no label; it '
        "is tried again, and never exported.</p>"
    )
    return (
        note
        + Table(
            f"By kind, in {attempts:,} attempts",
            ("boundary", "faults", "share", "tasks", "commonest detail"),
            rows,
        ).html()
    )


def _by_task(connection: LedgerConnection, stand_ins: StandIns) -> str:
    found = connection.execute(_TASKS).fetchall()
    rows = [
        (
            task[:8],
            _short(stand_ins.in_text(task, goal or "")),
            f"{attempts:,}",
            f"{lost:,}",
            f"{lost / attempts:.0%}",
            kinds,
        )
        for task, goal, attempts, lost, kinds in found[:SHOWN]
    ]
    over = sum(lost > LOST_SHARE * attempts for _, _, attempts, lost, _ in found)
    words = (
        f"{counted_noun(len(found), 'task')} with faults; {over:,} lost more than "
        f"{LOST_SHARE:.0%} of their attempts"
    )
    words += ", and what is left there is no fair sample."
    more = f" The {SHOWN} that lost most are shown." if len(found) > SHOWN else ""
    return (
        f"<p>{in_html(words + more)}</p>"
        + Table("By task", ("task", "goal", "attempts", "faults", "share", "kinds"), rows).html()
    )


def _by_length(connection: LedgerConnection) -> str:
    edges = sorted(connection.execute(_DECILES).fetchall()[0][0])
    bins = [[0, 0] for _ in edges]
    for turns, attempts, lost in connection.execute(_LENGTHS).fetchall():
        at = next(at for at, edge in enumerate(edges) if turns <= edge)
        bins[at][0] += attempts
        bins[at][1] += lost
    rows, least = [], 0
    for edge, (attempts, lost) in zip(edges, bins, strict=True):
        if attempts:
            low, high = wilson(lost, attempts)
            share = (
                f"{lost / attempts:.1%}",
                percents(low, high),
                DrawnCell(bar(lost / attempts, low, high)),
            )
            rows.append(
                (
                    f"{least} to {edge}" if least < edge else f"{edge}",
                    f"{attempts:,}",
                    f"{lost:,}",
                    *share,
                )
            )
        least = edge + 1
    return Table(
        "By length: deciles of the turns that were taken",
        ("turns", "attempts", "faults", "share", "95 %", ""),
        rows,
    ).html()


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


SECTION = Section("Faults", render)
