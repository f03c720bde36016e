"""Bots that repair, on a library made by hand."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from synth.envs.repo.bots.repair import likeness, mended, words
from synth.envs.repo.task_tree import task_tree
from tests.envs.repo.tiny import BROKEN, LENGTHS, pool_folder


@pytest.fixture(scope="module")
def pool() -> Iterator[Path]:
    with pool_folder() as folder:
        yield folder


@pytest.mark.slow
def test_one_small_edit_is_undone_by_both_bots(pool: Path) -> None:
    found = asyncio.run(mended(task_tree(pool, BROKEN["compared"].id)))
    edits = {bot: (one.edit.path, one.edit.text) for bot, one in found.items()}
    assert edits == dict.fromkeys(("spectrum", "text"), ("tiny/lengths.py", LENGTHS))


def test_words_of_names_and_their_likeness() -> None:
    assert words("test_clampLow2") == {"test", "clamp", "low", "2"}
    assert likeness("clamp", "clamp(9) gives 1.", {"clamp", "high"}) == 2 + 1 + 5
    assert likeness("middle", "clamp(9) gives 1.", {"clamp"}) == 0
