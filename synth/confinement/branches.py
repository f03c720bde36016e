"""Branches of a folder: views that commands may change, each for itself, while the folder stays."""

import asyncio
import weakref
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from synth.confinement.cgroups import no_cgroups
from synth.confinement.command import Inside, ProcessLimits, ReadOnly, confined_command
from synth.confinement.keeper.trees.walking import STANDS_AT
from synth.confinement.keeping import BranchLine, Keeper, KeeperEndedError, keeper
from synth.confinement.running import Bounds, Ran, ran

_IN_FOLDER = ("/bin/sh", "-c", 'cd -- "$0" && exec "$@"')


class FileChange(msgspec.Struct, frozen=True):
    """A file as it is now: its content and mode, or where it leads, if it is a link."""

    data: bytes
    mode: int = 0o644
    link: str | None = None


class Frozen:
    """A point that any branch of the same folder can go on from, as long as this object lives."""

    def __init__(self, kept_by: Keeper, number: int) -> None:
        self.keeper, self.number = kept_by, number
        weakref.finalize(self, kept_by.dropped.append, number).atexit = False


class Branch:
    """A copy-on-write view of a folder, which itself is never written. Its tree stands at /repo for
    the commands in it. One thing at a time. Paths are the tree's; no link leads out of it.
    """

    def __init__(
        self, line: BranchLine, place: tuple[str, int], limits: ProcessLimits, read_only: ReadOnly
    ) -> None:
        self._line, self._limits, self._read_only = line, limits, read_only
        self._lock = asyncio.Lock()
        self._folder = Path("/sys", place[0])
        self._inside = Inside(
            at=STANDS_AT, enter=line.keeper.enter, user=place[1], own_memory=no_cgroups()
        )

    async def run(
        self,
        command: Sequence[str],
        *,
        cwd: str = ".",
        environment: Mapping[str, str] = {},
        time_s: float = 60,
        output_bytes: int = 1 << 20,
        result: bool = False,
    ) -> Ran:
        """Runs a command confined in the tree; nothing that it starts outlives it.

        With `result`, the variable SYNTH_RESULT_FD names a descriptor for it to write to. Raises
        `KeeperEndedError` where the branch is no more.
        """

        def line(file: int | None, groups: Sequence[Path], told: int) -> Sequence[str]:
            return confined_command(
                [*_IN_FOLDER, cwd, *command],
                folder=self._folder,
                limits=self._limits,
                read_only=self._read_only,
                environment=file,
                inside=replace(self._inside, groups=groups, told=told),
            )

        bounds = Bounds(limits=self._limits, time_s=time_s, output_bytes=output_bytes)
        async with self._lock:
            try:
                found = await ran(line, bounds, environment, result=result)
            finally:
                full = await self._line.ask("ran")
            if full and found.ended_by is None:
                return msgspec.structs.replace(found, ended_by="size")
            return found

    @property
    def seen_from_outside(self) -> Path:
        """Where the tree stands for this process, as long as nothing is done: for measurements."""
        return Path(f"/proc/{self._line.keeper.process}/root", *self._folder.parts[1:])

    async def changes(self) -> Mapping[str, FileChange | None]:
        """By path, the files that differ from the folder's, as they are now; None for deleted.
        Folders are none. Raises `OSError` (EFBIG) for more than 64 MB.
        """
        found = await self._ask("changes")
        return {path: None if one is None else FileChange(*one) for path, one in found.items()}

    async def apply(self, changes: Mapping[str, FileChange | None]) -> None:
        """Lays changes over the tree; folders that deletions leave empty go too."""
        told = {
            path: None if one is None else (one.data, one.mode, one.link)
            for path, one in changes.items()
        }
        await self._ask("apply", told)

    async def read(self, path: str, limit: int) -> bytes:
        """The first bytes of a file. Raises `OSError`."""
        found: bytes = await self._ask("read", path, limit)
        return found

    async def write(self, path: str, data: bytes) -> None:
        """A file's content anew; folders above it are made. Raises `OSError`."""
        await self._ask("write", path, data)

    async def listed(self, path: str) -> Sequence[str]:
        """The names in a folder, those of folders with a slash at the end. Raises `OSError`."""
        found: Sequence[str] = await self._ask("listed", path)
        return found

    async def freeze(self) -> Frozen:
        """A point to come back to."""
        return Frozen(self._line.keeper, await self._ask("freeze"))

    async def thaw(self, frozen: Frozen) -> None:
        """Goes on from a frozen point, of this branch or another one of the same folder."""
        if frozen.keeper is not self._line.keeper:
            raise KeeperEndedError("the keeper that froze this has ended")

        await self._ask("thaw", frozen.number)

    async def close(self) -> None:
        """Gives back all that the branch holds."""
        async with self._lock:
            with suppress(KeeperEndedError):
                await self._line.ask("close")
            self._line.close()

    async def _ask(self, name: str, *arguments: Any) -> Any:
        async with self._lock:
            return await self._line.ask(name, *arguments)


@asynccontextmanager
async def branch_of(
    base: Path, *, limits: ProcessLimits, read_only: ReadOnly = ()
) -> AsyncIterator[Branch]:
    """A branch of a folder, closed at the end."""
    branch = await new_branch(base, limits=limits, read_only=read_only)
    try:
        yield branch
    finally:
        await branch.close()


async def new_branch(base: Path, *, limits: ProcessLimits, read_only: ReadOnly = ()) -> Branch:
    """A branch of a folder, which its user closes. Raises `ConfigError` where nothing can be
    confined, `OSError` for a folder that cannot be read.
    """
    line = (await asyncio.to_thread(keeper)).connection()
    folder = await asyncio.to_thread(base.resolve)
    try:
        place = await line.ask("open", str(folder), limits.disk_mb << 20)
    except BaseException:
        line.close()
        raise

    return Branch(line, place, limits, read_only)


def how_branches_are_made() -> str:
    """How branches come about on this machine, in a line; the first answer takes a moment."""
    found = keeper()
    return found.how if found.overlays else f"copies ({found.how})"
