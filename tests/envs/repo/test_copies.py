"""Copies of a library on the machine are found by name and lines."""

import sys
from pathlib import Path

import pytest

from synth.envs.repo.copies import copies


def library(folder: Path, text: str) -> tuple[str, ...]:
    folder.mkdir(exist_ok=True)
    (folder / "textwrap.py").write_text(text)
    return copies(folder, ("textwrap.py",))


@pytest.mark.slow
def test_a_file_with_the_name_and_the_lines_of_the_library_is_a_copy(tmp_path: Path) -> None:
    places = [one for one in Path("/usr/lib").glob("python3*/textwrap.py")]
    for place in places:
        assert str(place) in library(tmp_path / place.parent.name, place.read_text())
    assert places or not sys.platform.startswith("linux")


@pytest.mark.slow
def test_a_file_of_the_name_with_other_lines_is_none(tmp_path: Path) -> None:
    assert library(tmp_path, "def wrapped_otherwise_than_anybody_does():\n    return 1\n") == ()
