"""Tasks: how often each was solved, and what its graph says about it."""

from synth.ledger.ledger import Ledger
from synth.ledger.views import connect
from synth.report.html import escape, table
from synth.report.section import Section

SHOWN = 60
GOAL = 90
SQL = """
WITH counted AS (
  SELECT task_id, count(*) AS attempts, count(*) FILTER (outcome = 'success') AS solved, count(*) FILTER (outcome = 'failure') AS failed,
    count(*) FILTER (outcome = 'truncated') AS truncated, count(*) FILTER (outcome = 'invalid') AS faults
  FROM trajectories WHERE parent_id IS NULL GROUP BY 1
), measured AS (
  SELECT subject_id AS task_id, max(value) FILTER (metric = 'mixed_group') AS mixed,
    max(value) FILTER (metric = 'error_branch_ratio') AS wrong
  FROM scores WHERE metric IN ('mixed_group', 'error_branch_ratio') GROUP BY 1
)
SELECT c.task_id, t.goal, c.attempts, c.solved, c.failed, c.truncated, c.faults, m.mixed, m.wrong
FROM counted AS c LEFT JOIN tasks AS t USING (task_id) LEFT JOIN measured AS m USING (task_id)
ORDER BY abs(0.5 - c.solved / c.attempts), c.task_id
"""
COLUMNS = ("task", "goal", "trials", "solved", "failed", "truncated", "faults", "mixed group", "failing branches")


def render(ledger: Ledger) -> str | None:
    """A table, tasks that are solved half of the time first."""
    with connect(ledger) as connection:
        found = connection.execute(SQL).fetchall()
    if not found:
        return None
    attempts, solved = sum(row[2] for row in found), sum(row[3] for row in found)
    both = sum(0 < row[3] < row[2] for row in found)
    words = f"{len(found):,} tasks, {attempts:,} trials, {solved / attempts:.0%} solved; {both:,} tasks have solved and unsolved trials."
    if len(found) > SHOWN:
        words += f" The {SHOWN} nearest to a half are shown; all: synth sql RUN 'SELECT * FROM scores'."
    rows = [
        (identity[:8], _short(goal), *(f"{count:,}" for count in counts), _share(mixed), _share(wrong))
        for identity, goal, *counts, mixed, wrong in found[:SHOWN]
    ]
    return f"<p>{escape(words)}</p>" + table("Trials by task, without retries and other branches", COLUMNS, rows)


def _short(goal: str | None) -> str:
    text = " ".join((goal or "").split())
    return text if len(text) <= GOAL else text[:GOAL] + "…"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


SECTION = Section("Tasks", render)
