"""Servers that keep nothing in memory, kept running between episodes: starting one costs a second,
asking one some milliseconds.
"""

import asyncio
import atexit
from pathlib import Path
from weakref import WeakKeyDictionary

from synth.envs.mcp.folder import removed
from synth.envs.mcp.server import McpServer
from synth.envs.mcp.settings import McpSettings

MOST = 8
Kept = tuple[McpServer, Path]
_KEPT: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, list[Kept]]]" = WeakKeyDictionary()
_FOLDERS: set[Path] = set()


def lent(settings: McpSettings) -> Kept | None:
    """A running server of the same settings with its folder, or None."""
    kept = _of_this_loop().get(_key(settings), [])
    while kept:
        server, folder = kept.pop()
        if server.lives:
            return server, folder
        removed(folder)
    return None


def given_back(settings: McpSettings, server: McpServer, folder: Path) -> bool:
    """Keeps a server for the next episode, where it may be kept and not too many are."""
    kept = _of_this_loop().setdefault(_key(settings), [])
    if not settings.stateless or not server.lives or not server.alone or len(kept) >= MOST:
        return False
    kept.append((server, folder))
    _FOLDERS.add(folder)
    return True


def _key(settings: McpSettings) -> str:
    return settings.model_dump_json(exclude={"folder", "task_file"})


def _of_this_loop() -> dict[str, list[Kept]]:
    return _KEPT.setdefault(asyncio.get_running_loop(), {})


@atexit.register
def _removed() -> None:
    for folder in _FOLDERS:
        removed(folder)
