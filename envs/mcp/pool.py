"""Servers that keep nothing in memory, kept running between episodes: starting one costs a second,
asking one some milliseconds.
"""

import asyncio
import atexit
from pathlib import Path
from weakref import WeakKeyDictionary

from synth.envs.mcp.server import McpServer
from synth.envs.mcp.settings import McpSettings
from synth.envs.mcp.state.folder import removed

MOST = 8
Kept = tuple[McpServer, Path]
_KEPT: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, list[Kept]]]" = WeakKeyDictionary()
_FOLDERS: set[Path] = set()


def lent(settings: McpSettings) -> Kept | None:
    """A running server of the same settings with its folder, or None."""

    kept = _of(settings)
    while kept:
        server, folder = kept.pop()
        if server.lives:
            return server, folder
        removed(folder)

    return None


def given_back(server: McpServer, folder: Path) -> bool:
    """Keeps a server for the next episode, where it may be kept and not too many are."""

    kept = _of(server.settings)
    if not server.reusable or len(kept) >= MOST:
        return False
    kept.append((server, folder))
    _FOLDERS.add(folder)

    return True


def _of(settings: McpSettings) -> list[Kept]:
    """The kept servers of these settings in this event loop, to which they belong."""
    kept = _KEPT.setdefault(asyncio.get_running_loop(), {})
    return kept.setdefault(settings.model_dump_json(exclude={"folder", "task_file"}), [])


@atexit.register
def _removed() -> None:
    for folder in _FOLDERS:
        removed(folder)
