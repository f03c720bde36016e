"""Libraries that come with this project: folders of `data/`."""

from importlib.resources import files
from pathlib import Path

OWN = ("timetable",)


def own_library(name: str) -> Path | None:
    """One of them as a folder; None where there is none of that name."""
    if name not in OWN:
        return None
    return Path(str(files("synth.envs.repo") / "data" / name))
