"""Branches made in both ways, each in a keeper of its own."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from synth.confinement import keeping


@pytest.fixture(params=["overlay", "copies"])
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    """How branches are made in a test; skipped where overlays cannot be had."""
    before = keeping._KEEPERS.pop(os.getpid(), None)
    if request.param == "copies":
        keeping.only_copies()
    elif not keeping.keeper().overlays:
        pytest.skip(keeping.keeper().how)

    yield request.param
    made = keeping._KEEPERS.pop(os.getpid(), None)
    if made is not None:
        made.close()
    if before is not None:
        keeping._KEEPERS[os.getpid()] = before


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A small tree, with links that lead out of it."""
    place = tmp_path / "base"
    (place / "d" / "e").mkdir(parents=True)
    (place / "a").write_text("a\n")
    (place / "d" / "b").write_text("b\n")
    (place / "d" / "e" / "c").write_text("c\n")
    (place / "out").symlink_to("/etc/passwd")
    (place / "up").symlink_to("../../..")
    (place / "in").symlink_to("d/b")
    (place / "whole").symlink_to("/repo/d")
    return place
