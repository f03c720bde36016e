"""The recovery view: what made it worse carries no loss, what mended it does, and nothing is cut
out.
"""

from pathlib import Path

import pytest

from synth.ledger.decisions import with_decisions
from synth.ledger.ledger import Decision, Score
from synth.loss_turns import MASKS
from synth.selection.recoveries import excursion_masks, recoveries
from synth.set_aside import SetAside
from synth.topology.trajectory_measures import Excursion
from tests.synth.pairs.planted import planted
from tests.trajectories import make_trajectory

KNOWN = Excursion(turn=2, back=6, diagnosed=("re_read",))
BY_TURN = (0.1, 0.2, -0.1, None, -0.3, None, 0.2, 0.3)
#          fine       falls      lowest      back


def test_turns_down_to_the_lowest_potential_are_masked_and_those_that_lead_back_are_learnt() -> (
    None
):
    assert excursion_masks([KNOWN], BY_TURN, range(8)) == dict.fromkeys((2, 3, 4), "excursion")


def test_of_several_turns_that_are_as_low_the_last_one_ends_what_is_masked() -> None:
    assert set(excursion_masks([KNOWN], (0.1, 0.2, -0.3, -0.3, -0.1, -0.1, 0.2), range(7))) == {
        2,
        3,
    }


def test_what_was_left_without_a_diagnosis_is_masked_up_to_the_return() -> None:
    assert set(excursion_masks([Excursion(2, 6)], BY_TURN, range(8))) == {2, 3, 4, 5}


def test_what_was_never_left_is_masked_to_the_end() -> None:
    assert set(excursion_masks([Excursion(5, None)], BY_TURN, range(8))) == {5, 6, 7}


def test_what_a_decision_says_of_a_row_comes_back_with_its_verdict(tmp_path: Path) -> None:
    base, taken = make_trajectory("base"), make_trajectory("taken")
    ledger = planted(
        tmp_path,
        [base, taken],
        [],
        decisions=[
            Decision(taken.trajectory_id, "select", True, "recovered", None, {MASKS: {3: "a"}}),
            Decision(taken.trajectory_id, "secrets", True, "clean", None, {"findings": []}),
        ],
    )
    said = {one.slot_id: verdicts for one, verdicts in with_decisions(ledger, SetAside())}
    assert said["base"] == {}
    masks = {name: verdict.masks for name, verdict in said["taken"].items()}
    assert masks == {"select": {3: "a"}, "secrets": {}}


def test_a_clean_trajectory_has_no_masks() -> None:
    assert excursion_masks([], BY_TURN, range(8)) == {}


def test_indices_are_those_of_the_trajectory_whose_first_turn_was_canned() -> None:
    assert set(excursion_masks([KNOWN], BY_TURN, range(1, 9))) == {3, 4, 5}


@pytest.mark.parametrize("back", [6, None])
def test_the_same_from_what_the_stage_topology_has_written(
    back: int | None, tmp_path: Path
) -> None:
    found = Excursion(2, back, ("undo",))
    recovered = {"excursions": [{"turn": 2, "back": back, "diagnosed": ["undo"]}]}
    potential = {"turns": list(range(8)), "by_turn": list(BY_TURN)}
    base = make_trajectory("base", turns=8)
    scores = [
        Score(base.trajectory_id, "recovered", 1.0, detail=recovered),
        Score(base.trajectory_id, "potential", 0.1, detail=potential),
    ]
    ledger = planted(tmp_path, [base, make_trajectory("other")], scores)
    masks = excursion_masks([found], BY_TURN, range(8))
    assert recoveries(ledger).masks == {base.trajectory_id: masks}
