"""Bots that repair, on a library made by hand."""

import asyncio
import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files
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


@pytest.mark.slow
def test_an_edit_that_never_ends_costs_a_few_seconds_of_processor_time(
    tmp_path: Path,
) -> None:
    """The limits of wall time alone would let it run for a minute. In a process of its own, as bots
    run it: forked off one that runs other tests' threads, it may wait for their locks for ever.
    """
    (tmp_path / "up.py").write_text("def up(n):\n    return n\n")
    (tmp_path / "test_up.py").write_text(
        "from up import up\ndef test_up():\n    assert up(1) == 2\n"
    )
    texts = ("def up(n):\n    while True:\n        n += 1\n", "def up(n):\n    return n + 1\n")
    asked = {
        "failing": ["test_up.py::test_up"],
        "tests": ["test_up.py"],
        "passed": {"test_up.py::test_up": False},
        "edits": [{"path": "up.py", "text": text} for text in texts],
        "total_s": 120.0,
        "one_s": 60.0,
        "every_s": 60.0,
    }
    request, answer = tmp_path / "request", tmp_path / "answer"
    request.write_text(json.dumps(asked))
    inside = str(files("synth.envs.repo.bots") / "inside.py")
    began = _of_children()
    subprocess.run(
        [sys.executable, inside, str(request), str(answer)],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin"},
        check=True,
        timeout=150,
    )
    assert json.loads(answer.read_text()) == {"found": 1, "tried": 2}
    assert _of_children() - began < 20


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_words_of_names_and_their_likeness() -> None:
    assert words("test_clampLow2") == {"test", "clamp", "low", "2"}
    assert likeness("clamp", "clamp(9) gives 1.", {"clamp", "high"}) == 2 + 1 + 5
    assert likeness("middle", "clamp(9) gives 1.", {"clamp"}) == 0
