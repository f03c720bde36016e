"""Libraries that are known by name: pinned, free, in no benchmark; and a pool made of them."""

import asyncio
import os
import re
import tempfile
from collections import Counter
from pathlib import Path

import pytest

from synth.confinement import missing
from synth.envs.data_file import data_file
from synth.envs.repo.making.libraries import benchmark_of
from synth.envs.repo.making.pool.maker import Told, WantedTasks, make_pool
from synth.envs.repo.making.taking.sdists import fetched, release, releases
from synth.envs.repo.pool import read_pool, read_tasks
from synth.schemas import ConfigError

PERMITTED = {"MIT", "BSD-3-Clause", "Apache-2.0"}
SMALL = ("inflection", "parse", "schema")


def test_each_is_pinned_and_free() -> None:
    assert len(releases()) >= 8
    for name, one in releases().items():
        assert re.fullmatch(r"[0-9a-f]{64}", one.sha256), name
        assert one.licence in PERMITTED, name
        assert one.older is None or re.fullmatch(r"[0-9a-f]{64}", one.older.sha256), name


def test_no_benchmark_draws_from_any_of_them() -> None:
    assert {
        name: benchmark_of(one.repository) for name, one in releases().items()
    } == dict.fromkeys(releases())
    assert benchmark_of("Django/django") == "SWE-bench"
    assert benchmark_of("hydra") == "SWE-Gym"
    assert len({one for known in data_file("repo/benchmarks").values() for one in known}) >= 30


@pytest.mark.slow
def test_an_archive_of_another_hash_is_not_taken(tmp_path: Path) -> None:
    """It is not in the folder by its hash, and pip, which looks nowhere here, has none."""
    (tmp_path / "boltons-26.2.0.tar.gz").write_bytes(b"another")
    before = {name: os.environ.get(name) for name in ("PIP_NO_INDEX", "PIP_FIND_LINKS")}
    os.environ |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path)}
    try:
        with pytest.raises(ConfigError, match=r"boltons 26\.2\.0: cannot be fetched"):
            fetched("boltons", release("boltons"), tmp_path)
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


@pytest.mark.slow
@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_three_libraries_make_thirty_tasks() -> None:
    """Each kind but one has some; nothing is like another; some tests are hidden."""
    with tempfile.TemporaryDirectory(prefix="synth-pool-") as place:
        Path(place).chmod(0o755)
        pool = Path(place) / "pool"
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        wanted = WantedTasks(libraries=SMALL, tasks=30)
        made = asyncio.run(make_pool(pool, wanted, cache / "synth" / "archives", Told()))
        tasks = list(read_tasks(pool, read_pool(pool)))
    assert made.kept == len(tasks) == 30
    assert {one.library for one in tasks} == set(SMALL)
    assert len(Counter(one.kind for one in tasks)) >= 5
    assert any(one.hidden for one in tasks)
    assert all(re.fullmatch(r"[0-9a-f]{16}", one.id) for one in tasks)
