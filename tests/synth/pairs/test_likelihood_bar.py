"""The bar on injected rejected turns, by what a student makes of both turns."""

from pathlib import Path
from typing import Any

import pytest

from synth.ledger.ledger import Score
from synth.pairs import PairReport, PairSettings, preference_pairs
from synth.pairs.experiments import Surprisals, bar
from synth.schemas.evidence.pairs import PairFamily
from tests.synth.pairs.planted import accepted, act, planted, run

TWIN = run("twin", act(0), act(1, "take"), solved=True)
WRONG = run(
    "wrong", act(0), act(1, "drop"), solved=False, parent_id=TWIN.trajectory_id, pivot_turn=1
)


def known(good: tuple[float, ...], bad: tuple[float, ...], other: str = "tiny") -> Surprisals:
    return {
        TWIN.trajectory_id: {("tiny", "w", "t"): good},
        WRONG.trajectory_id: {(other, "w", "t"): bad},
    }


@pytest.mark.parametrize(
    ("measured", "student", "reason"),
    [
        (known((9.0, 0.5), (9.0, 1.0)), None, None),
        (known((9.0, 0.5), (9.0, 1.0)), "tiny", None),
        (known((9.0, 0.5), (9.0, 1.01)), None, "unlikely_rejected"),
        (known((9.0, 0.5), (9.0, 1.0)), "another", "likelihood_unknown"),
        (known((9.0, 0.5), (9.0, 1.0), other="large"), None, "likelihood_unknown"),
        (known((0.5,), (9.0, 1.0)), None, "likelihood_unknown"),
        ({}, None, "likelihood_unknown"),
    ],
    ids=[
        "twice_is_allowed",
        "named_student",
        "more_than_twice",
        "another_student",
        "two_students",
        "a_turn_without_tokens",
        "nothing",
    ],
)
def test_both_turns_are_compared_under_one_student(
    measured: Any, student: str | None, reason: str | None
) -> None:
    assert bar(TWIN, WRONG, 1, measured, student) == reason


@pytest.mark.slow
@pytest.mark.parametrize(("nats", "reason"), [(4.0, None), (4.2, "injection_unlikely_rejected")])
def test_measures_of_the_filter_in_the_ledger_decide_where_nothing_was_recorded(
    tmp_path: Path, nats: float, reason: str | None
) -> None:
    """Two tokens at the turn: 2 nats for the chosen one, `nats` for the injected one; the bar is
    twice the mean.
    """
    under = {"student": "tiny", "weights_id": "w", "template_hash": "t"}
    rsr = [
        Score(one.trajectory_id, "rsr", 1.5, None, {**under, "turns": [[3, 8.0, 2], [4, sums, 2]]})
        for one, sums in ((TWIN, 2.0), (WRONG, nats))
    ]
    detail = {
        **dict(accepted(WRONG, 1, TWIN).detail or {}),
        "clean_twin_id": TWIN.trajectory_id,
        "strategy": "natural",
    }
    report = PairReport()
    ledger = planted(
        tmp_path, [TWIN, WRONG], [Score(WRONG.trajectory_id, "injection", 1.0, 1, detail), *rsr]
    )
    rows = list(preference_pairs(ledger, PairSettings(), report))
    assert report.left_out == ({} if reason is None else {reason: 1})
    assert [row.pair.family for row in rows] == ([PairFamily.INJECTION] if reason is None else [])
