"""Patches that are nearly right, of a library made by hand."""

from collections import Counter
from pathlib import Path

import pytest

from synth.envs.repo.bots.wrong import HALVES, telling_patches, wrong_patches
from synth.envs.repo.task_tree import task_tree
from tests.envs.repo.tiny import BROKEN, CLAMPS, LENGTHS, WORDS, make_pool, task

NOTED = {"tiny/lengths.py": LENGTHS.replace('"""Keep a value within bounds."""', '"""Keep."""')}
FOUR = {
    "tiny/lengths.py": LENGTHS.replace("low + high", "low - high").replace("high:", "low:"),
    "tiny/words.py": WORDS.replace("most - 1", "most - 2").replace("[0]", "[1]"),
}
TASKS = {
    **BROKEN,
    "noted": task({**FOUR, **NOTED}, CLAMPS[:1]),
    "four": task(FOUR, CLAMPS[:2]),
}


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_pool(tmp_path_factory.mktemp("pool"), TASKS)


def texts(pool: Path, name: str) -> set[str]:
    """The first file's texts of all wrong patches of a task."""
    found = wrong_patches(task_tree(pool, TASKS[name].id))
    return {one.data.decode() for _, changes in found for one in changes.values() if one}


def test_slips_are_made_in_what_the_solution_changes_alone(pool: Path) -> None:
    """`value < high` is to be `value > high`: the sides of it are as they were, `low` of the line
    before as well.
    """
    found = texts(pool, "compared")
    assert found
    kept = LENGTHS.splitlines()
    for text in found:
        lines = text.splitlines()
        assert [one for one, other in zip(lines, kept, strict=True) if one != other] == [
            lines[kept.index("    if value > high:")]
        ]
    assert LENGTHS.replace("value > high", "value >= high") in found
    assert LENGTHS.replace("value > high", "value < high") not in found  # as it was broken


def test_every_half_is_tried_whatever_the_number_of_slips(pool: Path) -> None:
    """Two files with two changes each: each change left out, and each file."""
    place = task_tree(pool, TASKS["four"].id)
    halves = Counter(name for name, _ in wrong_patches(place) if name in HALVES)
    assert halves == {"half": 4, "one file left out": 2}
    assert len(telling_patches(place, 0)) == 6
    assert len(telling_patches(place, 3)) == 9


def test_what_does_not_show_when_code_runs_is_no_half(pool: Path) -> None:
    """Of the first file documentation alone was changed; the second one has two changes."""
    place = task_tree(pool, TASKS["noted"].id)
    halves = Counter(name for name, _ in wrong_patches(place) if name in HALVES)
    assert halves == {"half": 2}


def test_patches_are_the_same_each_time(pool: Path) -> None:
    place = task_tree(pool, TASKS["four"].id)
    assert telling_patches(place, 3) == telling_patches(place, 3)
