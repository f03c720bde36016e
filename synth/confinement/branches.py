"""Branches of a folder: views that commands may change, each for itself, while the folder stays."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from synth.confinement.command import ProcessLimits, confined_command, hand_over
from synth.confinement.keeper import differences, files
from synth.confinement.keeper.walking import STANDS_AT
from synth.confinement.running import Ran, ran

T = TypeVar("T")


class FileChange(msgspec.Struct, frozen=True):
    """A file as it is now: its content and mode, or where it leads, if it is a link."""

    data: bytes
    mode: int = 0o644
    link: str | None = None


class Frozen(msgspec.Struct, frozen=True):
    """A point that a branch of the same folder can go on from."""

    place: str


class Branch:
    """A copy-on-write view of a folder, which itself is never written. Its tree stands at /repo for
    the commands in it. One thing at a time.
    """

    def __init__(
        self, base: Path, home: Path, limits: ProcessLimits, read_only: Sequence[Path]
    ) -> None:
        self._base, self._home, self._limits = base, home, limits
        self._read_only = read_only
        self._lock = asyncio.Lock()
        self._frozen = 0
        self._tree = home / "tree"

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

        With `result`, the variable SYNTH_RESULT_FD names a descriptor for it to write to.
        """

        def line(file: int | None) -> Sequence[str]:
            return confined_command(
                ["/bin/sh", "-c", 'cd -- "$0" && exec "$@"', cwd, *command],
                folder=self._tree,
                limits=self._limits,
                read_only=self._read_only,
                environment=file,
                at=STANDS_AT,
            )

        async with self._lock:
            return await ran(
                line,
                environment=environment,
                time_s=time_s,
                output_bytes=output_bytes,
                result=result,
            )

    async def changes(self) -> Mapping[str, FileChange | None]:
        """By path, the files that differ from the folder's, as they are now; None for deleted."""

        def found() -> dict[str, FileChange | None]:
            base = os.open(self._base, os.O_PATH | os.O_DIRECTORY)
            try:
                with _root(self._tree) as now:
                    seen = differences.changes(base, now, differences.every_path(base, now))
            finally:
                os.close(base)
            return {p: None if one is None else FileChange(*one) for p, one in seen.items()}

        return await self._apart(found)

    async def apply(self, changes: Mapping[str, FileChange | None]) -> None:
        """Lays changes over the tree, following no link."""
        told = {
            path: None if one is None else (one.data, one.mode, one.link)
            for path, one in changes.items()
        }
        await self._in_tree(lambda root: differences.apply(root, told))

    async def read(self, path: str, limit: int) -> bytes:
        """The first bytes of a file. Raises `OSError`, also for a link that leads out."""
        return await self._in_tree(lambda root: files.read(root, path, limit))

    async def write(self, path: str, data: bytes) -> None:
        """A file's content anew; folders above it are made. Raises `OSError`."""
        await self._in_tree(lambda root: files.write(root, path, data))

    async def listed(self, path: str) -> Sequence[str]:
        """The names in a folder, those of folders with a slash at the end. Raises `OSError`."""
        return await self._in_tree(lambda root: files.listed(root, path))

    async def freeze(self) -> Frozen:
        """A point to come back to."""
        async with self._lock:
            self._frozen += 1
            place = self._home / f"frozen{self._frozen}"
            await _copied(self._tree, place)
            return Frozen(str(place))

    async def thaw(self, frozen: Frozen) -> None:
        """Goes on from a frozen point."""
        async with self._lock:
            await _command("rm", "-rf", "--", str(self._tree))
            await _copied(Path(frozen.place), self._tree)

    async def close(self) -> None:
        """Gives back all that the branch holds."""
        async with self._lock:
            await _command("rm", "-rf", "--", str(self._home))

    async def _in_tree(self, work: Callable[[int], T]) -> T:
        def done() -> T:
            with _root(self._tree) as root:
                return work(root)

        return await self._apart(done)

    async def _apart(self, work: Callable[[], T]) -> T:
        async with self._lock:
            return await asyncio.to_thread(work)


class _root:  # noqa: N801
    """A descriptor of a tree's root."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree

    def __enter__(self) -> int:
        self._file = os.open(self._tree, os.O_PATH | os.O_DIRECTORY)
        return self._file

    def __exit__(self, *_: object) -> None:
        os.close(self._file)


@asynccontextmanager
async def branch_of(
    base: Path, *, limits: ProcessLimits, read_only: Sequence[Path] = ()
) -> AsyncIterator[Branch]:
    """A branch of a folder, closed at the end."""
    branch = await new_branch(base, limits=limits, read_only=read_only)
    try:
        yield branch
    finally:
        await branch.close()


async def new_branch(
    base: Path, *, limits: ProcessLimits, read_only: Sequence[Path] = ()
) -> Branch:
    """A branch of a folder, which its user closes."""
    home = Path(tempfile.mkdtemp(prefix="synth-branch-"))
    os.chmod(home, 0o711)  # noqa: PTH101
    try:
        await _copied(base, home / "tree")
        await asyncio.to_thread(hand_over, home / "tree")
    except BaseException:
        shutil.rmtree(home, ignore_errors=True)
        raise

    return Branch(base, home, limits, read_only)


def how_branches_are_made() -> str:
    """How branches come about on this machine, in a line."""
    return "copies: overlay file systems are not used yet"


async def _copied(source: Path, target: Path) -> None:
    await _command("cp", "-a", "--reflink=auto", "--", str(source), str(target))


async def _command(*words: str) -> None:
    process = await asyncio.create_subprocess_exec(*words, stderr=asyncio.subprocess.PIPE)
    _, said = await process.communicate()
    if process.returncode:
        raise OSError(process.returncode, said.decode("utf-8", "replace").strip()[:300])
