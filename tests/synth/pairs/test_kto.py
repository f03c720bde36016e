"""KTO labels: positives at least as good as the task's trials, negatives confirmed, each beside a
positive at such a state.
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
    other = run("other", act(0), act(1, "sell"), solved=False, task="b", opening=base.opening[:0])
    trials = [
        run(f"trial {name}", act(0), act(1, "take"), solved=True, trial=1, task=name)
        for name in "ab"
    ]
    scores = [accepted(base, 1, good, alternative_authorship="scripted"), valued(other, 1, 3, 4)]
    found, report = labels(planted(tmp_path, [base, good, other, *trials], scores))
    assert sorted(found) == sorted(
        [(base.trajectory_id, 1, False, "stratum"), (other.trajectory_id, 1, True, None)]
    )
    assert report.strata == {"echo|look|5": 2}


def test_a_positive_passes_as_often_as_its_task_by_enough_continuations(tmp_path: Path) -> None:
    """Two trials of each task, one solved: a rate of one half."""
    counted = {"as often": (2, 4), "less often": (1, 4), "too few": (2, 2)}
    bases = {
        task: run(task, act(0), act(1, f"take_{n}"), solved=False, task=task)
        for n, task in enumerate(counted)
    }
    trials = [
        run(f"solved {task}", act(0), act(1, "sell"), solved=True, task=task, trial=1)
        for task in counted
    ]
    found, _ = labels(
        planted(
            tmp_path,
            [*bases.values(), *trials],
            [valued(bases[task], 1, *counts) for task, counts in counted.items()],
        )
    )
    assert found == [(bases["as often"].trajectory_id, 1, True, None)]


def test_a_task_that_nobody_solved_gives_no_negatives(tmp_path: Path) -> None:
    base, good = fork("a")
    _, report = labels(planted(tmp_path, [base, good], [accepted(base, 1, good)]))
    assert report.left_out["all_fail_not_proven_solvable"] == 1
    assert report.undesirable == 0
