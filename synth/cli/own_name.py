"""How this program is called from where the user stands."""

import os
import shlex
import shutil
import sys
from pathlib import Path


def own_name() -> str:
    """`synth` where that is this program, else a command that is: .venv/bin/synth, or python -m
    synth.cli.main.
    """
    ours = Path(sys.executable).with_name("synth")
    found = shutil.which("synth")
    if found is not None and os.path.realpath(found) == os.path.realpath(ours):
        return "synth"
    if os.access(ours, os.X_OK):
        return shlex.quote(from_here(ours))
    return f"{shlex.quote(sys.executable)} -m synth.cli.main"


def from_here(path: Path) -> str:
    """A path as short as the current directory lets it be; never one that reads as an option."""
    try:
        short = str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
    return short if not short.startswith("-") else f"./{short}"
