"""The filter `split`: what is held out never stands on both sides, and the same tasks are held out
on every machine.
"""

from hashlib import blake2b
from random import Random

import pytest

from synth.filters.split import FILTER, held_out
from synth.schemas.task import Origin, Task
from synth.schemas.trajectory import Trajectory
from tests.filters.corpora import cases, chat, judged
from tests.trajectories import make_task

RNG = Random(2)


def text() -> str:
    return " ".join(f"w{RNG.randrange(5000)}" for _ in range(60))


def world(seed: int, goal: str = "Look.", **fields: object) -> Task:
    return make_task(goal=goal, env_config={"world_seed": seed}, **fields)


def test_a_share_of_the_worlds_is_held_out_and_no_world_stands_on_both_sides() -> None:
    tasks = [world(seed, f"goal {number}") for seed in range(200) for number in range(2)]
    rows = [chat(f"r{at}", text(), task_id=task.task_id) for at, task in enumerate(tasks)]
    found = judged(FILTER, cases(rows, {t.task_id: t for t in tasks}), share=0.2)
    sides: dict[int, set[bool | None]] = {}
    for task, row in zip(tasks, rows, strict=True):
        sides.setdefault(task.env_config["world_seed"], set()).add(found[row.trajectory_id].keep)
    assert all(len(side) == 1 for side in sides.values())
    assert (
        20 <= sum(side == {False} for side in sides.values()) <= 60
    )  # 40 of 200 expected, 3.5 standard deviations


def test_the_draw_is_fixed_for_all_machines() -> None:
    for seed in range(30):
        drawn = blake2b(b'["split",0,"world",["storefront",%d]]' % seed, digest_size=8).hexdigest()
        assert held_out(0, "world", ["storefront", seed], 0.25) is (
            drawn[0] in "0123"
        )  # a quarter: the first of 16 digits


def test_with_several_attributes_no_value_of_any_stands_on_both_sides() -> None:
    tasks = [
        make_task(
            goal=f"g{at}", env_config={"world_seed": at % 13}, difficulty={"kinds": [f"k{at % 7}"]}
        )
        for at in range(91)
    ]
    rows = [chat(f"r{at}", text(), task_id=task.task_id) for at, task in enumerate(tasks)]
    found = judged(
        FILTER, cases(rows, {t.task_id: t for t in tasks}), share=0.3, by=("world", "template")
    )
    train = [task for task, row in zip(tasks, rows, strict=True) if found[row.trajectory_id].keep]
    out = [
        (task, found[row.trajectory_id].detail["by"])
        for task, row in zip(tasks, rows, strict=True)
        if not found[row.trajectory_id].keep
    ]
    assert train
    assert {by for _, by in out} == {"world", "template"}
    for task, by in out:
        for other in train:
            if by == "world":
                assert task.env_config != other.env_config
            else:
                assert task.difficulty != other.difficulty


def held_world() -> int:
    return next(seed for seed in range(1000) if held_out(0, "world", ["echo", seed], 0.1))


def train_world() -> int:
    return next(seed for seed in range(1000) if not held_out(0, "world", ["echo", seed], 0.1))


def test_descendants_go_where_their_root_task_is() -> None:
    root, free = world(held_world()), world(train_world())
    made_of_root = world(train_world(), "made of it", parent=root.task_id)
    rows = [
        chat("root", text(), task_id=root.task_id),
        chat("retry", text(), task_id=root.task_id, parent_id="root"),
        chat("made", text(), task_id=made_of_root.task_id),
        chat("branch", text(), task_id=free.task_id, parent_id="retry"),
        chat("free", text(), task_id=free.task_id),
    ]
    found = judged(FILTER, cases(rows, {t.task_id: t for t in (root, free, made_of_root)}))
    assert {i: v.reason for i, v in found.items()} == {
        **{i: "held_out" for i in ("root", "retry", "made", "branch")},
        "free": "train",
    }
    assert found["made"].detail == {"by": "world", "root_task": root.task_id}


def test_what_a_world_has_held_out_stays_so() -> None:
    task = world(train_world(), split="held_out")
    row = chat("r", text(), task_id=task.task_id, split="held_out")
    assert judged(FILTER, cases([row], {task.task_id: task}))["r"].detail == {"by": "its_own_split"}


def test_near_copies_on_both_sides_go_to_the_held_out_side_with_all_trials_of_their_task() -> None:
    kept, leaky, free = (
        world(held_world()),
        world(train_world(), "leaky"),
        world(train_world(), "free"),
    )
    said = text()
    rows = [
        chat("kept", said, task_id=kept.task_id),
        chat("copy", f"{said} indeed", task_id=leaky.task_id),
        chat("trial", text(), task_id=leaky.task_id, trial=1),
        chat("free", text(), task_id=free.task_id),
    ]
    corpus = cases(rows, {t.task_id: t for t in (kept, leaky, free)})
    found = judged(FILTER, corpus)
    assert {i: v.reason for i, v in found.items()} == {
        "kept": "held_out",
        "copy": "leak",
        "trial": "leak",
        "free": "train",
    }
    assert found["copy"].detail == {"of": "kept"}
    assert judged(FILTER, corpus, leak_similarity=None)["copy"].keep is True


def test_an_imports_seed_is_no_world_and_a_generated_tasks_is_even_if_it_is_zero() -> None:
    tasks = [make_task(goal="imported", origin=Origin.IMPORT), make_task(goal="made", seed=0)]
    rows = [chat(f"r{at}", text(), task_id=task.task_id) for at, task in enumerate(tasks)]
    found = judged(FILTER, cases(rows, {t.task_id: t for t in tasks}))
    assert found["r0"].reason == "no_attribute"
    assert found["r1"].keep is not held_out(0, "world", ["echo", 0], 0.1)


def test_without_a_task_or_an_attribute_it_is_undefined_and_unknown_attributes_are_refused() -> (
    None
):
    task = make_task(env_config={})
    rows: list[Trajectory] = [
        chat("none", text(), task_id="nowhere"),
        chat("bare", text(), task_id=task.task_id),
    ]
    found = judged(FILTER, cases(rows, {task.task_id: task}), by=("policy",))
    assert [(v.keep, v.reason) for v in found.values()] == [
        (None, "no_task"),
        (None, "no_attribute"),
    ]
    with pytest.raises(ValueError, match="no attribute 'colour'"):
        FILTER.config(by=("colour",))
