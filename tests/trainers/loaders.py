"""LLaMA-Factory and verl, which pin packages that TRL's environment has in other versions: scripts,
run in an environment of their own.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run_loader(script: str, *arguments: str, scratch: Path) -> Any:
    """What a script of this folder prints last, as JSON. Skips where there is no such
    environment.
    """
    python = os.environ.get("SYNTH_LOADERS_PYTHON")
    if python is None:
        pytest.skip(
            "needs LLaMA-Factory and verl in an environment of their own: `make test-loaders`, or "
            "SYNTH_LOADERS_PYTHON"
        )
    own = {name: str(scratch / name) for name in ("HF_DATASETS_CACHE", "SYNTH_STATE_DIR", "TMPDIR")}
    (scratch / "TMPDIR").mkdir(parents=True, exist_ok=True)
    given = {
        "PYTHONPATH": str(ROOT),
        "HOME": str(scratch),
        "PATH": os.environ["PATH"],
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        **own,
    }
    command = [python, "-W", "ignore", str(ROOT / "tests" / "trainers" / script), *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, env=given | own, timeout=400, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def words_of(printed: str) -> list[str]:
    """The words after the module's name in a command that a card prints, as a shell reads them."""
    arguments = (
        printed.replace("\\\n", " ")
        .partition("python -m ")[2]
        .partition(" ")[2]
        .removesuffix("...\n")
    )
    said = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {arguments}"], capture_output=True, text=True, check=True
    )
    return said.stdout.split("\0")[:-1]
