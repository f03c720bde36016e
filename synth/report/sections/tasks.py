"""Tasks: how often each was solved, and what its graph says about it."""

from collections.abc import Sequence
from typing import Any

from synth.engine.numbers import counted_noun
from synth.engine.table import DrawnCell, Table
from synth.ledger.ledger import StoredLedger
from synth.ledger.views import connect
from synth.report.browser.stand_ins import StandIns
from synth.report.meanings import legend, meanings
from synth.report.rates import NO_RATE, rate_cells
from synth.report.section import Section, asked, paragraph, shortened
from synth.schemas import in_html
from synth.stats.intervals import wilson

SHOWN = 30
GOAL = 90
_SQL = """
WITH counted AS (
  SELECT task_id, count(*) AS attempts, count(*) FILTER (outcome = 'success') AS solved,
    count(*) FILTER (outcome = 'failure') AS failed,
    count(*) FILTER (outcome = 'truncated') AS truncated,
    count(*) FILTER (outcome = 'unknown') AS unknown,
    count(*) FILTER (outcome = 'invalid') AS faults,
    solved + failed + truncated AS judged
  FROM trajectories WHERE parent_id IS NULL GROUP BY 1
), measured AS (
  SELECT subject_id AS task_id, max(value) FILTER (metric = 'mixed_group') AS mixed,
    max(value) FILTER (metric = 'error_branch_ratio') AS wrong
  FROM scores WHERE metric IN ('mixed_group', 'error_branch_ratio') GROUP BY 1
)
SELECT c.solved, c.judged, c.attempts, c.task_id AS task, t.goal,
  format('{:,}', c.attempts) AS trials, format('{:,}', c.solved) AS solved,
  format('{:,}', c.failed) AS failed, format('{:,}', c.truncated) AS truncated,
  format('{:,}', c.unknown) AS "no verdict", format('{:,}', c.faults) AS faults,
  coalesce(format('{:.0f}%', 100 * m.mixed), '-') AS "mixed group",
  coalesce(format('{:.0f}%', 100 * m.wrong), '-') AS "failing branches"
FROM counted AS c LEFT JOIN tasks AS t USING (task_id) LEFT JOIN measured AS m USING (task_id)
ORDER BY abs(0.5 - c.solved / nullif(c.judged, 0)) NULLS LAST, c.task_id
"""
SELDOM = ("truncated", "no verdict", "faults")
"""Columns that are left out where every task has none."""


def render(ledger: StoredLedger, stand_ins: StandIns) -> str | None:
    """A table, tasks that are solved half of the time first."""
    with connect(ledger) as connection:
        columns, found = asked(connection, _SQL)

    if not found:
        return None

    rows = []
    for solved, judged, _, task, goal, *counts, mixed, wrong in found[:SHOWN]:
        link = f'<a href="#task={in_html(task)}">{in_html(task[:8])}</a>'
        said = shortened(stand_ins.in_text(task, goal or ""), GOAL)
        rows.append((DrawnCell(link), said, *counts, *_rate(solved, judged), mixed, wrong))

    columns = [*columns[3:-2], "rate", "95 %", "", *columns[-2:]]
    names, cells = _without_seldom(columns, rows)
    listed = Table("Trials by task, without retries and other branches", names, cells)
    has_graphs = any({*row[-2:]} != {"-"} for row in rows)
    explained = legend("tasks", names) if has_graphs else ""

    return paragraph(_words(found)) + listed.html(meanings("tasks")) + explained


def _without_seldom(
    columns: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[list[str], list[list[str]]]:
    """Columns and rows without the columns of `SELDOM` where every task has none."""
    told = [
        at
        for at, name in enumerate(columns)
        if name not in SELDOM or any(row[at] != "0" for row in rows)
    ]

    return [columns[at] for at in told], [[row[at] for at in told] for row in rows]


def _words(found: Sequence[tuple[Any, ...]]) -> str:
    solved, judged, attempts = (sum(row[at] for row in found) for at in range(3))
    both = sum(0 < row[0] < row[1] for row in found)
    share = (
        f"{solved / judged:.0%} of {judged:,} with a verdict solved"
        if judged
        else "none with a verdict"
    )
    words = (
        f"{counted_noun(len(found), 'task')}, {counted_noun(attempts, 'trial')}, {share}; "
        f"{both:,} with solved and unsolved trials."
    )
    if len(found) > SHOWN:
        words += f" The {SHOWN} nearest to a half are shown; the list of trajectories has all."
    return words


def _rate(solved: int, judged: int) -> tuple[str, str, str]:
    """Of trials with a verdict: a fault is none."""
    return rate_cells(solved / judged, *wilson(solved, judged)) if judged else NO_RATE


SECTION = Section("Tasks", render)
