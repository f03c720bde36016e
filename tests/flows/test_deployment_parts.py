"""Rollouts cut by task into parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.flows.deployment_parts import Part, of_part, part_of
from synth.schemas.errors import SynthError
from synth.schemas.stage import Plan, PlannedSlot, Shard


def slots(tasks: int) -> list[PlannedSlot]:
    return [
        PlannedSlot(f"slot {task} {trial}", f"task {task}", trial, 0)
        for task in range(tasks)
        for trial in range(2)
    ]


@given(tasks=st.integers(1, 40), count=st.integers(1, 9), size=st.integers(1, 7))
def test_each_slot_is_in_one_part_and_trials_of_a_task_stay_together(
    tasks: int, count: int, size: int
) -> None:
    items = slots(tasks)
    plan = Plan(
        [Shard(str(at), items[at : at + size]) for at in range(0, len(items), size)], by_slot=True
    )
    parts = [of_part(plan, Part("rollout", number, count)) for number in range(count)]
    given_out = [item for part in parts for shard in part.shards for item in shard.items]
    assert sorted(item.slot_id for item in given_out) == sorted(item.slot_id for item in items)
    owners: dict[str, set[int]] = {}
    for number, part in enumerate(parts):
        assert all(len(shard.items) <= size for shard in part.shards)
        for shard in part.shards:
            for item in shard.items:
                owners.setdefault(item.task_id, set()).add(number)
    assert all(len(found) == 1 for found in owners.values())


def test_work_that_is_not_a_slot_of_a_task_is_not_cut() -> None:
    assert of_part(Plan([Shard("all", [3])]), Part("tasks", 0, 2)).shards == ()


@given(
    st.builds(
        Part, st.sampled_from(["rollout", "rollout_2"]), st.integers(0, 4), st.integers(5, 500)
    )
)
def test_a_part_is_read_as_it_is_written(part: Part) -> None:
    assert part_of(str(part)) == part


@pytest.mark.parametrize(
    "written", ["", "rollout", "rollout:2/2", "rollout:-1/2", ":0/1", "rollout:a/b"]
)
def test_what_is_no_part_is_refused(written: str) -> None:
    with pytest.raises(SynthError, match="is not STAGE:NUMBER/COUNT"):
        part_of(written)
