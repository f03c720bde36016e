"""What the selection of RL tasks stands on, read from the ledger: trials and successes by task,
what proves a task solvable, its graph.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence

from synth.datasets.release import TASKS, Lineage, may_leave
from synth.ledger.ledger import Ledger
from synth.ledger.views import connect
from synth.schemas.release import Release
from synth.schemas.task import Task
from synth.selection.rl_tasks import RlTask
from synth.topology.graph import BASE

CHUNK = 2000
"""Tasks in memory at once."""
_SUCCESSES = "count(*) FILTER (outcome = 'success')"
_PLAYED_BY = "policy, model, role, weights_id, sampling"
_TRIALS = f"""
SELECT task_id, count(*) AS n, {_SUCCESSES} AS solved FROM trajectories
WHERE synthesizer IN ({", ".join(f"'{name}'" for name in sorted(BASE))}) AND parent_id IS NULL AND guidance IS NULL
  AND outcome IN ('success', 'failure', 'truncated')
GROUP BY task_id, {_PLAYED_BY}
QUALIFY row_number() OVER (PARTITION BY task_id ORDER BY n DESC, {_PLAYED_BY}) = 1
"""
"""Of one policy under one sampling, the one with most trials: pass rates of several say nothing
about the next group of any.
"""
_BRANCHING = """
SELECT e.subject_id, max(e.value * h.value) FROM scores AS e JOIN scores AS h USING (subject_id)
WHERE e.metric = 'error_branch_ratio' AND h.metric = 'strategic_heterogeneity' GROUP BY 1
"""


def rl_tasks(ledger: Ledger, release: Release) -> list[tuple[RlTask, Mapping[str, Hashable]]]:
    """The current flow's tasks in the order of their ids, each with what the composition is told
    by; some in memory at once.
    """
    with connect(ledger) as connection:
        every = sorted(
            identity
            for (identity,) in connection.execute("SELECT DISTINCT task_id FROM tasks").fetchall()
        )
        trials = {task: (n, solved) for task, n, solved in connection.execute(_TRIALS).fetchall()}
        solved = {
            task
            for (task,) in connection.execute(
                "SELECT DISTINCT task_id FROM trajectories WHERE outcome = 'success'"
            ).fetchall()
        }
        branching = dict(connection.execute(_BRANCHING).fetchall())
    found: list[tuple[RlTask, Mapping[str, Hashable]]] = []
    for identity, task in _tasks(ledger, every):
        n, successes = trials.get(identity, (0, 0))
        refusal = may_leave(Lineage(task), {}, TASKS, release)
        one = RlTask(
            task_id=identity,
            trials=n,
            successes=successes,
            solvable=identity in solved or _solved_from_its_goal(task),
            branching=branching.get(identity),
            refused=refusal.counted if refusal else None if task.check else "no_check",
        )
        refuses = None if task.check is None else bool(task.check.refusals)
        found.append((one, {"env": task.env, "origin": task.origin.value, "refusal": refuses}))
    return found


def _tasks(ledger: Ledger, identities: Sequence[str]) -> Iterator[tuple[str, Task]]:
    for at in range(0, len(identities), CHUNK):
        yield from sorted(ledger.tasks(identities[at : at + CHUNK]).items())


def _solved_from_its_goal(task: Task) -> bool:
    """Whether test T8 of reverse synthesis passed: an expert that is told what an agent is told
    solves it.
    """
    tests = task.difficulty.get("tests")
    return (
        isinstance(tests, Mapping)
        and isinstance(tests.get("T8"), Mapping)
        and tests["T8"].get("passed") is True
    )
