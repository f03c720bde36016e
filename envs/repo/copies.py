"""Copies of a library that the machine has anyway: what a tree's commands must not see, or the bug
is undone by copying a file.

Programs of the system bring libraries along (pip, cloud tools, npm); where a file of the system has
the name of one of the library's, and many of its lines, an empty one is shown in its place.
"""

import asyncio
import os
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path, PurePosixPath

from synth.envs.repo.task_tree import TaskTree
from synth.envs.repo.terminal.shell import TOOLS

_SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/sbin")
_ARCHIVES = ("/usr/share/python-wheels", "/usr/share/npm", "/usr/share/nodejs")
"""Folders of other people's code, some of it in archives; no tool that is shown needs them."""
_ENDINGS = (".py", ".js", ".mjs", ".cjs", ".ts")
_LONG_LINE, _ALIKE = 20, 0.2
"""Letters of a line that tells, and the share of such lines that makes a file a copy."""


async def shown(place: TaskTree) -> Mapping[str, Path]:
    """What stands beside a task's tree, by the place inside: the tools, and nothing in the place of
    each copy of the library.
    """
    return await asyncio.to_thread(_shown, place)


def _shown(place: TaskTree) -> Mapping[str, Path]:
    empty, folder = place.tools / "nothing" / "file", place.tools / "nothing" / "folder"
    if not empty.exists():
        folder.mkdir(parents=True, exist_ok=True)
        empty.touch()

    masked = {path: empty for path in copies(place.base, place.library.source)}
    archives = {path: folder for path in _ARCHIVES if Path(path).is_dir()}

    return {**archives, **masked, TOOLS: place.tools}


@lru_cache(maxsize=32)
def copies(base: Path, source: tuple[str, ...]) -> tuple[str, ...]:
    """The files of the system that are copies of a library's, compiled ones included."""
    found, known = dict[str, None](), _files()
    for path in source:
        place = PurePosixPath(path)
        mine = _telling(base / path)
        for other in known.get(place.name, ()) if mine else ():
            is_named_alike = (
                not place.stem.startswith("__") or other.parent.name == place.parent.name
            )
            if is_named_alike and len(mine & _telling(other)) > _ALIKE * len(mine):
                compiled = other.parent.glob(f"__pycache__/{other.stem}.*.pyc")
                found |= dict.fromkeys(map(str, [other, *compiled]))

    return tuple(path for path in found if not path.startswith(_ARCHIVES))


@lru_cache(maxsize=1)
def _files() -> Mapping[str, list[Path]]:
    """The system's files of code, by name; looked for once in a process."""
    found: defaultdict[str, list[Path]] = defaultdict(list)
    for top in _SYSTEM:
        if not Path(top).is_symlink():
            for folder, _, names in os.walk(top):
                for name in names:
                    if name.endswith(_ENDINGS):
                        found[name].append(Path(folder, name))

    return found


def _telling(path: Path) -> frozenset[str]:
    """The long lines of a file."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return frozenset()

    return frozenset(line for raw in lines if len(line := raw.strip()) >= _LONG_LINE)
