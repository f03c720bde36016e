"""Preference pairs: same prompt, one turn a side, evidence, policies named; what must not become
one is counted with its reason.
"""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from synth.ledger.ledger import Score
from synth.pairs import PairReport, PairSettings, preference_pairs
from synth.schemas.evidence.pairs import PairFamily
from synth.schemas.trajectory import Observation, Trajectory
from tests.synth.pairs.planted import STUDENT, accepted, act, fork, planted, run

pytestmark = pytest.mark.slow

Rows = list[Any]


def pairs(ledger: Any, **settings: Any) -> tuple[Rows, PairReport]:
    report = PairReport()
    return list(preference_pairs(ledger, PairSettings(**settings), report)), report


def _with(trajectory: Trajectory, **fields: Any) -> Trajectory:
    return msgspec.structs.replace(trajectory, **fields)


def test_an_accepted_test_is_a_pair_of_two_recorded_turns_after_one_prefix(tmp_path: Path) -> None:
    base, good = fork("a")
    (row,), report = pairs(planted(tmp_path, [base, good], [accepted(base, 1, good)]))
    pair = row.pair
    assert (pair.family, pair.prefix, pair.rejected) == (
        PairFamily.STEP,
        pair.rejected,
        pair.prefix,
    )
    assert (pair.prefix.trajectory_id, pair.chosen.trajectory_id) == (
        base.trajectory_id,
        good.trajectory_id,
    )
    assert (row.chosen, row.rejected) == (good.turns[1], base.turns[1])
    assert (pair.evidence.q_pos, pair.evidence.n_pos, pair.evidence.q_neg, pair.evidence.n_neg) == (
        1.0,
        4,
        0.0,
        4,
    )
    assert report.policies == {(STUDENT, STUDENT, STUDENT): 1}
    assert (pair.off_policy, pair.chosen_length) == (False, len("take") + len('{"what": "lamp"}'))


def test_a_prefix_that_differs_in_one_byte_is_no_pair(tmp_path: Path) -> None:
    base, good = fork("a")
    other = act(0, observations=(Observation("a lamp.", call_id="c0", name="look"),))
    good = _with(good, turns=(other, good.turns[1]))
    assert pairs(planted(tmp_path, [base, good], [accepted(base, 1, good)]))[1].left_out == {
        "prefix_differs": 1
    }


def test_acts_that_do_the_same_are_no_pair_whatever_their_white_space(tmp_path: Path) -> None:
    base, good = fork("a", better="drop")
    assert pairs(planted(tmp_path, [base, good], [accepted(base, 1, good)]))[1].left_out == {
        "same_act": 1
    }


def test_a_retry_makes_a_pair_only_where_a_test_of_its_very_act_was_accepted(
    tmp_path: Path,
) -> None:
    base, good = fork("a")
    same = run(
        "retry same",
        act(0),
        act(1, "take"),
        solved=True,
        parent_id=base.trajectory_id,
        pivot_turn=1,
        guidance="Take it.",
    )
    other = run(
        "retry other",
        act(0),
        act(1, "sell"),
        solved=True,
        parent_id=base.trajectory_id,
        pivot_turn=1,
        guidance="Sell it.",
    )
    told = [
        Score(base.trajectory_id, "reflection", 1.0, 1, {"retry": one.trajectory_id})
        for one in (same, other)
    ]
    scripted = accepted(base, 1, good, alternative_authorship="scripted", alternative_from="expert")
    (row,), report = pairs(planted(tmp_path, [base, good, same, other], [scripted, *told]))
    assert (row.pair.family, row.pair.chosen_policy) == (PairFamily.PIVOT, f"{STUDENT}+guidance")
    assert report.left_out == {"pivot_without_evidence": 1, "scripted": 1}


def test_corrections_are_the_experts_and_read_from_what_the_flow_does_not_see(
    tmp_path: Path,
) -> None:
    base, good = fork("a")
    score = accepted(base, 1, good)
    repair = msgspec.structs.replace(score, metric="repair")
    ledger = planted(tmp_path, [base], [repair], apart=[good])
    assert pairs(ledger)[1].left_out == {"scripted": 1}
    (row,), _ = pairs(ledger, include_scripted=True)
    assert (row.pair.family, row.pair.chosen_policy, row.pair.rejected_policy) == (
        PairFamily.REPAIR,
        "expert",
        STUDENT,
    )


def test_faults_of_the_world_are_never_read(tmp_path: Path) -> None:
    base, good = fork("a")
    fault = msgspec.structs.replace(accepted(base, 1, good), metric="observation_fault")
    rows, report = pairs(planted(tmp_path, [base, good], [fault]))
    assert (rows, report.candidates, report.left_out) == ([], {}, {})
