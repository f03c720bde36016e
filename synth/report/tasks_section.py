"""Tasks: how often each was solved, and what its graph says about it."""

from synth.engine.numbers import counted_noun
from synth.engine.table import DrawnCell, Table
from synth.ledger.ledger import Ledger
from synth.ledger.views import connect
from synth.report.browser.stand_ins import StandIns
from synth.report.html import legend
from synth.report.rates import bar, percents
from synth.report.section import Section
from synth.schemas.printable import in_html
from synth.stats.intervals import wilson

SHOWN = 30
GOAL = 90
SQL = """
WITH counted AS (
  SELECT task_id, count(*) AS attempts, count(*) FILTER (outcome = 'success') AS solved, count(*) FILTER (outcome = 'failure') AS failed,
    count(*) FILTER (outcome = 'truncated') AS truncated,
    count(*) FILTER (outcome = 'unknown') AS unknown, count(*) FILTER (outcome = 'invalid') AS faults
  FROM trajectories WHERE parent_id IS NULL GROUP BY 1
), measured AS (
  SELECT subject_id AS task_id, max(value) FILTER (metric = 'mixed_group') AS mixed,
    max(value) FILTER (metric = 'error_branch_ratio') AS wrong
  FROM scores WHERE metric IN ('mixed_group', 'error_branch_ratio') GROUP BY 1
)
SELECT c.task_id, t.goal, c.attempts, c.solved, c.failed, c.truncated, c.unknown, c.faults, m.mixed, m.wrong
FROM counted AS c LEFT JOIN tasks AS t USING (task_id) LEFT JOIN measured AS m USING (task_id)
ORDER BY abs(0.5 - c.solved / nullif(c.solved + c.failed + c.truncated, 0)) NULLS LAST, c.task_id
"""
COLUMNS = (
    "task",
    "goal",
    "trials",
    "solved",
    "failed",
    "truncated",
    "no verdict",
    "faults",
    "rate",
    "95 %",
    "",
    "mixed group",
    "failing branches",
)

MEANINGS = {
    "mixed group": "chance that a group of trials of this task, as an RL trainer draws it, holds both solved "
    "and failed ones",
    "failing branches": "share of the ways out of branching states that never led to success, beside one that did",
}
SELDOM = ("truncated", "no verdict", "faults")
"""Columns that are left out where every task has none."""


def render(ledger: Ledger, stand_ins: StandIns) -> str | None:
    """A table, tasks that are solved half of the time first."""
    with connect(ledger) as connection:
        found = connection.execute(SQL).fetchall()
    if not found:
        return None
    attempts, solved = (sum(row[at] for row in found) for at in (2, 3))
    judged = sum(_judged(*row[3:6]) for row in found)
    both = sum(0 < row[3] < _judged(*row[3:6]) for row in found)
    share = (
        f", {solved / judged:.0%} of {judged:,} with a verdict solved"
        if judged
        else ", none with a verdict"
    )
    words = (
        f"{counted_noun(len(found), 'task')}, {counted_noun(attempts, 'trial')}{share}; "
        f"{both:,} with solved and unsolved trials."
    )
    if len(found) > SHOWN:
        words += f" The {SHOWN} nearest to a half are shown; the list of trajectories has all."
    rows = [
        (
            DrawnCell(f'<a href="#task={in_html(identity)}">{in_html(identity[:8])}</a>'),
            _short(stand_ins.in_text(identity, goal or "")),
            *(f"{count:,}" for count in counts),
            *_rate(*counts[1:4]),
            _share(mixed),
            _share(wrong),
        )
        for identity, goal, *counts, mixed, wrong in found[:SHOWN]
    ]
    told = [
        at
        for at, name in enumerate(COLUMNS)
        if name not in SELDOM or any(row[at] != "0" for row in rows)
    ]
    columns, cells = [COLUMNS[at] for at in told], [[row[at] for at in told] for row in rows]
    listed = Table("Trials by task, without retries and other branches", columns, cells).html(
        MEANINGS
    )
    has_graphs = any(mixed is not None or wrong is not None for *_, mixed, wrong in found[:SHOWN])
    return (
        f"<p>{in_html(words)}</p>"
        + listed
        + (legend(MEANINGS, columns, "docs/topology.md") if has_graphs else "")
    )


def _judged(solved: int, failed: int, truncated: int) -> int:
    """Trials with a verdict: a fault is none."""
    return solved + failed + truncated


def _rate(solved: int, failed: int, truncated: int) -> tuple[str, str, str]:
    judged = _judged(solved, failed, truncated)
    if not judged:
        return "-", "-", DrawnCell("")
    low, high = wilson(solved, judged)
    return (
        f"{solved / judged:.0%}",
        percents(low, high),
        DrawnCell(bar(solved / judged, low, high)),
    )


def _short(goal: str) -> str:
    text = " ".join(goal.split())
    return text if len(text) <= GOAL else text[:GOAL] + "…"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


SECTION = Section("Tasks", render)
