"""The recorded trials that a method works on."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from synth.engine.context import Role
from synth.engine.study.shard import StageContext
from synth.ledger.state import IMPORT
from synth.schemas.canonical import content_hash
from synth.schemas.outcome import Outcome
from synth.schemas.trajectory import Trajectory

BASE = "rollout"
"""The synthesizer of base trials."""


class Trial(msgspec.Struct, frozen=True):
    """A base trial without its turns."""

    trajectory_id: str
    task_id: str
    outcome: str
    imported: bool


class Trials:
    """Trials of a run, chosen by what the ledger knows of them; turns are read while one goes
    through them, those of one at a time.
    """

    def __init__(self, stage: StageContext, rows: Sequence[Trial]) -> None:
        self._stage = stage
        self.rows = rows

    def failures(self) -> "Trials":
        """Those that failed."""
        return Trials(self._stage, self.rows_of(Outcome.FAILURE))

    def successes(self) -> "Trials":
        """Those that passed."""
        return Trials(self._stage, self.rows_of(Outcome.SUCCESS))

    def rows_of(self, *outcomes: Outcome) -> list[Trial]:
        """Those that came to one of these, without their turns."""
        return [row for row in self.rows if row.outcome in outcomes]

    def sample(self, count: int, *, by: Literal["task"] | None = None) -> "Trials":
        """At most so many, or so many of each task, drawn by the flow's seed."""
        groups: dict[str, list[Trial]] = defaultdict(list)
        for row in self.rows:
            groups[row.task_id if by == "task" else ""].append(row)
        seed = self._stage.run.flow.seed
        drawn = {
            row.trajectory_id
            for rows in groups.values()
            for row in sorted(rows, key=lambda one: content_hash([seed, one.trajectory_id]))[:count]
        }
        return Trials(self._stage, [row for row in self.rows if row.trajectory_id in drawn])

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Trajectory]:
        wanted = {row.trajectory_id for row in self.rows}
        return iter(self._stage.run.ledger.trajectories(wanted) if wanted else ())


def base_trials(stage: StageContext, env: str, role_name: str, role: Role) -> Trials:
    """The valid base trials that the current flow has of a role, and those of an import, those of a
    task side by side.
    """
    sql = """
        SELECT trajectory_id, task_id, outcome, synthesizer = ? FROM trajectories
        WHERE outcome <> 'invalid' AND (synthesizer = ? OR (
            synthesizer = ? AND env = ? AND role = ? AND policy = ? AND model IS NOT DISTINCT FROM ?
        ))
        ORDER BY task_id, trial, trajectory_id
    """
    policy = role.policy
    values = IMPORT, IMPORT, BASE, env, role_name, policy.name, policy.model
    return Trials(stage, [Trial(*row) for row in stage.select(sql, *values)])
