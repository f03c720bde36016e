"""A run directory on a local disk or an object store: named byte strings under one root.

The ledger reads them and creates them where there is none; it overwrites nothing.
"""

import contextlib
import errno
import os
import shutil
import stat
import time
import uuid
from collections.abc import Iterator
from hashlib import file_digest
from pathlib import Path

import fsspec
from fsspec.implementations.local import LocalFileSystem

from synth.keys.looks import has_user
from synth.ledger.storage.errors import access_error, first_file
from synth.ledger.storage.names import CREDENTIALS, how_to_install, inside, unusable
from synth.schemas import ConfigError

TEMPORARY = ".tmp-"
REFUSED_FOR_NOW = frozenset({errno.EBUSY, errno.EREMOTEIO})
"""Errors of an object store that is overloaded, or that has two puts of one name at the same
moment.
"""
AGAIN_S = (0.1, 0.3, 1.0, 3.0)
"""Waits before a put that was refused for now is sent again."""
_FRESH = {"use_listings_cache": False}
"""A listing that fsspec has cached hides what other writers have stored since, also from looks at
single names.
"""


class Storage:
    """Files by name below the root of `url`: a path, or s3://, gs://, abfs://, memory://.

    A name that leads out of the root raises `DamagedError`, whoever wrote it.
    """

    def __init__(self, url: str, what: str = "run directory") -> None:
        if has_user(url):
            raise ConfigError(f"{url.partition('://')[0]}://...: {CREDENTIALS}")
        problem = unusable(url)
        if problem is not None:
            shown = f"{url!a}: cannot be opened as a {what}: {problem}"
            raise ConfigError(shown.replace("'", "", 2))
        try:
            self.fs, self.root = fsspec.core.url_to_fs(url, **_FRESH if "://" in url else {})
        except (ImportError, ValueError) as error:
            install = how_to_install(url) if isinstance(error, ImportError) else ""
            raise ConfigError(f"{url}: cannot be opened as a {what}: {error}{install}") from error
        self.local = isinstance(self.fs, LocalFileSystem)
        self.url = str(Path(self.root)) if self.local else url.rstrip("/")
        blocked = first_file(Path(self.root)) if self.local else None
        if blocked is not None:
            raise ConfigError(f"{url}: {blocked} is a file, not a folder; name another {what}")

    def path(self, name: str) -> str:
        """The path or URL of a name, as fsspec reads it, and DuckDB with this file system
        registered.
        """
        return self._at(name) if self.local else str(self.fs.unstrip_protocol(self._at(name)))

    def _at(self, name: str) -> str:
        return inside(self.root, name, local=self.local)

    @contextlib.contextmanager
    def _access(self, name: str, *, may_lack: bool = True) -> Iterator[None]:
        """Raises `SynthError` for an error of the file system; that there is no file under the name
        passes through where the caller expects it (`may_lack`).
        """
        try:
            yield
        except OSError as error:
            if may_lack and isinstance(error, FileNotFoundError):
                raise
            raise access_error(self.path(name), error) from error

    def read(self, name: str) -> bytes:
        """The bytes of a name. Raises `FileNotFoundError`, and `SynthError` where what lies there
        cannot be read.
        """
        with self._access(name):
            return bytes(self.fs.cat_file(self._at(name)))

    def size(self, name: str) -> int | None:
        """Bytes stored under a name, None where there is nothing. Raises `SynthError` where this
        user may not look.
        """
        with contextlib.suppress(FileNotFoundError), self._access(name):
            return int(self.fs.size(self._at(name)))
        return None

    def sha256(self, name: str) -> str:
        """The digest of what lies under a name, as `sha256sum` prints it. Raises as `read` does."""
        with self._access(name), self.fs.open(self._at(name)) as file:
            return file_digest(file, "sha256").hexdigest()

    def is_plain(self, name: str) -> bool:
        """Whether what lies there is a file itself: no link to one, no folder, no device."""
        if not self.local:
            return True
        with contextlib.suppress(OSError):
            return stat.S_ISREG(Path(self.root, name).lstat().st_mode)
        return False

    def is_link(self, name: str) -> bool:
        """Whether a link lies there; it may lead to nothing."""
        return self.local and Path(self.root, name).is_symlink()

    def tree(self, folder: str) -> list[str]:
        """Every file in a folder and below it, by path from the root, sorted; links are listed and
        never followed. Empty where there is no such folder.
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
        """What lies in a folder now, by name; empty where there is no such folder."""
        path = self._at(folder)
        self.fs.invalidate_cache(path)
        with contextlib.suppress(FileNotFoundError), self._access(folder):
            return [str(entry).rsplit("/", 1)[-1] for entry in self.fs.ls(path, detail=False)]
        return []

    def create(self, name: str, blob: bytes, *, durable: bool = True) -> bool:
        """Stores bytes under a new name, whole or not at all; False where the name is taken by
        other bytes.

        On a disk: temporary file, fsync (unless it need not be `durable`), hard link. In an object
        store: conditional put. Its answer may have been lost, so bytes that lie there and are ours
        count as stored. Raises `SynthError` where it cannot be written.
        """
        with self._access(name, may_lack=False):
            return self._link(name, blob, durable=durable) if self.local else self._put(name, blob)

    def link(self, name: str, source: str) -> bool | None:
        """Gives what lies under `source` a second, new name, by one system call in the place of
        five; False where that name is taken, None where the caller has to create it instead.
        """
        if not self.local:
            return None
        try:
            os.link(self._at(source), self._at(name))
        except FileExistsError:
            return False
        except OSError:  # the source was removed meanwhile, or has as many links as a file may have
            return None
        return True

    def replace(self, name: str, content: bytes | Path) -> None:
        """Stores bytes, or a copy of a file of this machine, whether the name is taken or not; a
        reader sees the old content or the new. Raises `SynthError`.

        Only for what is derived or has one writer: the ledger itself never replaces anything.
        """
        with self._access(name, may_lack=False):
            if self.local:
                temporary = self._temporary(name)
                if isinstance(content, Path):
                    shutil.copyfile(content, temporary)
                else:
                    temporary.write_bytes(content)
                temporary.replace(self._at(name))
            elif isinstance(content, Path):
                self.fs.put_file(str(content), self._at(name))
            else:
                self.fs.pipe_file(self._at(name), content)

    def discard(self, name: str) -> None:
        """Removes a file of ours that was never committed."""
        with contextlib.suppress(FileNotFoundError):
            self.fs.rm_file(self._at(name))

    def prune(self) -> None:
        """Removes a run directory that holds nothing but empty folders."""
        root = Path(self.root)
        if self.local and root.is_dir():
            for folder in [*(path for path in root.iterdir() if path.is_dir()), root]:
                with contextlib.suppress(OSError):
                    folder.rmdir()

    def leftovers(self, folder: str) -> list[str]:
        """Temporary files of writers that died half-way; they are part of nothing."""
        path = Path(self._at(folder))
        if not self.local or not path.is_dir():
            return []
        temporary = sorted(one.name for one in path.iterdir() if one.name.startswith(TEMPORARY))
        return [
            name
            for name in temporary
            if not process_lives(name.removeprefix(TEMPORARY).partition("-")[0])
        ]

    def _temporary(self, name: str) -> Path:
        """A new file's name beside that of `name`, in a folder that it makes."""
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
                with contextlib.suppress(OSError):
                    return bytes(self.fs.cat_file(self._at(name))) == blob
                if isinstance(error, FileExistsError):  # refused a moment before it can be read
                    return False
                if wait_s is None or error.errno not in REFUSED_FOR_NOW:
                    raise
                time.sleep(wait_s)
            else:
                break
        return True


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
