"""Tasks that cannot be made again, or that refuse too much, are caught."""

import msgspec
import pytest

from synth.envs.echo import make_tasks
from synth.schemas.check import Check, Refusal
from synth.schemas.task import Task
from tests.envs.conformance.broken_worlds import (
    SERIAL,
    AcceptsNoDenial,
    PassesWhoeverDenies,
    TakesWordsByIdentity,
)
from tests.envs.conformance.planted import finding, world


def unstable_tasks(config, seed, count):
    return make_tasks(config, next(SERIAL), count)


def one_task_many_times(config, seed, count):
    return tuple(make_tasks(config, seed, 1)) * count


def tasks_of_any_id(config, seed, count):
    return tuple(
        msgspec.structs.replace(task, task_id=f"{seed}-{place}")
        for place, task in enumerate(make_tasks(config, seed, count))
    )


def tasks_that_ignore_the_seed(config, seed, count):
    return make_tasks(config, 0, count)


def tasks_that_depend_on_their_number(config, seed, count):
    return make_tasks(config, seed * 100 + count, count)


@pytest.mark.parametrize(
    ("tasks", "detail"),
    [
        (unstable_tasks, "second time"),
        (one_task_many_times, "same id"),
        (tasks_of_any_id, "not the hash"),
        (tasks_that_ignore_the_seed, "another seed"),
        (tasks_that_depend_on_their_number, "how many"),
    ],
)
def test_tasks_that_cannot_be_told_apart_or_made_again_are_caught(tasks, detail):
    found = finding("tasks_by_seed", world(tasks=tasks))
    assert found.passed is False
    assert detail in found.detail


def test_tasks_that_forget_the_settings_of_their_world_are_caught():
    def forgetful(config, seed, count):
        fields = [msgspec.structs.asdict(task) for task in make_tasks(config, seed, count)]
        return tuple(
            Task.identified(**{**{k: v for k, v in f.items() if k != "task_id"}, "env_config": {}})
            for f in fields
        )

    found = finding(
        "tasks_open_their_world", world(tasks=forgetful), {"turns": 3, "payload_bytes": 9}
    )
    assert found.passed is False
    assert "read back and opened from its env_config: turn 0: observations" in found.detail


def test_a_world_that_plays_a_stored_task_otherwise_is_caught():
    def tuples(config, seed, count):
        fields = [msgspec.structs.asdict(task) for task in make_tasks(config, seed, count)]
        return tuple(
            Task.identified(
                **{k: v for k, v in f.items() if k != "task_id"} | {"script": {"words": (1, 2)}}
            )
            for f in fields
        )

    found = finding("tasks_open_their_world", world(TakesWordsByIdentity, tasks=tuples))
    assert found.passed is False
    assert "read back" in found.detail


def refusing(tasks_of=make_tasks, *, refused=lambda place: True):
    def tasks(config, seed, count):
        fields = [msgspec.structs.asdict(task) for task in tasks_of(config, seed, count)]
        checks = [
            Check(refusals=(Refusal("1", "R1"),) if refused(place) else ())
            for place in range(count)
        ]
        return tuple(
            Task.identified(**{k: v for k, v in f.items() if k != "task_id"} | {"check": c})
            for f, c in zip(fields, checks, strict=True)
        )

    return tasks


def test_refusing_everything_may_pass_a_fifth_of_the_tasks_and_only_those_with_refusals():
    name = "refuse_all_is_bounded"
    too_often = finding(name, world(PassesWhoeverDenies, tasks=refusing()))
    assert too_often.passed is False
    assert "passes 2 of 2, allowed 1" in too_often.detail
    assert "4 of 4 denials accepted, 2 tasks with refusals" in too_often.detail
    undeserved = finding(
        name, world(PassesWhoeverDenies, tasks=refusing(refused=lambda place: place == 0))
    )
    assert undeserved.passed is False
    assert "ask for no refusal" in undeserved.detail


def test_a_refuser_whose_denials_are_all_errors_proves_nothing():
    found = finding("refuse_all_is_bounded", world(AcceptsNoDenial, tasks=refusing()))
    assert found.passed is None
    assert "all 4 denials" in found.detail
