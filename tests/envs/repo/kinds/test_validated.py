"""Every kind makes tasks of a library: tests run in the box, in both trees."""

import asyncio
import shutil
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


async def made(pool: Path, library: Library, kind: str, tries: int) -> list[RepoTask]:
    validation = Validation(pool)
    drawn = KINDS[kind].breaking()(library, base_of(pool, library.name), Random(7))
    results = [await validation.task(library, one) for one in islice(drawn, tries)]
    return [one for one in results if isinstance(one, RepoTask)]


def pool_in(folder: Path) -> Path:
    pool = folder / "pool"
    pool.mkdir()
    make_tools(tools_of(pool))
    return pool


async def taken(pool: Path, name: str, folder: Path | None) -> Library:
    return await prepared(name, pool, folder=folder, archives=pool / "archives")


def test_each_kind_makes_tasks_of_a_library_in_python(tmp_path: Path) -> None:
    source, pool = tmp_path / "source", pool_in(tmp_path)
    source.mkdir()
    for path, text in FILES.items():
        (source / path).write_text(text)

    async def tried() -> None:
        library = await taken(pool, "mini", source)
        assert "words.initials('ada lovelace')" in {one.call for one in read_calls(pool, "mini")}
        for kind in ("feature_removed", "contract_changed", "stale_state", "several_sites"):
            tasks = await made(pool, library, kind, 4)
            assert tasks, kind
            assert all(one.goal and one.failing for one in tasks)

    asyncio.run(tried())


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
def test_each_kind_makes_tasks_of_a_library_in_javascript(tmp_path: Path) -> None:
    pool = pool_in(tmp_path)

    async def tried() -> None:
        assert own_library("timetable") is not None
        library = await taken(pool, "timetable", None)
        assert (library.engine, len(library.tests)) == ("node", 45)
        for kind in ("javascript_several_sites", "javascript_feature_removed"):
            tasks = await made(pool, library, kind, 3)
            assert tasks, kind

    asyncio.run(tried())
