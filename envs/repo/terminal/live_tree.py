"""The tree of an episode: a branch of a task's tree, in which an agent runs commands."""

import errno
from hashlib import sha256

from synth.confinement.branches import (
    Branch,
    FileChange,
    new_branch,
)
from synth.envs.repo.copies import shown
from synth.envs.repo.starting import RepoSettings
from synth.envs.repo.task_tree import Changes, TaskTree
from synth.envs.repo.terminal import shell
from synth.envs.repo.terminal.files import CannotError, inside, replaced, shown_lines, text_of
from synth.envs.repo.terminal.frozen import FROZEN
from synth.envs.repo.terminal.observed import cut, observed
from synth.envs.repo.terminal.shell import Shell
from synth.schemas import content_hash

LARGEST_SHOWN = 4 << 20
"""Bytes of a file that are looked at or edited."""
_ENDED = {
    "time": "stopped after {seconds:g} s",
    "memory": "stopped: too much memory",
    "processes": "stopped: too many processes",
    "size": "stopped: too much was written",
}
_AS_BEFORE = "; the tree is as it was before"


class LiveTree:
    """A branch, and what its shell carries on."""

    def __init__(self, place: TaskTree, settings: RepoSettings, branch: Branch) -> None:
        self.place = place
        self.shell = Shell()
        self._settings, self._branch = settings, branch
        self._changes: Changes | None = {}

    @classmethod
    async def opened(cls, place: TaskTree, settings: RepoSettings) -> "LiveTree":
        """The tree as a task finds it."""
        tree = cls(place, settings, await _branch(place, settings))
        branch = tree._branch
        if not await FROZEN.thaw(tree._name({}), branch):
            await branch.apply(place.edits)
            await FROZEN.keep(tree._name({}), branch)

        return tree

    async def bash(self, command: str, most: int) -> tuple[str, bool]:
        """(what a command says, whether it was stopped)."""
        before = await self.changes()
        self._changes = None
        try:
            ran = await self._branch.run(
                shell.started(command, self.shell),
                time_s=self._settings.command_s,
                result=True,
            )
        except OSError as error:  # commands before have left no room for what this one would write
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            return f"[{_ENDED['size']}]", True

        if not await self._can_be_told(before):
            return f"[{_ENDED['size']}{_AS_BEFORE}]", True

        self.shell = shell.carried(self.shell, ran.result)

        text = observed(ran.output, most).rstrip("\n")
        if ran.ended_by is not None:
            ended = _ENDED[ran.ended_by].format(seconds=self._settings.command_s)
            return f"{text}\n[{ended}]".lstrip(), True

        if ran.code:
            return f"{text}\n[exit code {ran.code}]".lstrip(), False

        return text or "(no output)", False

    async def view(self, path: str, lines: str | None, most: int) -> str:
        """A file's lines, or a folder's names. Raises `CannotError`."""
        at = inside(path)
        try:
            data = await self._branch.read(at, LARGEST_SHOWN)
        except (IsADirectoryError, PermissionError):
            return await self._folder(path, at, most)
        except OSError as error:
            raise _cannot(path, error) from error

        return cut(shown_lines(path, text_of(path, data), lines), most)

    async def _folder(self, path: str, at: str, most: int) -> str:
        """What a folder holds. Raises `CannotError`."""
        try:
            names = await self._branch.listed(at)
        except OSError as error:
            raise _cannot(path, error) from error

        return cut("\n".join(sorted(names)) or "(empty)", most)

    async def replace(self, path: str, old: str, new: str) -> str:
        """Puts one text in the place of another. Raises `CannotError`."""
        at, before = inside(path), await self.changes()
        try:
            changed, told = replaced(path, await self.text(at), old, new)
            await self._branch.write(at, changed.encode())
        except OSError as error:
            raise _cannot(path, error) from error

        if not await self._can_be_told(before):
            raise CannotError(f"{path[:200]}: too much was written in all{_AS_BEFORE}.")

        return told

    async def _can_be_told(self, before: Changes) -> bool:
        """Whether what differs now fits into a snapshot; if not, the tree is made what it was."""
        self._changes = None
        try:
            await self.changes()
        except OSError as error:
            if error.errno != errno.EFBIG:
                raise
            await self._branch.close()
            self._branch = await _branch(self.place, self._settings)
            await self._branch.apply({**self.place.edits, **before})
            self._changes = before
            return False

        return True

    async def text(self, path: str) -> str | None:
        """A file's text; None where there is none. Raises `CannotError`, `OSError`."""
        try:
            data = await self._branch.read(path, LARGEST_SHOWN + 1)
        except FileNotFoundError:
            return None

        if len(data) > LARGEST_SHOWN:
            raise CannotError(f"{path}: is larger than {LARGEST_SHOWN >> 20} MB.")

        return text_of(path, data)

    async def changes(self) -> Changes:
        """What differs from the task's tree at its start; not to be written to."""
        if self._changes is None:
            self._changes = against(await self._branch.changes(), self.place)

        return self._changes

    async def key(self) -> str:
        """The same for equal trees and shells."""
        told = [[path, digest_of(one)] for path, one in sorted((await self.changes()).items())]
        return content_hash([self.place.task.id, told, self.shell.cwd, dict(self.shell.exported)])

    async def freeze(self) -> None:
        """Keeps the tree as it is, so that going back to it in this process is a mount."""
        await FROZEN.keep(self._name(await self.changes()), self._branch)

    async def restore(self, changes: Changes, then: Shell) -> None:
        """Makes the tree what it was once."""
        name, now = self._name(changes), await self.changes()
        if name != self._name(now) and not await FROZEN.thaw(name, self._branch):
            back = {path: _at_start(self.place, path) for path in now}
            await self._branch.apply({**back, **changes})

        self._changes, self.shell = changes, then

    def _name(self, changes: Changes) -> str:
        """What a tree is kept under."""
        told = sorted((path, digest_of(one)) for path, one in changes.items())
        return content_hash([str(self.place.base), self.place.task.id, told])

    async def close(self) -> None:
        """Lets the branch go."""
        await self._branch.close()


async def _branch(place: TaskTree, settings: RepoSettings) -> Branch:
    """A branch of the pristine tree."""
    return await new_branch(place.base, limits=settings.limits, read_only=await shown(place))


def digest_of(change: FileChange | None) -> str | None:
    """A hash of a file as it is; None for none."""
    if change is None:
        return None

    mode = "x" if change.mode & 0o100 else "-"
    return f"{mode}{sha256(change.data).hexdigest()[:24]}{change.link or ''}"


def against(now: Changes, place: TaskTree) -> Changes:
    """What differs from a task's start, given what differs from the pristine tree."""
    found = dict[str, FileChange | None]()

    for path in sorted(now.keys() | place.edits.keys()):
        if path not in now:
            found[path] = place.pristine_file(path)
        elif path not in place.edits or digest_of(now[path]) != digest_of(place.edits[path]):
            found[path] = now[path]

    return found


def _at_start(place: TaskTree, path: str) -> FileChange | None:
    """A file as the task has it at its start."""
    return place.edits[path] if path in place.edits else place.pristine_file(path)


def _cannot(path: str, error: OSError) -> CannotError:
    """An error of the system in words."""
    return CannotError(f"{path[:200]}: {(error.strerror or 'cannot be used').lower()}.")
