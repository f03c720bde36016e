"""Every kind makes tasks of a library: tests run in the box, in both trees."""

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from synth.envs.repo.kinds.hidden.recording import read_calls
from synth.envs.repo.making.kinds import KINDS
from synth.envs.repo.making.libraries import prepared
from synth.envs.repo.making.taking.own import own_library
from synth.envs.repo.making.tools import make_tools
from synth.envs.repo.making.validation import Validation
from synth.envs.repo.pool import Library, RepoTask, base_of, tools_of
from tests.envs.repo.kinds.test_feature_removed import PADDED, PADDED_TESTS, TESTS, WORDS
from tests.envs.repo.kinds.test_stale_state import SHELF

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="there is no bubblewrap"),
]

FILES = {
    "words.py": WORDS,
    "test_words.py": TESTS,
    "padded.py": PADDED,
    "test_padded.py": PADDED_TESTS,
    "shelf.py": SHELF,
    "test_shelf.py": """from shelf import Shelf


def test_shelf():
    shelf = Shelf("a")
    shelf.add("x")
    assert shelf.told() == "x"
    shelf.add("y")
    assert shelf.told() == "x, y"
    assert Shelf("b").told() == ""
""",
}


async def first_made(pool: Path, library: Library, kind: str, tries: int) -> RepoTask | None:
    validation = Validation(pool)
    drawn = KINDS[kind].breaking()(library, base_of(pool, library.name), Random(7))
    for one in islice(drawn, tries):
        found = await validation.task(library, one)
        if isinstance(found, RepoTask):
            return found
    return None


@pytest.fixture
def pool() -> Iterator[Path]:
    """A pool that other users may enter, as worlds run as one; pytest's own folders are closed."""
    with tempfile.TemporaryDirectory(prefix="synth-pool-") as folder:
        Path(folder).chmod(0o755)
        make_tools(tools_of(Path(folder)))
        yield Path(folder)


async def taken(pool: Path, name: str, folder: Path | None) -> Library:
    return await prepared(name, pool, folder=folder, archives=pool / "archives")


def test_each_kind_makes_tasks_of_a_library_in_python(pool: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for path, text in FILES.items():
        (source / path).write_text(text)

    async def tried() -> None:
        library = await taken(pool, "mini", source)
        assert "words.initials('ada lovelace')" in {one.call for one in read_calls(pool, "mini")}
        for kind in ("feature_removed", "contract_changed", "stale_state", "several_sites"):
            task = await first_made(pool, library, kind, 6)
            assert task is not None, kind
            assert task.goal
            assert task.failing

    asyncio.run(tried())


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
def test_each_kind_makes_tasks_of_a_library_in_javascript(pool: Path) -> None:

    async def tried() -> None:
        assert own_library("timetable") is not None
        library = await taken(pool, "timetable", None)
        assert (library.engine, len(library.tests)) == ("node", 45)
        for kind in ("javascript_several_sites", "javascript_feature_removed"):
            assert await first_made(pool, library, kind, 4) is not None, kind

    asyncio.run(tried())
