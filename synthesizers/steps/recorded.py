"""What the ledger holds for a stage of step tests: the base trials, and the tests that are done."""

from collections.abc import Mapping

import msgspec

from synth.engine.context import Role, Run
from synth.ledger.state import IMPORT
from synth.ledger.typed import read
from synth.ledger.views import connect
from synth.schemas.labels import StepLabel
from synth.synthesizers.steps.labels import TEST, Recorded

BASE = "rollout"
"""The synthesizer of base trials."""


class Trial(msgspec.Struct, frozen=True):
    """A base trial without its turns."""

    trajectory_id: str
    task_id: str
    outcome: str
    imported: bool


def base_trials(run: Run, env: str, role_name: str, role: Role) -> list[Trial]:
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
    with connect(run.ledger) as connection:
        rows = connection.execute(
            sql, [IMPORT, IMPORT, BASE, env, role_name, role.policy.name, role.policy.model]
        ).fetchall()
    return [Trial(*row) for row in rows]


def decisive_drops(run: Run, stage: str) -> Mapping[str, tuple[int, ...]]:
    """Trajectory -> the turns at which a `topology` before this stage saw the success potential
    fall, the lowest first.
    """
    names = list(run.ledger.state.stages)
    before = names[: names.index(stage)] if stage in names else names
    sql = (
        "SELECT subject_id, list(turn ORDER BY value, turn) FROM scores WHERE metric = "
        "'decisive_drop' AND stage IN (FROM unnest(?)) "
    )
    with connect(run.ledger) as connection:
        rows = connection.execute(sql + "GROUP BY 1 ORDER BY 1", [before]).fetchall()
    return {identity: tuple(turns) for identity, turns in rows}


def recorded_tests(run: Run, stage_key: str) -> list[Recorded]:
    """All test rows under a stage's key."""
    return list(read(run.ledger, StepLabel, (TEST,), stage_key=stage_key))
