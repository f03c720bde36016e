"""Selection: how many rows a task gets, which of its successes they are, and what is said of the
others.
"""

from collections import Counter
from collections.abc import Hashable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.selection.candidates import composition, share
from synth.selection.choosing import Candidate, SftSelection, TaskQuota, allocated, chosen


def success(name: str, task: str = "t", **changes: Any) -> Candidate:
    given: dict[str, Any] = {
        "trajectory_id": name,
        "task_id": task,
        "strategy": name,
        "loss": 100,
        "evidence": ("process",),
    }
    return Candidate(**given | changes)


def taken(found: dict[str, tuple[bool, str]]) -> set[str]:
    return {name for name, (keep, _) in found.items() if keep}


def test_tasks_in_the_middle_get_most_rows() -> None:
    tasks = {"middle": TaskQuota(8, 4, 8), "easy": TaskQuota(8, 8, 8), "hard": TaskQuota(8, 1, 8)}
    # sqrt(p (1 - p)), p shrunk by Beta(2, 2): middle 1/2 -> .5; easy 10/12 -> .373; hard 3/12 ->
    # .433; of 13 rows: 4.98, 3.71, 4.31
    assert allocated(tasks, 13, 8) == {"easy": 4, "hard": 4, "middle": 5}


def test_what_a_task_cannot_take_goes_to_the_others() -> None:
    tasks = {"a": TaskQuota(8, 4, 1), "b": TaskQuota(8, 4, 8), "c": TaskQuota(8, 0, 0)}
    assert allocated(tasks, 6, 4) == {"a": 1, "b": 4}


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=3),
        st.tuples(st.integers(1, 9), st.integers(0, 9), st.integers(0, 9)),
        max_size=8,
    ),
    st.integers(0, 40),
    st.integers(1, 5),
)
def test_never_more_than_asked_for_capped_or_available(
    drawn: dict[str, tuple[int, int, int]], rows: int, cap: int
) -> None:
    tasks = {
        task: TaskQuota(trials, min(successes, trials), available)
        for task, (trials, successes, available) in drawn.items()
    }
    found = allocated(tasks, rows, cap)
    limits = {task: min(cap, standing.available) for task, standing in tasks.items()}
    assert all(0 <= count <= limits[task] for task, count in found.items())
    assert sum(found.values()) == min(rows, sum(limits.values()))


def test_successes_that_came_as_such_take_no_place_of_those_that_a_check_found() -> None:
    found = chosen(
        [
            success("checked", strategy="x", rank=(0.0,)),
            success("better", strategy="x", rank=(2.0,), declared=True),
            success("worse", strategy="x", rank=(1.0,), declared=True),
        ],
        {"t": (8, 4)},
        SftSelection(per_task=1, cap=1),
    )
    assert {name for name, (taken, _) in found.items() if taken} == {"checked", "better"}


def test_the_second_row_of_a_task_has_another_strategy() -> None:
    found = chosen(
        [
            success("a", strategy="x", rank=(1.0,)),
            success("b", strategy="x", rank=(2.0,)),
            success("c", strategy="y", rank=(0.0,)),
        ],
        {"t": (8, 4)},
        SftSelection(per_task=3),
    )
    assert taken(found) == {"b", "c"}
    assert found["a"] == (False, "strategy_taken")


def test_a_strategy_of_one_success_alone_needs_evidence_beside_others_and_stands_last() -> None:
    common = [
        success("a", strategy="x", rank=(1.0,), evidence=()),
        success("b", strategy="x", rank=(0.0,), evidence=()),
    ]
    best_but_rare = success("c", strategy="y", rank=(9.0,), evidence=())
    found = chosen([*common, best_but_rare], {"t": (8, 4)}, SftSelection())
    assert found["c"] == (False, "rare_strategy_unproven")
    assert taken(found) == {"a"}
    assert taken(chosen([best_but_rare], {"t": (8, 4)}, SftSelection())) == {"c"}


@pytest.mark.parametrize(
    ("successes", "evidence", "kept"), [(2, (), False), (2, ("provenance",), True), (3, (), True)]
)
def test_a_success_of_a_hard_task_needs_second_evidence(
    successes: int, evidence: tuple[str, ...], kept: bool
) -> None:
    found = chosen([success("a", evidence=evidence)], {"t": (8, successes)}, SftSelection())
    assert found["a"] == ((True, "chosen") if kept else (False, "lucky_unproven"))


def test_tasks_that_nearly_always_pass_have_a_bounded_share_of_the_loss() -> None:
    easy = [success(f"e{n}", f"easy{n}") for n in range(4)]
    others = [success(f"m{n}", f"middle{n}") for n in range(17)]
    standings = {
        one.task_id: (8, 8) if one.task_id.startswith("easy") else (8, 4)
        for one in [*easy, *others]
    }
    found = chosen([*easy, *others], standings, SftSelection(per_task=1))
    # 15 % of all: 3 of 20 rows of equal size
    assert len([name for name in taken(found) if name.startswith("e")]) == 3
    assert sum(reason == "easy_tasks_have_their_share" for _, reason in found.values()) == 1


def test_a_task_that_was_tried_less_than_four_times_is_not_called_easy() -> None:
    rows = [success("a", "once"), success("b", "thrice"), success("c", "middle")]
    assert taken(
        chosen(rows, {"once": (1, 1), "thrice": (3, 3), "middle": (8, 4)}, SftSelection())
    ) == {
        "a",
        "b",
        "c",
    }
    assert [TaskQuota(n, n, 1).easy for n in (1, 3, 4)] == [False, False, True]


def test_recoveries_have_a_bounded_share_of_the_loss() -> None:
    rows = [success(f"r{n}", f"a{n}", recovered=True) for n in range(5)] + [
        success(f"n{n}", f"b{n}") for n in range(18)
    ]
    found = chosen(rows, {one.task_id: (8, 4) for one in rows}, SftSelection(per_task=1))
    assert len([name for name in taken(found) if name.startswith("r")]) == 2


def test_recoveries_from_faults_of_the_world_come_before_those_from_mistakes_of_the_agent() -> None:
    sides = [success(f"r{n}", f"a{n}", recovered=True, world_fault=n in (2, 4)) for n in range(5)]
    rows = sides + [success(f"n{n}", f"b{n}") for n in range(18)]
    found = chosen(rows, {one.task_id: (8, 4) for one in rows}, SftSelection(per_task=1))
    assert {name for name in taken(found) if name.startswith("r")} == {"r2", "r4"}


DRAWN = st.lists(
    st.tuples(
        st.integers(0, 7),
        st.integers(0, 8),
        st.integers(1, 500),
        st.booleans(),
        st.integers(0, 3),
        st.booleans(),
    ),
    max_size=40,
)


@pytest.mark.slow
@given(DRAWN, st.integers(1, 5), st.floats(0.5, 4))
def test_no_task_has_more_than_its_cap_and_no_kind_more_than_its_share(
    drawn: list[tuple[int, int, int, bool, int, bool]], cap: int, per_task: float
) -> None:
    standings = {f"t{task}": (8, max(successes, 1)) for task, successes, *_ in drawn}
    rows = [
        success(
            f"{n}",
            f"t{task}",
            loss=loss,
            recovered=recovered,
            strategy=strategy,
            evidence=("process",) if proven else (),
        )
        for n, (task, _, loss, recovered, strategy, proven) in enumerate(drawn)
    ]
    found = chosen(rows, standings, SftSelection(per_task=per_task, cap=cap))
    assert found.keys() == {one.trajectory_id for one in rows}
    kept = [one for one in rows if found[one.trajectory_id][0]]
    by_task = Counter(one.task_id for one in kept)
    assert all(count <= cap for count in by_task.values())
    assert len({(one.task_id, one.strategy) for one in kept}) == len(kept)
    for most, limited in (
        (0.15, lambda one: standings[one.task_id][1] >= 7),
        (0.10, lambda one: one.recovered),
    ):
        bounded = sum(one.loss for one in kept if limited(one))
        assert bounded == sum(one.loss for one in kept) or bounded <= (most + 1e-9) * sum(
            one.loss for one in kept
        )


def test_where_every_task_is_easy_the_share_binds_nothing() -> None:
    rows = [success("a", "x"), success("b", "y")]
    assert taken(chosen(rows, {"x": (8, 8), "y": (8, 8)}, SftSelection())) == {"a", "b"}


@pytest.mark.slow
@given(
    st.permutations(
        [success(str(n), f"t{n % 3}", strategy=n % 4, rank=(float(n % 2),)) for n in range(12)]
    )
)
def test_the_order_in_which_candidates_come_changes_nothing(rows: list[Candidate]) -> None:
    standings = {f"t{n}": (8, 4) for n in range(3)}
    in_order = sorted(rows, key=lambda one: one.trajectory_id)
    assert chosen(rows, standings, SftSelection()) == chosen(in_order, standings, SftSelection())


def test_composition_is_counted_in_loss() -> None:
    parts: list[tuple[dict[str, Hashable], int]] = [
        ({"refusal": True}, 30),
        ({"refusal": False}, 70),
        ({"tool": "get"}, 5),
    ]
    found = composition(parts)
    assert found == {"refusal": {"False": 70, "True": 30}, "tool": {"get": 5}}
    assert (share(found, "refusal"), share(found, "recovery")) == ("30%", "nothing")
