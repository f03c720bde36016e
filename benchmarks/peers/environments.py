"""A virtual environment per tool, made from its requirements file; kept, and made anew when that
file changes.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

REQUIREMENTS = Path(__file__).parent / "requirements"


def interpreter(environments: Path, name: str) -> Path:
    """The Python of a tool's environment."""
    return environments / name / "bin" / "python"


def make(environments: Path, names: Iterable[str]) -> None:
    """Installs what is missing. Raises `RuntimeError` with pip's last lines where it fails."""
    for name in names:
        wanted = (REQUIREMENTS / f"{name}.txt").read_text(encoding="utf-8")
        ready = environments / name / "requirements.txt"
        if ready.exists() and ready.read_text(encoding="utf-8") == wanted:
            continue
        print(f"installing {name} into {environments / name}", file=sys.stderr, flush=True)
        shutil.rmtree(environments / name, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(environments / name)], check=True)
        pip = [
            str(interpreter(environments, name)),
            "-m",
            "pip",
            "install",
            "-q",
            "--disable-pip-version-check",
        ]
        done = subprocess.run(
            [*pip, "-r", str(REQUIREMENTS / f"{name}.txt")],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{name} cannot be installed: {done.stderr[-1000:]}")
        ready.write_text(wanted, encoding="utf-8")
