"""What a user installs: one top-level package with types, from the checkout, from a wheel, from an
archive without links.
"""

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from tests.rounds import rounds

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
LINKS = ("schemas", "envs", "filters", "synthesizers", "flows", "configs", "data")
MINE = """
from collections.abc import Sequence

from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory
from synth.envs.echo import make_tasks

def goals(found: Sequence[Task]) -> list[str]:
    return [one.goal for one in found]

def turns(found: Sequence[Trajectory]) -> int:
    return sum(len(one.turns) for one in found)

wrong: int = make_tasks
"""

PUBLIC = """
import polars
from synth import Case, Filter, Ledger, RunResult, Verdict, filter, open_ledger, run

@filter(version=1)
async def short(case: Case, *, longest: int = 20) -> Verdict:
    return Verdict(keep=len(case.trajectory.turns) <= longest, reason="length")

def look(name: str) -> tuple[Filter, RunResult, Ledger, polars.LazyFrame]:
    ledger = open_ledger(name)
    turns = ledger.frame("turns").head(len(list(ledger.trajectories())))
    return short, run("quickstart", set={"env.tasks": 5}), ledger, turns

wrong: int = open_ledger("runs/x").trajectory("3f2a")

@filter(version=1)
def unawaited(case: Case) -> Verdict:
    return Verdict(keep=True, reason="")
"""


def done(*command: str | Path, cwd: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


ALSO_INSTALLED_OTHERWISE = pytest.mark.parametrize(
    "python", rounds("editable", nightly=["wheel", "archive"]), indirect=True
)
"""The checkers read the whole package each time, a minute of it."""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files under version control, links among them."""
    folder = tmp_path_factory.mktemp("checkout")
    listed = done(
        "git",
        "ls-files",
        "-z",
        "README.md",
        "LICENSE",
        "pyproject.toml",
        ".dev",
        "synth",
        *LINKS,
        cwd=ROOT,
    )
    for name in filter(None, listed.stdout.split("\0")):
        source, target = ROOT / name, folder / name
        if not source.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            target.symlink_to(source.readlink())
        else:
            target.write_bytes(source.read_bytes())
    return folder


def built(folder: Path, into: Path, kind: str = "wheel") -> Path:
    made = done(sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", into, cwd=folder)
    assert made.returncode == 0, made.stderr
    (path,) = into.iterdir()
    return path


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(checkout, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def archive(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(checkout, tmp_path_factory.mktemp("archive"), "sdist")


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as packed:
        return {name for name in packed.namelist() if ".dist-info/" not in name}


def test_a_wheel_has_one_top_level_name_and_all_that_is_in_the_folders(
    wheel: Path, checkout: Path
) -> None:
    inside = names(wheel)
    assert {name.partition("/")[0] for name in inside} == {"synth"}
    files = [
        path.relative_to(checkout)
        for path in checkout.rglob("*")
        if path.is_file() and not path.is_symlink()
    ]
    product = {
        str(path) if path.parts[0] == "synth" else f"synth/{path}"
        for path in files
        if len(path.parts) > 1
    }
    assert inside == product
    assert {
        "synth/py.typed",
        "synth/configs/quickstart.yaml",
        "synth/configs/storeroom.py",
        "synth/data/rubrics/stagewise.yaml",
    } <= inside


def test_an_archive_builds_the_same_wheel(wheel: Path, archive: Path, tmp_path: Path) -> None:
    with tarfile.open(archive) as packed:
        assert [member.name for member in packed.getmembers() if member.issym()] == []
        packed.extractall(tmp_path / "unpacked", filter="data")
    (folder,) = (tmp_path / "unpacked").iterdir()
    assert names(built(folder, tmp_path / "wheel")) == names(wheel)


@pytest.fixture(scope="module", params=["editable", "wheel", "archive"])
def python(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    checkout: Path,
    wheel: Path,
    archive: Path,
) -> Path:
    """An environment with synth in one of three ways, and this one's dependencies."""
    folder = tmp_path_factory.mktemp(request.param)
    venv.create(folder)
    here = folder / "bin" / "python"
    (packages,) = folder.glob("lib/*/site-packages")
    (packages / "dependencies.pth").write_text(str(Path(pytest.__file__).parents[1]))
    what = {"editable": ["-e", checkout], "wheel": [wheel], "archive": [archive]}[request.param]
    quiet = (
        "-q",
        "--disable-pip-version-check",
        "--no-index",
        "--no-deps",
        "--no-build-isolation",
        "--ignore-installed",
    )
    made = done(sys.executable, "-m", "pip", "--python", here, "install", *quiet, *what, cwd=folder)
    assert made.returncode == 0, made.stderr
    return here


@pytest.mark.nightly
@ALSO_INSTALLED_OTHERWISE
def test_types_are_seen_from_outside(python: Path, tmp_path: Path) -> None:
    """mypy --strict finds the one error, and no name of synth without a type."""
    (tmp_path / "mine.py").write_text(MINE)
    said = done(
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--python-executable",
        python,
        "mine.py",
        cwd=tmp_path,
    )
    errors = [line for line in said.stdout.splitlines() if ": error:" in line]
    assert len(errors) == 1, said.stdout + said.stderr
    assert "mine.py:14: error: Incompatible types in assignment" in errors[0]


@pytest.mark.nightly
@ALSO_INSTALLED_OTHERWISE
def test_the_public_api_is_typed_from_outside(python: Path, tmp_path: Path) -> None:
    """mypy --strict finds both errors, and neither a name without a type nor a name that is not
    exported.
    """
    (tmp_path / "mine.py").write_text(PUBLIC)
    said = done(
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--python-executable",
        python,
        "mine.py",
        cwd=tmp_path,
    )
    errors = [
        line.partition(": error: ")[::2] for line in said.stdout.splitlines() if ": error:" in line
    ]
    assert [place for place, _ in errors] == ["mine.py:13", "mine.py:15"], said.stdout + said.stderr
    assert '"Trajectory", variable has type "int"' in errors[0][1]
    assert 'expected "Callable[[Case], Awaitable[Verdict]]"' in errors[1][1]


def test_pyright_sees_them_too(python: Path, tmp_path: Path) -> None:
    pyright = os.environ.get("SYNTH_PYRIGHT")
    if pyright is None:
        pytest.skip("no pyright; `make test-types` has an environment with it")
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    said = done(pyright, "--pythonpath", python, "mine.py", cwd=tmp_path)
    errors = [line for line in said.stdout.splitlines() if " error: " in line]
    assert len(errors) == 1, said.stdout + said.stderr
    assert "mine.py:14:" in errors[0]
    assert "make_tasks" in said.stdout or "Sequence[Task]" in said.stdout


def test_a_flow_that_is_installed_runs_by_its_name_among_the_users_own_folders(
    python: Path, tmp_path: Path
) -> None:
    for name in LINKS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('not the one')\n")
    ran = done(
        python.parent / "synth",
        "run",
        "empty",
        cwd=tmp_path,
        SYNTH_STATE_DIR=str(tmp_path / "state"),
    )
    assert ran.returncode == 0, ran.stderr
    where = done(python, "-c", "import synth.filters.solved as s; print(s.__file__)", cwd=tmp_path)
    assert "filters" in where.stdout
    assert str(tmp_path) not in where.stdout
