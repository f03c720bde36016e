"""Which tasks are kept: distinct ones first."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from synth.schemas.check import Check, RowPredicate
from synth.schemas.task import Task
from synth.synthesizers.reverse.choosing import chosen, distinctness


def task(number: int, signature: str, structure: str = "s") -> Task:
    difficulty = {"signature": signature, "structure": structure}
    check = Check(required=(RowPredicate("orders", {"id": str(number), "status": "x"}),))
    return Task.identified(
        env="w", goal=f"goal {number}", seed=number, check=check, difficulty=difficulty
    )


def test_one_of_each_kind_comes_before_a_second_of_any() -> None:
    common = [task(number, "cancel") for number in range(5)]
    rare = [task(10, "return"), task(11, "return", "other words")]
    kept = chosen([*common, *rare], 4)
    assert Counter(map(distinctness, kept.tasks)) == {
        ("cancel", "s"): 2,
        ("return", "s"): 1,
        ("return", "other words"): 1,
    }
    assert kept.left_out == {"more_than_asked_for": 3}


def test_tasks_that_only_the_seed_of_their_exploration_tells_apart_are_one() -> None:
    def explored(seed: int, goal: str = "make a table", start: str = "a") -> Task:
        difficulty = {
            "signature": "create",
            "structure": "new",
            "exploration": f"reverse_task/{seed}",
        }
        config = {"digest": start, "explored_seed": seed}
        return Task.identified(
            env="w", goal=goal, seed=seed, env_config=config, check=Check(), difficulty=difficulty
        )

    tasks = [explored(1), explored(2), explored(3, goal="make another"), explored(4, start="b")]
    kept = chosen(tasks, None, ("explored_seed",))
    assert [task.seed for task in kept.tasks] == [1, 3, 4]
    assert kept.left_out == {"same_as_another": 1}
    assert len(chosen(tasks, None).tasks) == 4, (
        "in a world whose start is drawn from the seed they are four"
    )


@given(
    st.lists(st.sampled_from(["a", "b", "c"]), max_size=12),
    st.one_of(st.none(), st.integers(1, 12)),
)
def test_kinds_are_kept_as_evenly_as_can_be(signatures: list[str], most: int | None) -> None:
    tasks = [task(number, signature) for number, signature in enumerate(signatures)]
    kept = chosen(tasks, most).tasks
    assert len(kept) == min(len(tasks), most or len(tasks))
    assert set(t.task_id for t in kept) <= set(t.task_id for t in tasks)
    of_kind, there = Counter(t.difficulty["signature"] for t in kept), Counter(signatures)
    for one in there:
        for other in there:
            assert of_kind[one] >= min(there[one], of_kind[other] - 1)
