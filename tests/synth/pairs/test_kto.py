"""KTO labels: acts that a confirmed test set against each other at one state, each negative beside
a positive at such a state.
"""

from pathlib import Path
from typing import Any

import pytest

from synth.pairs import KtoReport, LabelSettings, kto_labels
from synth.schemas.trajectory import Authorship
from tests.synth.pairs.planted import accepted, act, fork, planted, run, valued

pytestmark = pytest.mark.slow
Found = list[tuple[str, int, bool, str | None]]


def labels(ledger: Any, **settings: Any) -> tuple[Found, KtoReport]:
    report = KtoReport()
    rows = list(kto_labels(ledger, LabelSettings(**settings), report))
    return [
        (row.label.trajectory_id, row.label.turn, row.label.desirable, row.label.matched_by)
        for row in rows
    ], report


def test_the_act_that_lost_and_the_one_that_won_share_their_prompt(tmp_path: Path) -> None:
    base, good = fork("a")
    solved = run("trial", act(0), act(1, "take"), solved=True, trial=1)
    found, report = labels(
        planted(tmp_path, [base, good, solved], [accepted(base, 1, good), valued(base, 1, 0, 4)])
    )
    assert sorted(found) == sorted(
        [(base.trajectory_id, 1, False, "prompt"), (good.trajectory_id, 1, True, None)]
    )
    assert (report.desirable, report.undesirable, report.matched) == (1, 1, {"prompt": 1})


def test_a_negative_without_a_positive_at_such_a_state_is_left_out(tmp_path: Path) -> None:
    base, good = fork("a")
    solved = run("trial", act(0), act(1, "take"), solved=True, trial=1)
    ledger = planted(
        tmp_path,
        [base, good, solved],
        [accepted(base, 1, good, alternative_authorship=Authorship.SCRIPTED.value)],
    )
    found, report = labels(ledger)
    assert (found, report.left_out) == ([], {"scripted": 1, "no_positive_at_such_a_state": 1})


def test_a_positive_of_another_task_at_the_same_kind_of_state_is_enough(tmp_path: Path) -> None:
    base, good = fork("a", task="a")
    other, better = fork("b", better="sell", task="b", opening=())
    trials = [
        run(f"trial {name}", act(0), act(1, "take"), solved=True, trial=1, task=name)
        for name in "ab"
    ]
    scores = [
        accepted(base, 1, good, alternative_authorship="scripted"),
        accepted(other, 1, better),
    ]
    found, report = labels(planted(tmp_path, [base, good, other, better, *trials], scores))
    assert sorted(found) == sorted(
        [
            (base.trajectory_id, 1, False, "stratum"),
            (other.trajectory_id, 1, False, "prompt"),
            (better.trajectory_id, 1, True, None),
        ]
    )
    assert report.strata == {"echo|look|5": 3}


def test_no_rate_makes_an_act_desirable_only_a_test_at_its_state_does(tmp_path: Path) -> None:
    """One of two trials passes. An act that passes always stands at an easy state: that says
    nothing of the act, nor does a test that was not accepted, or not confirmed.
    """
    base, good = fork("a")
    weak, other = fork("b", better="sell")
    solved = run("trial", act(0), act(1, "take"), solved=True, trial=1)
    scores = [valued(base, 1, 8, 8, 1.0), accepted(base, 1, good, status="rejected")]
    scores += [valued(weak, 1, 0, 8, 0.0), accepted(weak, 1, other, status="weak")]
    found, report = labels(planted(tmp_path, [base, good, weak, other, solved], scores))
    assert (found, report.desirable, report.undesirable) == ([], 0, 0)


def test_a_flip_that_only_the_own_act_survives_makes_it_desirable(tmp_path: Path) -> None:
    base, worse = fork("a")
    solved = run("base a", act(0), act(1, "drop"), solved=True)
    flip = {"method": "flip_deterministic", "status": "rejected", "q_pos": 0.0, "q_neg": 1.0}
    found, _ = labels(
        planted(tmp_path, [solved, worse], [accepted(base, 1, worse, n_pos=1, n_neg=1, **flip)])
    )
    assert found == [(solved.trajectory_id, 1, True, None)]


def test_a_task_that_nobody_solved_gives_no_negatives(tmp_path: Path) -> None:
    base, good = fork("a")
    _, report = labels(planted(tmp_path, [base, good], [accepted(base, 1, good)]))
    assert report.left_out["all_fail_not_proven_solvable"] == 1
    assert report.undesirable == 0
