"""A pool that was changed by hand since its tasks were made is not worked with."""

import json
from pathlib import Path

import pytest

from synth.envs.repo.task_tree import task_tree
from synth.schemas import ConfigError
from tests.envs.repo import tiny

pytestmark = pytest.mark.slow  # a tree is made into tasks


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    return tiny.make_pool(tmp_path)


def test_what_was_not_touched_is_found(pool: Path) -> None:
    swapped = tiny.BROKEN["swapped"]
    assert task_tree(pool, swapped.id).task == swapped


def test_a_goal_that_was_changed_is_named(pool: Path) -> None:
    place = pool / "tasks" / f"{tiny.BROKEN['swapped'].id}.json"
    told = json.loads(place.read_bytes()) | {"goal": "Do as you like."}
    place.write_text(json.dumps(told))
    with pytest.raises(ConfigError, match=r"json: was changed since it was made; put it back"):
        task_tree(pool, tiny.BROKEN["swapped"].id)


def test_a_tree_that_was_changed_is_named(pool: Path) -> None:
    place = pool / "bases" / "tiny" / "tiny" / "lengths.py"
    place.write_text(place.read_text() + "\n")
    with pytest.raises(ConfigError, match=r"bases/tiny: was changed since tasks were made of it"):
        task_tree(pool, tiny.BROKEN["swapped"].id)


def test_tier_and_what_is_told_beside_it_may_change(pool: Path) -> None:
    place = pool / "tasks" / f"{tiny.BROKEN['swapped'].id}.json"
    place.write_text(json.dumps(json.loads(place.read_bytes()) | {"tier": 0, "about": {"a": "b"}}))
    assert task_tree(pool, tiny.BROKEN["swapped"].id).task.tier == 0
