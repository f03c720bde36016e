"""`synth repo`: what it would do, and errors in one line."""

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from synth.cli.repo import repo
from synth.envs.repo.making.pool.files import write_pool, write_task
from synth.envs.repo.pool import Library, RepoTask
from synth.schemas import ConfigError


def said(*words: str) -> str:
    found = CliRunner().invoke(repo, words, catch_exceptions=False)
    return found.output


def small_pool(folder: Path) -> Path:
    """Two tasks of one library, one of them with hidden tests and of two functions."""
    library = Library(
        name="shop",
        engine="python",
        digest="d",
        tests={"tests/test_a.py::test_a": "tests/test_a.py"},
        source=("a.py",),
        protected=(),
        about={"version": "1.0", "licence": "MIT"},
    )
    fields = {"library": "shop", "goal": "g", "failing": ("t",), "test_files": ("tests/test_a.py",)}
    one = RepoTask.identified(kind="single_site", edits={"a.py": "1"}, **fields)
    hidden = {"tests/test_b.py": "x"}
    other = RepoTask.identified(
        kind="chained", edits={"a.py": "2"}, sites=3, hidden=hidden, **fields
    )
    other = msgspec.structs.replace(other, tier=0)
    for task in (one, other):
        write_task(folder, task)
    write_pool(folder, [library], [one.id, other.id])
    return folder


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    pool = tmp_path / "pool"
    found = said("make", str(pool), "--library", "boltons", "--kind", "single_site", "--dry-run")
    assert "boltons 26.2.0 (BSD-3-Clause, mahmoud/boltons): fetched by pip with its hash" in found
    assert "single_site: 100% of a library's tasks (python)" in found
    assert found.endswith("dry run: nothing was written\n")
    assert not pool.exists()


def test_a_folder_of_the_users_is_named_after_itself(tmp_path: Path) -> None:
    (tmp_path / "My Lib").mkdir()
    found = said("make", str(tmp_path / "p"), "--folder", str(tmp_path / "My Lib"), "--dry-run")
    assert f"my-lib: taken from {tmp_path / 'My Lib'}" in found


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--library", "bolton"], "--library bolton: not known; known: boltons, "),
        (["--kind", "typo"], "--kind typo: not known; known: single_site, "),
    ],
)
def test_what_is_not_known_is_an_error_of_one_line(
    tmp_path: Path, words: list[str], why: str
) -> None:
    for dry in ([], ["--dry-run"]):
        with pytest.raises(ConfigError) as raised:
            said("make", str(tmp_path / "pool"), *words, *dry)
        assert why in str(raised.value)
        assert "\n" not in str(raised.value)
    assert not (tmp_path / "pool").exists()


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ConfigError, match="is no pool, and not empty"):
        said("make", str(tmp_path), "--library", "boltons")


def test_a_pool_is_shown_by_library_kind_and_tier(tmp_path: Path) -> None:
    found = said("show", str(small_pool(tmp_path)))
    lines = [
        [cell.strip() for cell in line.strip("│┃ ").split("│")]
        for line in found.splitlines()
        if "│" in line
    ]
    assert lines == [
        ["shop", "1.0", "MIT", "1", "2"],
        ["chained", "1", "1", "1", "1"],
        ["single_site", "1", "0", "0", "1"],
        ["0", "1", "1", "1", "1"],
        ["1", "1", "0", "0", "1"],
    ]


def test_no_pool_is_an_error_of_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is no pool of tasks; make one with"):
        said("show", str(tmp_path))
