"""The trials of a run as foreign data in a ledger of their own: nobody played them there."""

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from synth.ledger.ledger import StageRef, StoredLedger
from synth.schemas.trajectory import Turn


def as_import(url: Path, *, spoilt: bool = False, **changes: Any) -> Path:
    """The rollout's trials as imports, their tasks with `changes`; `spoilt`: with an answer that
    their world did not give. The ledger.
    """
    ledger = StoredLedger(str(url))
    trials = [t for t in ledger.trajectories() if t.synthesizer == "rollout"]
    tasks = {
        task_id: replace(task, **changes)
        for task_id, task in ledger.tasks({t.task_id for t in trials}).items()
    }
    imports = StoredLedger(f"{url}-imports", create=True)
    foreign = {
        "env": next(iter(tasks.values())).env,
        "synthesizer": "import",
        "role": None,
        "policy": "theirs",
    }
    imports.commit(
        StageRef("import", "import"),
        tasks=list(tasks.values()),
        trajectories=[
            replace(
                t,
                slot_id=f"import {t.slot_id}",
                turns=_spoilt(t.turns) if spoilt else t.turns,
                **foreign,
            )
            for t in trials
        ],
    )
    return Path(f"{url}-imports")


def _spoilt(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    return (
        replace(
            turns[0], observations=(replace(turns[0].observations[0], content="another answer"),)
        ),
        *turns[1:],
    )
