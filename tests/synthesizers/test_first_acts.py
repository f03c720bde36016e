"""Each act of a task is tested so often and no more, the earlier trials first."""

import msgspec

from synth.schemas import Trajectory, Turn
from synth.synthesizers.first_acts import first_acts
from tests.trajectories import make_trajectory


def trial(task: str, *said: str) -> Trajectory:
    turns = tuple(Turn(at, text) for at, text in enumerate(said))
    return msgspec.structs.replace(make_trajectory(turns=0, task_id=task), turns=turns)


LISTED = {
    "first": (trial("t", "look", "cancel", "finish"), [2, 1, 0]),
    "second": (trial("t", "ask", "cancel", "finish"), [2, 1, 0]),
    "third": (trial("t", "look", "cancel", "finish"), [2, 1, 0]),
    "elsewhere": (trial("u", "look", "cancel", "finish"), [2, 1, 0]),
}


def test_an_act_that_another_trial_of_the_task_has_tested_gives_way_to_the_next_one() -> None:
    assert first_acts(LISTED, 2, 1) == {
        "first": {2, 1},  # finish, cancel
        "second": {0},  # ask: both others are taken
        "third": {0},  # look, which nobody has taken yet
        "elsewhere": {2, 1},
    }


def test_so_many_tests_of_an_act_are_allowed() -> None:
    assert first_acts(LISTED, 2, 2) == {
        "first": {2, 1},
        "second": {2, 1},
        "third": {0},
        "elsewhere": {2, 1},
    }


def test_one_trial_does_not_test_an_act_twice_either() -> None:
    assert first_acts({"one": (trial("t", "look", "look", "look"), [2, 0])}, 3, 1) == {"one": {2}}
