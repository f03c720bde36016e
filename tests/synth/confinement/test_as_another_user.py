"""The tests of branches, run by an ordinary user: an overlay in a user namespace, no cgroups."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import pytest

from synth.confinement import missing

ROOT = Path(__file__).resolve().parents[3]
USER = 1000
HERE = "tests/synth/confinement"


def interpreter(home: str) -> list[str] | None:
    """How that user runs a Python that has our packages, where the machine lets it."""
    packages = sysconfig.get_paths()["purelib"]
    path = os.pathsep.join([os.environ.get("PYTHONPATH", str(ROOT / ".dev")), packages])
    become = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
    own = ["env", f"HOME={home}", f"PYTHONPATH={path}", "PYTHONDONTWRITEBYTECODE=1"]

    for python in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        words = [*become, *own, python]
        if (
            subprocess.run(
                [*words, "-c", "import msgspec, pytest, synth"], capture_output=True, check=False
            ).returncode
            == 0
        ):
            return words

    return None


def run_as_user(*chosen: str) -> None:
    """Runs tests by that user; none may be skipped."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None or missing() is not None:
        pytest.skip("only root can become another user")

    with tempfile.TemporaryDirectory(prefix="another-user-") as home:
        os.chown(home, USER, USER)
        words = interpreter(home)
        if words is None:
            pytest.skip("that user finds no Python with our packages")
        options = ["-q", "-rs", "-p", "no:cacheprovider", "-m", "slow or not slow"]
        done = subprocess.run(
            [*words, "-m", "pytest", *options, f"--basetemp={home}/t", *chosen],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )

    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert "SKIPPED" not in done.stdout, done.stdout


@pytest.mark.slow
def test_a_frozen_point_and_changes_as_another_user() -> None:
    run_as_user(f"{HERE}/test_branches.py", "-k", "frozen_point or laid_over")


@pytest.mark.slow
@pytest.mark.nightly
def test_all_of_branches_as_another_user() -> None:
    files = ("test_branches.py", "test_branches_hostile.py", "test_keeper.py")
    run_as_user(*(f"{HERE}/{name}" for name in files))
