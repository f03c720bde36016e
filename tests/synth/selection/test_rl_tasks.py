"""RL tasks: the likelier a mixed group the better, and tasks that nobody has solved yet are not
lost.
"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.selection.rl_tasks import RlSelection, RlTask, band, ranked


def task(name: str, successes: int, trials: int = 8, **changes: Any) -> RlTask:
    return RlTask(task_id=name, trials=trials, successes=successes, **changes)


def test_the_chance_of_a_mixed_group_is_that_of_the_posterior() -> None:
    # 1 of 2 trials: Beta(2, 2), E[p^2] = (2/4)(3/5) = .3 = E[(1-p)^2]; a group of 2 is mixed with
    # .4
    assert ranked([task("a", 1, 2)], RlSelection(group=2, least=0.4))["a"].mixed == pytest.approx(
        0.4
    )
    # 8 of 8: Beta(9, 1), E[p^8] = 9/17, E[(1-p)^8] = 1 / C(17, 8) = 1/24310
    assert ranked([task("a", 8)], RlSelection())["a"].mixed == pytest.approx(1 - 9 / 17 - 1 / 24310)


def test_tasks_in_the_middle_come_first_and_those_that_always_pass_are_left_out() -> None:
    found = ranked([task("always", 8), task("half", 4), task("seldom", 2)], RlSelection())
    assert {name: (one.keep, one.reason, one.rank) for name, one in found.items()} == {
        "half": (True, "chosen", 1),
        "seldom": (True, "chosen", 2),
        "always": (False, "seldom_mixed", 3),
    }


def test_so_many_tasks_as_asked_for_and_ties_by_their_content_hash() -> None:
    found = ranked([task("b", 4), task("a", 4), task("c", 4)], RlSelection(tasks=2))
    assert [name for name, one in sorted(found.items(), key=lambda item: item[1].rank or 0)] == [
        "a",
        "b",
        "c",
    ]
    assert found["c"].reason == "enough_tasks"


def test_branching_breaks_ties_where_it_is_asked_for_and_nothing_else() -> None:
    tasks = [
        task("a", 4, branching=0.1),
        task("b", 4, branching=0.4),
        task("c", 4),
        task("d", 2, branching=1.0),
    ]
    assert [ranked(tasks, RlSelection(by_branching=True))[name].rank for name in "bacd"] == [
        1,
        2,
        3,
        4,
    ]
    assert [ranked(tasks, RlSelection())[name].rank for name in "abcd"] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("unsolved", "proven", "unproven"),
    [("proven", True, False), ("all", True, True), ("none", False, False)],
)
def test_unsolved_tasks_are_kept_beside_the_others_where_they_are_known_to_be_solvable(
    unsolved: Any, proven: bool, unproven: bool
) -> None:
    tasks = [task("p", 0, solvable=True), task("u", 0), task("x", 4)]
    found = ranked(tasks, RlSelection(tasks=1, unsolved=unsolved))
    assert (found["p"].keep, found["p"].reason, found["p"].rank) == (
        proven,
        "unsolved_but_solvable",
        None,
    )
    assert (found["u"].keep, found["u"].reason) == (unproven, "unsolved")
    assert found["x"].keep


def test_a_task_of_a_public_test_set_or_a_held_out_split_takes_no_place() -> None:
    found = ranked([task("a", 4, refused="benchmark"), task("b", 4)], RlSelection(tasks=1))
    assert (found["a"].keep, found["a"].reason) == (False, "benchmark")
    assert found["b"].keep


@given(st.permutations([task(str(n), n % 9, solvable=n % 2 == 0) for n in range(12)]))
def test_the_order_in_which_tasks_come_changes_nothing(tasks: list[RlTask]) -> None:
    assert ranked(tasks, RlSelection(tasks=3)) == ranked(
        sorted(tasks, key=lambda one: one.task_id), RlSelection(tasks=3)
    )


def test_bands_of_pass_rates() -> None:
    found = [
        band(one)
        for one in (task("a", 0), task("b", 2), task("c", 3), task("d", 8), task("e", 0, 0))
    ]
    assert found == ["up to 0", "up to 0.25", "up to 0.5", "up to 1", "untried"]
