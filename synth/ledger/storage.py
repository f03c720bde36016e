"""A run directory on a local disk or an object store: read, and create if absent; nothing is ever
overwritten.
"""

import contextlib
import errno
import os
import shutil
import stat
import time
import uuid
from hashlib import file_digest, sha256
from pathlib import Path

import fsspec
from fsspec.implementations.local import LocalFileSystem

from synth.keys.looks import has_user
from synth.ledger.inside import inside
from synth.ledger.storage_url import CREDENTIALS, how_to_install, unusable
from synth.schemas.errors import ConfigError, SynthError

TEMPORARY = ".tmp-"
REFUSED_FOR_NOW = frozenset({errno.EBUSY, errno.EREMOTEIO})
"""Errors of an object store that is overloaded, or that has two puts of one name at the same
moment.
"""
_FRESH = {"use_listings_cache": False}
"""Else a listing that was made once hides what other writers have stored since, from looks at
single names too.
"""
AGAIN_S = (0.1, 0.3, 1.0, 3.0)


class Storage:
    """Named byte strings under one root; `url` is a path, or s3://, gs://, abfs://, memory:// (see
    `storage_url`).
    """

    def __init__(self, url: str, what: str = "run directory") -> None:
        if has_user(url):
            raise ConfigError(f"{url.partition('://')[0]}://...: {CREDENTIALS}")
        problem = unusable(url)
        if problem is not None:
            raise ConfigError(
                f"{url!a}: cannot be opened as a {what}: {problem}".replace("'", "", 2)
            )
        try:
            self.fs, self.root = fsspec.core.url_to_fs(url, **_FRESH if "://" in url else {})
        except ImportError as error:
            raise ConfigError(
                f"{url}: cannot be opened as a {what}: {error}{how_to_install(url)}"
            ) from error
        except ValueError as error:
            raise ConfigError(f"{url}: cannot be opened as a {what}: {error}") from error
        self.local = isinstance(self.fs, LocalFileSystem)
        self.url = str(Path(self.root)) if self.local else url.rstrip("/")
        blocked = _not_a_folder(Path(self.root)) if self.local else None
        if blocked is not None:
            raise ConfigError(f"{url}: {blocked} is a file, not a folder; name another {what}")

    def path(self, name: str) -> str:
        """Where a name lies, as fsspec and (with the file system registered) DuckDB read it. Raises
        `DamagedError` as `inside`.
        """
        return self._at(name) if self.local else str(self.fs.unstrip_protocol(self._at(name)))

    def _at(self, name: str) -> str:
        return inside(self.root, name, local=self.local)

    def read(self, name: str) -> bytes:
        """The bytes of a name. Raises `FileNotFoundError`, and `SynthError` where what lies there
        cannot be read.
        """
        try:
            return bytes(self.fs.cat_file(self._at(name)))
        except FileNotFoundError:
            raise
        except OSError as error:
            raise access_error(self.path(name), error) from error

    def size(self, name: str) -> int | None:
        """Bytes stored under a name, None where there is nothing. Raises `SynthError` where one may
        not look.
        """
        try:
            return int(self.fs.size(self._at(name)))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise access_error(self.path(name), error) from error

    def sha256(self, name: str) -> str:
        """The digest of what lies under a name, as `sha256sum` prints it. Raises as `read` does."""
        if not self.local:
            return sha256(self.read(name)).hexdigest()
        try:
            with Path(self._at(name)).open("rb") as file:
                return file_digest(file, "sha256").hexdigest()
        except FileNotFoundError:
            raise
        except OSError as error:
            raise access_error(self.path(name), error) from error

    def is_plain(self, name: str) -> bool:
        """Whether what lies there is a file itself: no link to one, no folder, no device."""
        if not self.local:
            return True
        with contextlib.suppress(OSError):
            return stat.S_ISREG(Path(self.root, name).lstat().st_mode)
        return False

    def is_link(self, name: str) -> bool:
        """Whether a link lies there, be it one to nothing."""
        return self.local and Path(self.root, name).is_symlink()

    def tree(self, folder: str) -> list[str]:
        """Every file in a folder and below it, by path from the root, links among them but never
        followed; empty where there is none.
        """
        path = f"{self.root}/{folder}".rstrip("/")
        if not self.local:
            self.fs.invalidate_cache(path)
            return sorted(str(found)[len(self.root) + 1 :] for found in self.fs.find(path))
        found = []
        for where, folders, files in os.walk(path):
            links = [name for name in folders if Path(where, name).is_symlink()]
            found += [str(Path(where, name).relative_to(self.root)) for name in (*files, *links)]
        return sorted(found)

    def names(self, folder: str) -> list[str]:
        """What lies in a folder now, by name; empty where there is none."""
        path = self._at(folder)
        self.fs.invalidate_cache(path)
        try:
            return [str(entry).rsplit("/", 1)[-1] for entry in self.fs.ls(path, detail=False)]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise access_error(self.path(folder), error) from error

    def create(self, name: str, blob: bytes, *, durable: bool = True) -> bool:
        """Stores bytes under a new name, whole or not at all; False where the name is taken by
        other bytes.

        Local: temporary file, fsync (unless it need not be `durable`), hard link. Object stores:
        conditional put, whose answer may have
        been lost: bytes that lie there and are ours were stored. Raises `SynthError` where it
        cannot be written.
        """
        try:
            return self._link(name, blob, durable=durable) if self.local else self._put(name, blob)
        except OSError as error:
            raise write_error(self.path(name), error) from error

    def link(self, name: str, source: str) -> bool | None:
        """Gives what lies under `source` a second, new name; False where that is taken, None where
        it has to be created instead.

        One call of the system in the place of five.
        """
        if not self.local:
            return None
        try:
            os.link(self._at(source), self._at(name))
        except FileExistsError:
            return False
        except OSError:  # declared dead meanwhile, or more links than a file may have
            return None
        return True

    def replace(self, name: str, blob: bytes) -> None:
        """Stores bytes whether the name is taken or not; a reader sees the old ones or the new
        ones. Raises `SynthError`.

        For what is derived or of one writer only: the ledger itself never replaces anything.
        """
        try:
            if not self.local:
                self.fs.pipe_file(self._at(name), blob)
                return
            temporary = self._temporary(name)
            temporary.write_bytes(blob)
            temporary.replace(self._at(name))
        except OSError as error:
            raise write_error(self.path(name), error) from error

    def replace_from(self, name: str, source: Path) -> None:
        """The same with the bytes of a file, however large, that stays where it is."""
        try:
            if not self.local:
                self.fs.put_file(str(source), f"{self.root}/{name}")
                return
            temporary = self._temporary(name)
            shutil.copyfile(source, temporary)
            temporary.replace(Path(self.root, name))
        except OSError as error:
            raise write_error(self.path(name), error) from error

    def discard(self, name: str) -> None:
        """Removes a file that no manifest line names (our own, never committed)."""
        with contextlib.suppress(FileNotFoundError):
            self.fs.rm_file(self._at(name))

    def prune(self) -> None:
        """Removes what is left of a run directory that holds nothing but empty folders."""
        if self.local and Path(self.root).is_dir():
            for folder in [*(p for p in Path(self.root).iterdir() if p.is_dir()), Path(self.root)]:
                with contextlib.suppress(OSError):
                    folder.rmdir()

    def leftovers(self, folder: str) -> list[str]:
        """Temporary files of writers that died half-way; they are part of nothing."""
        if not self.local or not self.fs.isdir(self._at(folder)):
            return []
        return sorted(
            p.name
            for p in Path(self.root, folder).iterdir()
            if p.name.startswith(TEMPORARY) and not _alive(p.name)
        )

    def _temporary(self, name: str) -> Path:
        """A new file's name beside that of `name`, in a folder that is there."""
        folder = Path(self._at(name)).parent
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{TEMPORARY}{os.getpid()}-{uuid.uuid4().hex}"

    def _link(self, name: str, blob: bytes, *, durable: bool) -> bool:
        target, temporary = Path(self._at(name)), self._temporary(name)
        try:
            with temporary.open("xb") as file:
                file.write(blob)
                file.flush()
                if durable:
                    os.fsync(file.fileno())
            try:
                os.link(temporary, target)
            except FileExistsError:
                return False
        finally:
            temporary.unlink(missing_ok=True)
        if durable:
            folder = os.open(target.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        return True

    def _put(self, name: str, blob: bytes) -> bool:
        for wait_s in (*AGAIN_S, None):
            try:
                self.fs.pipe_file(self._at(name), blob, mode="create")
            except OSError as error:
                held = self._held(name)
                if held is not None:
                    return held == blob
                if isinstance(error, FileExistsError):  # refused a moment before it can be read
                    return False
                if wait_s is None or error.errno not in REFUSED_FOR_NOW:
                    raise
                time.sleep(wait_s)
            else:
                break
        return True

    def _held(self, name: str) -> bytes | None:
        """What lies under a name, None where nothing can be read there."""
        try:
            return bytes(self.fs.cat_file(f"{self.root}/{name}"))
        except OSError:
            return None


def write_error(path: str, error: OSError) -> SynthError:
    """One line for a write that failed: what, where, what to do."""
    if error.errno == errno.EFBIG:
        return SynthError(
            f"{path}: the file-size limit of this process is reached; raise it (ulimit -f) and "
            "run again"
        )
    return access_error(path, error)


def access_error(path: str, error: OSError) -> SynthError:
    """One line for a file or folder that cannot be used as what it should be."""
    if error.errno in (
        errno.ENOSPC,
        errno.EDQUOT,
    ):  # also where a file is only opened, or a lock names its owner
        return SynthError(
            f"{path}: the disk is full; free some space and run again: nothing that was committed "
            "is lost"
        )
    match error:
        case FileExistsError() | NotADirectoryError():
            return SynthError(
                f"{_not_a_folder(Path(path)) or path}: is a file where a folder belongs; move it "
                "away and run again"
            )
        case IsADirectoryError():
            return SynthError(
                f"{path}: is a folder where a file belongs; move it away and run again"
            )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return SynthError(
            f"{path}: {error.strerror}; give this user the right to read and write there, or name "
            "another folder"
        )
    if error.errno == errno.ENOENT:
        return SynthError(
            f"{path}: cannot be used: {error.strerror}; no file can be made there: name a folder "
            "on a disk, such as runs/mine"
        )
    return SynthError(
        f"{path}: cannot be used: {error.strerror or error}; nothing that was committed is lost"
    )


def _not_a_folder(path: Path) -> Path | None:
    """The first part of a path that is there and is no folder."""
    for part in [*reversed(path.parents), path]:
        try:
            mode = part.stat().st_mode
        except OSError:
            return None
        if not stat.S_ISDIR(mode):
            return part
    return None


def _alive(temporary: str) -> bool:
    """Whether the process that a temporary file is named after still runs."""
    return process_lives(temporary.removeprefix(TEMPORARY).split("-", 1)[0])


def process_lives(pid: str) -> bool:
    """Whether a process of this machine has this number."""
    if not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
