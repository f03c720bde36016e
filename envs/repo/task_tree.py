"""One task of a pool: what its tree holds at the start, which changes count, what it becomes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path, PurePosixPath

from msgspec.structs import replace

from synth.confinement.branches import FileChange
from synth.envs.repo.making.layout import matches, tree_digest
from synth.envs.repo.pool import Library, Pool, RepoTask, base_of, read_pool, read_task, tools_of
from synth.schemas import ConfigError, content_hash

Changes = Mapping[str, FileChange | None]
"""Path -> what stands there now; None where it is gone."""


@dataclass(frozen=True)
class TaskTree:
    """A broken tree, and the tests that notice."""

    folder: Path
    library: Library
    task: RepoTask

    @property
    def base(self) -> Path:
        """Where the pristine tree lies."""
        return base_of(self.folder, self.library.name)

    @property
    def tools(self) -> Path:
        """What runs the tests."""
        return tools_of(self.folder)

    @cached_property
    def edits(self) -> Changes:
        """What differs from the pristine tree at the start."""
        return {path: self.file(path, text) for path, text in self.task.edits.items()}

    @cached_property
    def wanted(self) -> Mapping[str, str | None]:
        """Sources as they are once all is well: path -> text, None where there is to be none."""
        paths = [*self.task.edits, *(path for path in self.task.solution)]
        return {
            path: self.task.solution.get(path, self.pristine(path))
            for path in dict.fromkeys(paths)
            if self.counts(path)
        }

    def narrowed(self, wanted: Mapping[str, str]) -> "TaskTree":
        """The same tree, where all is well once these sources are what they are here, and all
        others as they were at the start.
        """
        told = content_hash(dict(wanted))[:16]
        start = self.start_texts(self.wanted)
        left = {path: text for path, text in start.items() if text is not None}
        solution = {**self.task.solution, **left, **wanted}
        task = replace(self.task, id=f"{self.task.id} {told}", solution=solution)

        return TaskTree(self.folder, self.library, task)

    @cached_property
    def judged_with(self) -> Changes:
        """Tests as they are to be run: in the text of the solution, else in the pristine one."""
        solution, hidden = self.task.solution, self.task.hidden
        paths = [path for path in (*self.task.edits, *solution) if not self.counts(path)]
        texts = {path: solution.get(path, self.pristine(path)) for path in paths} | dict(hidden)
        return {path: self.file(path, text) for path, text in texts.items()}

    @cached_property
    def solved(self) -> Changes:
        """The changes that make all well."""
        return {path: self.file(path, text) for path, text in self.wanted.items()}

    @cached_property
    def broken_source(self) -> Changes:
        """What is broken at the start, tests and configuration apart."""
        return {path: change for path, change in self.edits.items() if self.counts(path)}

    @cached_property
    def seen_tests(self) -> list[str]:
        """The files of failing tests that stand in the tree at the start, then the check's."""
        known = self.library.tests
        failing = [known[name] for name in self.task.failing if name in known]
        found = self.start_texts([*failing, *self.task.test_files])
        return [path for path, text in found.items() if text is not None]

    def start_texts(self, paths: Iterable[str]) -> dict[str, str | None]:
        """Files as an agent finds them; None where there is none."""
        edits = self.task.edits
        return {path: edits[path] if path in edits else self.pristine(path) for path in paths}

    def pristine(self, path: str) -> str | None:
        """A file's text before anything was broken; None where there was none."""
        try:
            return (self.base / path).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def pristine_file(self, path: str) -> FileChange | None:
        """A pristine file, or link, byte by byte; None for anything else."""
        place = self.base / path
        if place.is_symlink():
            return FileChange(b"", 0o777, str(place.readlink()))

        if not place.is_file():
            return None

        return FileChange(place.read_bytes(), place.stat().st_mode & 0o777)

    def file(self, path: str, text: str | None) -> FileChange | None:
        """A text as a file, with the mode of the pristine one."""
        if text is None:
            return None

        place = self.base / path
        mode = place.stat().st_mode & 0o777 if place.exists() else 0o644
        return FileChange(text.encode(), mode)

    def counts(self, path: str) -> bool:
        """Whether a change of this path is part of a solution: source, and no test or
        configuration. A new file counts beside other files of a package, not at the root, where it
        would stand for a module of somebody else's.
        """
        if matches(path, self.library.protected):
            return False

        if path in self.library.source or path in {*self.task.solution, *self.task.edits}:
            return True

        place = PurePosixPath(path)
        return place.suffix in self._suffixes and str(place.parent) in self._packages

    @cached_property
    def _suffixes(self) -> frozenset[str]:
        """Endings of sources."""
        return frozenset(PurePosixPath(path).suffix for path in self.library.source)

    @cached_property
    def _packages(self) -> frozenset[str]:
        """Folders of sources, the root apart."""
        found = {str(PurePosixPath(path).parent) for path in self.library.source}
        return frozenset(found - {"."})


@lru_cache(maxsize=8)
def _pool(folder: Path, changed_ns: int) -> Pool:
    """A pool is read again once it was written anew."""
    return read_pool(folder)


def pool_in(folder: Path) -> Pool:
    """The pool as it is now. Raises `ConfigError`."""
    place = folder / "pool.json"
    return _pool(folder, place.stat().st_mtime_ns if place.exists() else 0)


@lru_cache(maxsize=1024)
def _task_tree(folder: Path, digest: str, task_id: str) -> TaskTree:
    """A task of a pool that has not changed since."""
    pool, task = pool_in(folder), read_task(folder, task_id)
    if task.id != task_id or task.named() != task_id:
        raise ConfigError(
            f"{folder / 'tasks' / task_id}.json: was changed since it was made; put it back, or "
            "make the pool anew with `synth repo make`"
        )
    library = pool.library(task.library)
    unchanged_tools(folder)
    _unchanged(folder, library.name, library.digest)

    return TaskTree(folder, library, task)


@lru_cache(maxsize=256)
def _unchanged(folder: Path, name: str, digest: str) -> None:
    """Raises `ConfigError` where a pristine tree is not what tasks were made of; looked at once in
    a process.
    """
    if tree_digest(base_of(folder, name)) != digest:
        raise ConfigError(
            f"{base_of(folder, name)}: was changed since tasks were made of it; put it back, or "
            "make the pool anew with `synth repo make`"
        )


def unchanged_tools(folder: Path) -> None:
    """Raises `ConfigError` where what runs a pool's tests is not what made its tasks; looked at
    once in a process.
    """
    _unchanged_tools(folder, pool_in(folder).tools)


@lru_cache(maxsize=8)
def _unchanged_tools(folder: Path, digest: str) -> None:
    if digest and tree_digest(tools_of(folder)) != digest:
        raise ConfigError(
            f"{tools_of(folder)}: was changed since tasks were made with it; the next `synth repo "
            "make` with this pool writes it anew"
        )


def task_tree(folder: Path, task_id: str) -> TaskTree:
    """A task by its id. Raises `ConfigError` for one that the pool does not hold."""
    pool = pool_in(folder)
    if task_id not in pool.tasks:
        raise ConfigError(f"{folder}: this pool has no task {task_id[:40]!r}")

    return _task_tree(folder, pool.digest, task_id)
