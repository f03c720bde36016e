"""A pool's tables need a pool that was graded."""

from pathlib import Path

import msgspec
import pytest

from benchmarks.repo.graded import graded
from synth.envs.repo.bots.tiers import REFUSED
from synth.envs.repo.making.pool.files import write_pool, write_task
from synth.schemas import ConfigError
from tests.envs.repo.making.test_lanes import graded as task
from tests.envs.repo.making.test_lanes import library


def test_tasks_that_were_taken_out_are_among_all_and_not_among_those_left(tmp_path: Path) -> None:
    made = [msgspec.structs.replace(task(name, 1), about={REFUSED: "9 of 10"}) for name in "ab"]
    for one in made:
        write_task(tmp_path, one)
    write_pool(tmp_path, [library("lib")], [made[1].id])
    every, left = graded(tmp_path)
    assert {one.id for one in every} == {one.id for one in made}
    assert [one.id for one in left] == [made[1].id]


def test_a_pool_that_was_not_graded_is_refused(tmp_path: Path) -> None:
    one = msgspec.structs.replace(task("a", 1), about={"wrong_refused": "8 of 8"})
    write_task(tmp_path, one)
    write_pool(tmp_path, [library("lib")], [one.id])
    with pytest.raises(ConfigError, match=r"1 of 1 tasks are not graded; `synth repo grade "):
        graded(tmp_path)
