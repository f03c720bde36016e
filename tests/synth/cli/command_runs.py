"""Runs of the command line."""

import os
import subprocess
from pathlib import Path
from typing import Any

import yaml

from tests.flow_files import SYNTH

ROOT = Path(__file__).resolve().parents[3]


def synth(
    *arguments: str | Path, cwd: Path = ROOT, **environment: str
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*SYNTH, *map(str, arguments)],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def refused(done: "subprocess.CompletedProcess[str]", code: int = 2) -> str:
    """The one line of a refusal."""
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if line.startswith("synth: ")]
    assert len(lines) == 1, done.stderr
    assert "Traceback" not in done.stderr
    return lines[0]


def write(path: Path, content: Any) -> Path:
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return path
