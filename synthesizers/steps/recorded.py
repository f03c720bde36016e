"""What the ledger holds for a stage of step tests: the base trials, the tests that are done, the labels that stand."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from synth.ledger.views import connect
from synth.run.context import Role, Run
from synthesizers.steps.labels import LABEL, TEST, Recorded

BASE = "rollout"
"""The synthesizer of base trials."""


class Trial(msgspec.Struct, frozen=True):
    """A base trial without its turns."""

    trajectory_id: str
    task_id: str
    outcome: str


def base_trials(run: Run, env: str, role_name: str, role: Role) -> list[Trial]:
    """The valid base trials that the current flow has of a role, those of a task side by side."""
    sql = """
        SELECT trajectory_id, task_id, outcome FROM trajectories
        WHERE synthesizer = ? AND env = ? AND role = ? AND policy = ? AND model IS NOT DISTINCT FROM ? AND outcome <> 'invalid'
        ORDER BY task_id, trial, trajectory_id
    """
    with connect(run.ledger) as connection:
        rows = connection.execute(sql, [BASE, env, role_name, role.policy.name, role.policy.model]).fetchall()
    return [Trial(*row) for row in rows]


def recorded_tests(run: Run, stage_key: str) -> list[Recorded]:
    """All test rows under a stage's key."""
    return _rows(run, stage_key, TEST)


def unlabelled(run: Run, stage_key: str, tests: Sequence[Recorded]) -> list[Recorded]:
    """The test rows of states that have no label yet."""
    labelled = {(row.trajectory_id, row.turn) for row in _rows(run, stage_key, LABEL)}
    return [row for row in tests if (row.trajectory_id, row.turn) not in labelled]


def used_elsewhere(run: Run, stage_key: str, tests: Collection[Recorded]) -> tuple[str, ...]:
    """Continuations that the tests have counted, and that were played under other settings of the stage."""
    own = {record.trajectory_id for shard in run.ledger.state.shards if shard.stage_key == stage_key for record in shard.slots}
    used = {identity for row in tests for side in ("pos_ids", "neg_ids") for identity in row.detail.get(side, ())}
    return tuple(sorted(used - own))


def _rows(run: Run, stage_key: str, metric: str) -> list[Recorded]:
    sql = "SELECT subject_id, turn, value, detail FROM scores_all WHERE stage_key = ? AND metric = ? ORDER BY subject_id, turn, detail"
    with connect(run.ledger) as connection:
        rows = connection.execute(sql, [stage_key, metric]).fetchall()
    return [Recorded(identity, turn, value, _detail(detail)) for identity, turn, value, detail in rows]


def _detail(text: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = msgspec.json.decode(text)
    return found
