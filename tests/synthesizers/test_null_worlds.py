"""Whole runs in a world whose chances are known: where states differ and acts do not nothing is
confirmed and nothing is desirable; where acts differ that is found, and said as it is.
"""

from pathlib import Path
from statistics import fmean

import pytest

from benchmarks.gates.dice import NAME, POLICY, STUDY
from synth.ledger import StoredLedger
from synth.ledger.typed import labels
from synth.pairs import KtoReport, LabelSettings, kto_labels
from synth.schemas.evidence.labels import StepLabel, given
from synth.schemas.flow import Flow
from tests.flow_files import run_flow

pytestmark = pytest.mark.slow


def found(folder: Path, ways: int, **world: float) -> tuple[list[StepLabel], KtoReport]:
    """The real tests of a run of 30 games, and what KTO makes of them."""
    flow = Flow.model_validate(
        {
            "name": "dice",
            "seed": 5,
            "env": {"name": NAME, "tasks": 30, **world},
            "models": {"explorer": {"policy": POLICY}},
            "stages": [{"rollout": {"trials": 2}}, {STUDY: {"ways": ways}}],
        }
    )
    url = str(folder / "run")
    run_flow(flow, url)
    ledger, report = StoredLedger(url), KtoReport()
    list(kto_labels(ledger, LabelSettings(include_scripted=True), report))
    tests = [row.about for row in labels(ledger, StepLabel) if not row.about.control]
    return tests, report


def test_where_states_differ_and_acts_do_not_nothing_is_confirmed_or_desirable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))
    tests, report = found(tmp_path, 2, spread=0.25)
    assert len(tests) == 120
    assert {one.status for one in tests} <= {"rejected", "weak"}
    assert (report.desirable, report.undesirable) == (0, 0)


def test_acts_that_matter_are_confirmed_and_their_effect_is_said_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))
    tests, report = found(tmp_path, 1, gap=0.6)
    confirmed = [one for one in tests if one.status == "confirmed"]
    assert len(confirmed) > 20
    assert report.desirable > 0
    said = fmean(given(one.q_confirm) for one in confirmed)
    seen = fmean(given(one.q_pos) - given(one.q_neg) for one in confirmed)
    assert abs(said - 0.6) < 0.12, "what fresh continuations say"
    assert seen > 0.7, "what the tests saw before they stopped"
