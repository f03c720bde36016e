"""The filter `leaks` with a model of random weights in this process: it is asked, found to know
nothing, and clears nothing.
"""

import asyncio
from io import StringIO
from pathlib import Path

import msgspec
import pytest

from synth.engine.progress import PlainProgress
from synth.filters.leaks import FILTER
from synth.filters.leaks.evidence import WEIGHT
from synth.flows.curate import curate
from synth.ledger.ledger import StageRef, StoredLedger
from synth.ledger.log.manifest import StageLine
from synth.ledger.views import connect
from synth.schemas import Flow, Turn
from tests.trajectories import make_trajectory

pytestmark = pytest.mark.slow
LESSON = "The oak table T-4417 has been recalled. Ask for the room first."
SAID = {"clean": "Which room is it for?", "unverified": "The oak one was recalled."}


def test_a_student_that_knows_nothing_is_not_heard(tmp_path: Path, random_model: Path) -> None:
    made = StoredLedger(str(tmp_path / "run"), create=True)
    plain = [make_trajectory(name, turns=0, task_id=name) for name in SAID]
    retries = [
        msgspec.structs.replace(
            one,
            pivot_turn=1,
            guidance=LESSON,
            turns=(Turn(0, "Let me see."), Turn(1, text)),
        )
        for one, text in zip(plain, SAID.values(), strict=True)
    ]
    made.commit(StageRef("import", "k"), trajectories=retries)
    made.begin_stage(StageLine("import", "k", {}, ""))
    student = {"engine": "transformers", "model": str(random_model)}
    flow = Flow.model_validate(
        {"name": "l", "models": {"student": student}, "stages": [{"filter": ["leaks"]}]}
    )
    run, _ = asyncio.run(curate(flow, made.storage.url, PlainProgress(StringIO())))

    with connect(run.ledger) as connection:
        decided = connection.execute("SELECT reason, detail FROM decisions").fetchall()
        scores = connection.execute(
            "SELECT value, detail FROM scores WHERE metric = ?", [WEIGHT]
        ).fetchall()

    assert {reason for reason, _ in decided} == set(SAID)
    assert "planted harmless turns" in dict(decided)["clean"]
    for value, detail in scores:
        kept = msgspec.json.decode(detail, type=FILTER.about)
        assert kept.weights == ((1, value),)
        assert kept.planted is not None
        assert not kept.heard
    assert len(scores) == len(retries)
