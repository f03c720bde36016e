"""Which tasks are kept: distinct ones first, and none whose answer can be guessed (T7)."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from schemas.check import Check, RowPredicate, ToldFact
from schemas.task import Task
from synthesizers.reverse.choosing import chosen, distinctness


def task(number: int, signature: str, structure: str = "s", check: Check | None = None) -> Task:
    difficulty = {"signature": signature, "structure": structure, "tests": {"T7": {"passed": None}}}
    check = check or Check(required=(RowPredicate("orders", {"id": str(number), "status": "x"}),))
    return Task.identified(env="w", goal=f"goal {number}", seed=number, check=check, difficulty=difficulty)


def asks(number: int, value: int) -> Task:
    return task(number, "look", "price of <item>", Check(told=(ToldFact("money", value),)))


def test_one_of_each_kind_comes_before_a_second_of_any() -> None:
    common = [task(number, "cancel") for number in range(5)]
    rare = [task(10, "return"), task(11, "return", "other words")]
    kept = chosen([*common, *rare], 4)
    assert Counter(map(distinctness, kept.tasks)) == {("cancel", "s"): 2, ("return", "s"): 1, ("return", "other words"): 1}
    assert kept.left_out == {"more_than_asked_for": 3}


def test_an_answer_that_is_right_more_often_than_in_one_of_five_cases_can_be_guessed() -> None:
    spread = [asks(number, number % 5) for number in range(20)]
    kept = chosen(spread, None)
    assert len(kept.tasks) == 20
    assert {str(t.difficulty["tests"]["T7"]) for t in kept.tasks} == {"{'passed': True, 'commonest_answer': 0.2, 'of': 20}"}
    uneven = [*spread, asks(20, 0)]
    assert chosen(uneven, None).left_out == {"T7_answer_can_be_guessed": 21}


def test_few_cases_do_not_show_that_an_answer_cannot_be_guessed() -> None:
    assert chosen([asks(0, 7), asks(1, 8)], None).tasks == ()


def test_what_is_told_beside_a_change_is_no_answer_alone() -> None:
    both = task(0, "cancel", check=Check(required=(RowPredicate("o", {"id": "1"}),), told=(ToldFact("money", 7),)))
    assert chosen([both], None).tasks == (both,)


@given(st.lists(st.sampled_from(["a", "b", "c"]), max_size=12), st.one_of(st.none(), st.integers(1, 12)))
def test_kinds_are_kept_as_evenly_as_can_be(signatures: list[str], most: int | None) -> None:
    tasks = [task(number, signature) for number, signature in enumerate(signatures)]
    kept = chosen(tasks, most).tasks
    assert len(kept) == min(len(tasks), most or len(tasks))
    assert set(t.task_id for t in kept) <= set(t.task_id for t in tasks)
    of_kind, there = Counter(t.difficulty["signature"] for t in kept), Counter(signatures)
    for one in there:
        for other in there:
            assert of_kind[one] >= min(there[one], of_kind[other] - 1)
