"""The recovery view: what made it worse carries no loss, what mended it does, and nothing is cut
out.
"""

import pytest

from synth.selection.recovery_view import decided_masks, excursion_masks, recovery_masks
from synth.topology.trajectory_measures import Excursion

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


def test_what_decisions_say_of_a_row_is_put_together() -> None:
    assert decided_masks([{}, {"loss_masks": {"3": "excursion"}}, {"findings": []}]) == {
        3: "excursion"
    }


def test_a_clean_trajectory_has_no_masks() -> None:
    assert excursion_masks([], BY_TURN, range(8)) == {}


def test_indices_are_those_of_the_trajectory_whose_first_turn_was_canned() -> None:
    assert set(excursion_masks([KNOWN], BY_TURN, range(1, 9))) == {3, 4, 5}


@pytest.mark.parametrize("back", [6, None])
def test_the_same_from_what_the_stage_topology_has_written(back: int | None) -> None:
    found = Excursion(2, back, ("undo",))
    recovered = {"excursions": [{"turn": 2, "back": back, "diagnosed": ["undo"]}]}
    potential = {"turns": list(range(8)), "by_turn": list(BY_TURN)}
    assert recovery_masks(recovered, potential) == excursion_masks([found], BY_TURN, range(8))
