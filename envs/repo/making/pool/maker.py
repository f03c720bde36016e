"""Makes a pool, or goes on with one: libraries first, then tasks until there are enough.

Edits are drawn by seed and judged in the order in which they were drawn, so a pool that was
interrupted becomes the pool that it would have been.
"""

import asyncio
import shutil
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from synth.envs.repo.broken import BrokenTree
from synth.envs.repo.making.kinds import kinds_named
from synth.envs.repo.making.libraries import prepared
from synth.envs.repo.making.pool.files import (
    Tried,
    TriedFile,
    pool_at,
    tried_key,
    write_pool,
    write_task,
)
from synth.envs.repo.making.pool.lanes import Lane, lanes_of
from synth.envs.repo.making.taking.own import OWN, own_library
from synth.envs.repo.making.taking.sdists import release, releases
from synth.envs.repo.making.tools import make_tools
from synth.envs.repo.making.validation import Validation
from synth.envs.repo.pool import Library, Pool, RepoTask, read_task, tools_of

SAVED_EVERY = 10
TWICE = "like another task"


class WantedTasks(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be made: so many tasks out of some libraries (by name, or a user's folders), of
    some kinds (all, where none is named).
    """

    libraries: tuple[str, ...] = ()
    folders: Mapping[str, Path] = {}
    leave_out: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    tasks: int = 40
    seed: int = 7
    at_once: int = 2

    def completed(self) -> "WantedTasks":
        """With all libraries that are known, where nothing is named. Raises `ConfigError` for what
        is not known.
        """
        kinds_named(self.kinds)
        for name in self.libraries:
            if own_library(name) is None:
                release(name)
        if self.libraries or self.folders:
            return self
        return msgspec.structs.replace(self, libraries=(*releases(), *OWN))


class PoolTally(msgspec.Struct, frozen=True, kw_only=True):
    """What a call came to: tasks kept, edits tried, why the others made no task."""

    kept: int
    tried: int
    reasons: Mapping[str, int]
    digest: str


class Told(msgspec.Struct, frozen=True):
    """Whom to tell: lines, and each task that is kept."""

    say: Callable[[str], None] = lambda line: None
    kept: Callable[[RepoTask], None] = lambda task: None


async def make_pool(folder: Path, wanted: WantedTasks, archives: Path, told: Told) -> PoolTally:
    """Makes tasks in a pool's folder. Raises `ConfigError`; a folder that nothing was put into is
    no longer there then.
    """
    new = [one for one in (folder, *folder.parents) if not one.exists()]
    try:
        pool = _opened(folder)
        libraries = {one.name: one for one in pool.libraries}
        for name in [*wanted.libraries, *wanted.folders]:
            libraries[name] = await _library(folder, name, wanted, libraries, archives, told)
            write_pool(folder, libraries.values(), pool.tasks)
    except BaseException:
        _undone(folder, new)
        raise

    making = _Making(folder, wanted, libraries, list(pool.tasks), told)
    try:
        await making.run()
    finally:
        made = making.save()
    reasons = dict(making.reasons.most_common())
    return PoolTally(kept=making.kept, tried=making.tried, reasons=reasons, digest=made)


def _undone(folder: Path, new: Sequence[Path]) -> None:
    """Removes a pool that has come to nothing, with the folders above it that were made for it."""
    if new and not (folder / "pool.json").exists():
        shutil.rmtree(folder, ignore_errors=True)
        for above in new[1:]:
            with suppress(OSError):  # somebody else uses it by now
                above.rmdir()


def _opened(folder: Path) -> Pool:
    """The pool as far as it has come, with its tools."""
    pool = pool_at(folder)
    folder.mkdir(parents=True, exist_ok=True)
    make_tools(tools_of(folder))
    return pool


async def _library(
    folder: Path,
    name: str,
    wanted: WantedTasks,
    known: Mapping[str, Library],
    archives: Path,
    told: Told,
) -> Library:
    """A library as it is in the pool already, or new."""
    source = wanted.folders.get(name)
    if name in known and source is None:
        return known[name]
    return await prepared(
        name,
        folder,
        folder=source,
        leave_out=wanted.leave_out,
        archives=archives,
        say=told.say,
        known=known.get(name),
    )


class _Making:
    """The tasks of one call."""

    def __init__(
        self,
        folder: Path,
        wanted: WantedTasks,
        libraries: Mapping[str, Library],
        tasks: list[str],
        told: Told,
    ) -> None:
        self._folder, self._wanted, self._told = folder, wanted, told
        self._libraries, self._tasks = libraries, tasks
        self._validation, self._before = Validation(folder), TriedFile(folder)
        self._seen = {_likeness(read_task(folder, one)): one for one in tasks}
        self.kept, self.tried, self.reasons = 0, 0, Counter[str]()

    async def run(self) -> None:
        """Draws, and judges in the order of drawing."""
        chosen = [
            self._libraries[name] for name in [*self._wanted.libraries, *self._wanted.folders]
        ]
        kinds = kinds_named(self._wanted.kinds)
        lanes = lanes_of(self._folder, chosen, kinds, self._wanted.tasks, self._wanted.seed)
        flying = deque[tuple[Lane, asyncio.Task[tuple[str, RepoTask | str]]]]()
        try:
            while self.kept < self._wanted.tasks:
                while len(flying) < self._wanted.at_once and (drawn := lanes.next()) is not None:
                    lane, broken = drawn
                    flying.append((lane, asyncio.create_task(self._judged(lane.library, broken))))
                if not flying:
                    break
                lane, judged = flying.popleft()
                lane.ended(kept=self._taken(*await judged))
        finally:
            for _, judged in flying:
                judged.cancel()
            await asyncio.gather(*(one for _, one in flying), return_exceptions=True)

    def save(self) -> str:
        """Writes the table of contents; its digest."""
        return write_pool(self._folder, self._libraries.values(), self._tasks).digest

    async def _judged(self, library: Library, broken: BrokenTree) -> tuple[str, RepoTask | str]:
        """The key of a broken tree, and the task that it makes, or why it makes none; as before,
        where it was tried before.
        """
        key = tried_key(library, broken)
        before = self._before.known.get(key)
        if before is None:
            return key, await self._validation.task(library, broken)
        return key, read_task(self._folder, before.task) if before.task else before.reason

    def _taken(self, key: str, found: RepoTask | str) -> bool:
        """Keeps a task that is unlike all others, and notes what was tried."""
        self.tried += 1
        if isinstance(found, RepoTask):
            like = self._seen.setdefault(_likeness(found), found.id)
            if like == found.id:
                self._keep(found)
                self._before.add(Tried(key, task=found.id))
                return True
            found = TWICE
        self._before.add(Tried(key, reason=found))
        self.reasons[found] += 1
        return False

    def _keep(self, task: RepoTask) -> None:
        self.kept += 1
        if task.id not in self._tasks:
            write_task(self._folder, task)
            self._tasks.append(task.id)
        self._told.kept(task)
        if self.kept % SAVED_EVERY == 0:
            self.save()


def _likeness(task: RepoTask) -> tuple[object, ...]:
    """Tasks that agree in this are one: the way of breaking, the places, what fails."""
    modules: Sequence[str] = task.about.get("modules", "").split() or sorted(task.edits)
    ways = task.about.get("operators", task.kind)
    return task.library, ways, tuple(modules), task.failing
