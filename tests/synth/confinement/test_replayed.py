"""A tree restored after any of random commands is what the same commands make anew."""

import asyncio

import pytest

from benchmarks.branch_scripts import agreeing
from synth.confinement import missing

pytestmark = [pytest.mark.slow, pytest.mark.skipif(missing() is not None, reason=str(missing()))]


def test_restored_trees_are_replayed_ones(way: str) -> None:
    assert asyncio.run(agreeing(20, seed=7)) == (20, 20, [])


@pytest.mark.nightly
def test_a_thousand_restored_trees_are_replayed_ones(way: str) -> None:
    found, tried, different = asyncio.run(agreeing(1000, seed=1))
    assert (found, tried) == (1000, 1000), different[:3]
