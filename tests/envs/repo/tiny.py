"""A library of two small modules with its tests, and ways in which it is broken: a pool of tasks
made by hand.
"""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from synth.envs.repo.making.layout import tree_digest
from synth.envs.repo.making.tools import make_tools
from synth.envs.repo.pool import Library, Pool, RepoTask
from synth.schemas import content_hash

LENGTHS = '''"""Lengths."""


def clamp(value, low, high):
    """Keep a value within bounds."""
    if value < low:
        return low
    if value > high:
        return high
    return value


def middle(low, high):
    """The number half way."""
    return (low + high) // 2
'''
WORDS = '''"""Words."""


def initials(name):
    """The first letters of a name, in capitals."""
    return "".join(part[0].upper() for part in name.split())


def shortened(text, most):
    """A text of at most so many letters."""
    if len(text) <= most:
        return text
    return text[: most - 1] + "~"
'''
TEST_LENGTHS = """import pytest

from tiny.lengths import clamp, middle


@pytest.mark.parametrize("value, kept", [(0, 1), (1, 1), (3, 3), (5, 5), (9, 5)])
def test_clamp(value, kept):
    assert clamp(value, 1, 5) == kept


def test_middle():
    assert middle(2, 6) == 4
"""
TEST_WORDS = """import unittest

from tiny import words


class WordsTest(unittest.TestCase):
    def test_initials(self):
        self.assertEqual(words.initials("ada king"), "AK")

    def test_shortened(self):
        self.assertEqual(words.shortened("abcdef", 4), "abc~")
        self.assertEqual(words.shortened("abcd", 4), "abcd")
"""
FILES = {
    "tiny/__init__.py": "",
    "tiny/lengths.py": LENGTHS,
    "tiny/words.py": WORDS,
    "tests/test_lengths.py": TEST_LENGTHS,
    "tests/test_words.py": TEST_WORDS,
    "pyproject.toml": '[project]\nname = "tiny"\n',
}
CLAMPS = tuple(
    f"tests/test_lengths.py::test_clamp[{p}]" for p in ("0-1", "1-1", "3-3", "5-5", "9-5")
)
MIDDLE = "tests/test_lengths.py::test_middle"
INITIALS, SHORTENED = (
    f"tests/test_words.py::WordsTest::test_{name}" for name in ("initials", "shortened")
)
LIBRARY = Library(
    name="tiny",
    engine="python",
    digest=content_hash(FILES),
    tests={test: test.partition("::")[0] for test in (*CLAMPS, MIDDLE, INITIALS, SHORTENED)},
    source=("tiny/__init__.py", "tiny/lengths.py", "tiny/words.py"),
    protected=("tests", "pyproject.toml", "conftest.py", "pytest.ini", "setup.cfg", "tox.ini"),
)
GOAL = "clamp(9, 1, 5) gives 1, and is to give 5."
SWAPPED = {"tiny/lengths.py": LENGTHS.replace("return high", "return low")}
COMPARED = {"tiny/lengths.py": LENGTHS.replace("value > high", "value < high")}
TWO_PLACES = {
    "tiny/lengths.py": LENGTHS.replace("low + high", "low - high"),
    "tiny/words.py": WORDS.replace("most - 1", "most - 2"),
}


def task(
    edits: Mapping[str, str | None], failing: tuple[str, ...], goal: str = GOAL, **more: object
) -> RepoTask:
    """A task with these edits."""
    files = sorted({test.partition("::")[0] for test in failing})
    told = {"library": "tiny", "kind": "single_site", "goal": goal, "edits": edits}
    return RepoTask.identified(**told, failing=failing, test_files=tuple(files), **more)


BROKEN = {
    "compared": task(COMPARED, (CLAMPS[1], CLAMPS[2], CLAMPS[4])),
    "swapped": task(SWAPPED, (CLAMPS[4],)),
    "two_places": task(TWO_PLACES, (MIDDLE, SHORTENED), "middle and shortened are wrong."),
}


@contextmanager
def pool_folder() -> Iterator[Path]:
    """The pool in a folder that any user may enter, as no folder of pytest's is for long."""
    with TemporaryDirectory(prefix="synth-tiny-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield make_pool(folder)


def make_pool(folder: Path, tasks: Mapping[str, RepoTask] = BROKEN) -> Path:
    """The pool on disk."""
    for path, text in FILES.items():
        place = folder / "bases" / "tiny" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    (folder / "tasks").mkdir()
    for one in tasks.values():
        (folder / "tasks" / f"{one.id}.json").write_bytes(msgspec.json.encode(one))

    ids = tuple(one.id for one in tasks.values())
    library = msgspec.structs.replace(LIBRARY, digest=tree_digest(folder / "bases" / "tiny"))
    pool = Pool(version=1, digest=content_hash(ids), libraries=(library,), tasks=ids)
    (folder / "pool.json").write_bytes(msgspec.json.encode(pool))
    shutil.copytree(Path(_tools().name) / "tools", folder / "tools", symlinks=True)
    make_tools(folder / "tools")
    return folder


@cache
def _tools() -> TemporaryDirectory[str]:
    """The tools, made once a process: they are compiled, which takes a second and more."""
    folder = TemporaryDirectory(prefix="synth-tools-")
    make_tools(Path(folder.name) / "tools")
    return folder
