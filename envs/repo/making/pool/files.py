"""What a pool's making writes: its table of contents, tasks, and which edits were tried."""

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from synth.envs.repo.broken import BrokenTree
from synth.envs.repo.making.layout import tree_digest
from synth.envs.repo.pool import Library, Pool, RepoTask, read_pool, tools_of
from synth.schemas import ConfigError, content_hash

VERSION = 1


class Tried(msgspec.Struct, frozen=True):
    """One broken tree (by its hash) and what it came to: a task's id, or why it makes none."""

    key: str
    task: str = ""
    reason: str = ""


def tried_key(library: Library, broken: BrokenTree) -> str:
    """The hash of a broken tree of a library as it is."""
    return content_hash([library.digest, msgspec.to_builtins(broken)])


def write_file(place: Path, content: bytes) -> None:
    """A file at once, or not at all."""
    place.parent.mkdir(parents=True, exist_ok=True)
    new = place.with_name(f".{place.name}.{os.getpid()}")
    new.write_bytes(content)
    new.replace(place)


def write_task(pool: Path, task: RepoTask) -> None:
    """One task."""
    write_file(pool / "tasks" / f"{task.id}.json", msgspec.json.format(msgspec.json.encode(task)))


def write_pool(pool: Path, libraries: Iterable[Library], tasks: Iterable[str]) -> Pool:
    """The table of contents; tools that are there are taken as they are."""
    kept, ids = tuple(libraries), tuple(tasks)
    digest = content_hash([[msgspec.to_builtins(one) for one in kept], list(ids)])
    tools = tree_digest(tools_of(pool)) if tools_of(pool).exists() else ""
    found = Pool(version=VERSION, digest=digest, libraries=kept, tasks=ids, tools=tools)
    write_file(pool / "pool.json", msgspec.json.encode(found))
    return found


def pool_at(folder: Path) -> Pool:
    """A pool as far as it has come; an empty one where nothing is yet. Raises `ConfigError` for a
    folder that holds something else.
    """
    if (folder / "pool.json").exists():
        return read_pool(folder)
    if folder.exists() and any(folder.iterdir()) and not (folder / "tools").exists():
        raise ConfigError(f"{folder}: is no pool, and not empty; name a new folder")
    return Pool(version=VERSION, digest="", libraries=(), tasks=())


class TriedFile:
    """A line for each broken tree that was tried, so that none is tried twice."""

    def __init__(self, pool: Path) -> None:
        self._place = pool / "tried.jsonl"
        self.known: dict[str, Tried] = {}
        text = self._place.read_bytes() if self._place.exists() else b""
        whole, _, torn = text.rpartition(b"\n")
        for line in whole.splitlines():
            one = msgspec.json.decode(line, type=Tried)
            self.known[one.key] = one
        if torn:  # its writer was killed
            write_file(self._place, whole + b"\n" if whole else b"")

    def add(self, one: Tried) -> None:
        """One more, unless it is known."""
        if one.key not in self.known:
            self.replace(one)

    def replace(self, one: Tried) -> None:
        """What holds of a broken tree from now on."""
        self.known[one.key] = one
        with self._place.open("ab") as file:
            file.write(msgspec.json.encode(one) + b"\n")
