"""How often trials of a task pass without any help, and whether the task is proven solvable from
its beginning.
"""

import msgspec

from synth.ledger.ledger import Ledger
from synth.ledger.views import connect


class PassRate(msgspec.Struct, frozen=True):
    """Base trials with a verdict and successes."""

    trials: int
    successes: int

    @property
    def rate(self) -> float:
        return self.successes / self.trials


class Standings(msgspec.Struct, frozen=True):
    """By task and policy; `solvable` tasks have passed test T8 (the expert solves them from their
    goal), or were solved from their
    beginning by somebody who knew neither gold nor guidance.
    """

    by_policy: dict[tuple[str, str], PassRate]
    solvable: frozenset[str]

    def of(self, task_id: str, policy: str) -> PassRate | None:
        """Of one policy's base trials; None where there are none."""
        return self.by_policy.get((task_id, policy))


_TRIALS = """
SELECT task_id, coalesce(model, policy), count(DISTINCT slot_id), count(DISTINCT slot_id) FILTER (outcome = 'success')
FROM trajectories WHERE synthesizer IN ('rollout', 'import') AND parent_id IS NULL AND outcome IN ('success', 'failure', 'truncated')
GROUP BY ALL
"""
_SOLVED = """
SELECT DISTINCT task_id FROM trajectories
WHERE outcome = 'success' AND parent_id IS NULL AND guidance IS NULL AND NOT gold_informed
UNION SELECT task_id FROM tasks WHERE json_extract_string(difficulty, '$.tests.T8.passed') = 'true'
"""


def standings(ledger: Ledger) -> Standings:
    """Of all tasks of the current flow."""
    with connect(ledger) as connection:
        trials = {
            (task, policy): PassRate(n, passed)
            for task, policy, n, passed in connection.execute(_TRIALS).fetchall()
        }
        return Standings(
            trials, frozenset(task for (task,) in connection.execute(_SOLVED).fetchall())
        )
