"""What grading takes out of a pool, and what a pool's making refuses."""

import asyncio
import shutil
from pathlib import Path

import msgspec
import pytest

from synth.envs.repo.bots.tiers import (
    BY_HEART,
    FORGED,
    MENDED_BY,
    NOT_TOLD,
    REFUSED,
    TOLD,
    refused_share,
)
from synth.envs.repo.making.pool.files import write_pool, write_task
from synth.envs.repo.making.pool.grading import (
    TAKES_FORGED,
    TAKES_VALUES,
    TAKES_WRONG,
    GradeLimits,
    grade_pool,
    ungraded,
)
from synth.envs.repo.making.pool.maker import Told, WantedTasks, make_pool
from synth.envs.repo.pool import read_pool
from synth.envs.repo.task_tree import unchanged_tools
from synth.schemas import ConfigError
from tests.envs.repo.making.test_lanes import graded, library


@pytest.mark.parametrize(
    ("said", "share"), [("7 of 8", 0.875), ("8 of 8", 1.0), ("0 of 2", 0.0), ("0 of 0", 1.0)]
)
def test_the_share_of_wrong_patches_that_a_check_refuses(said: str, share: float) -> None:
    task = msgspec.structs.replace(graded("a", 1), about={REFUSED: said})
    assert refused_share(task) == share


def test_of_graded_tasks_those_stay_that_refuse_enough_and_nothing_more_is_tried_with_others(
    tmp_path: Path,
) -> None:
    """9 of 10 are the least share; 8 of 9 are less. The library has no tree here:
    whatever would be tried with a task fails.
    """
    tasks = {
        "most": {REFUSED: "9 of 10", BY_HEART: TOLD, FORGED: TOLD, MENDED_BY: ""},
        "few": {REFUSED: "8 of 9"},
        "values": {REFUSED: "8 of 8", BY_HEART: NOT_TOLD, FORGED: TOLD},
        "forged": {REFUSED: "8 of 8", BY_HEART: TOLD, FORGED: NOT_TOLD},
    }
    made = [msgspec.structs.replace(graded(name, 1), about=about) for name, about in tasks.items()]
    for task in made:
        write_task(tmp_path, task)
    write_pool(tmp_path, [library("lib")], [one.id for one in made])
    assert ungraded(tmp_path, GradeLimits()) == 0
    found = asyncio.run(grade_pool(tmp_path, GradeLimits(), 1, Told()))
    assert found.dropped == {TAKES_WRONG: 1, TAKES_VALUES: 1, TAKES_FORGED: 1}
    assert found.tiers == {1: 1}
    assert read_pool(tmp_path).tasks == (made[0].id,)


def test_a_task_that_refused_too_few_is_tried_further_where_fewer_are_asked(tmp_path: Path) -> None:
    task = msgspec.structs.replace(graded("few", 1), about={REFUSED: "6 of 8"})
    write_task(tmp_path, task)
    write_pool(tmp_path, [library("lib")], [task.id])
    assert ungraded(tmp_path, GradeLimits(least_refused=0.7)) == 1


def test_tools_that_were_changed_are_refused(tmp_path: Path) -> None:
    (tmp_path / "tools" / "bin").mkdir(parents=True)
    (tmp_path / "tools" / "bin" / "pytest").write_text("one")
    write_pool(tmp_path, [library("lib")], [])
    unchanged_tools(tmp_path)
    (tmp_path / "other").mkdir()
    shutil.copytree(tmp_path / "tools", tmp_path / "other" / "tools")
    shutil.copy(tmp_path / "pool.json", tmp_path / "other")
    (tmp_path / "other" / "tools" / "bin" / "pytest").write_text("two")
    with pytest.raises(ConfigError, match="was changed since tasks were made with it"):
        unchanged_tools(tmp_path / "other")


@pytest.mark.slow
def test_a_refused_call_leaves_no_folder(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    wanted = WantedTasks(folders={"lib": tmp_path / "empty"}, tasks=1)
    with pytest.raises(ConfigError, match="holds no file"):
        asyncio.run(make_pool(tmp_path / "pools" / "new", wanted, tmp_path, Told()))
    assert [one.name for one in tmp_path.iterdir()] == ["empty"]
