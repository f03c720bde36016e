"""The command line that runs another one confined, by bubblewrap: namespaces of its own, nothing to
see but what is named here.
"""

import fcntl
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from synth.confinement.system_calls import program_file
from synth.confinement.users import hand_over
from synth.schemas import ConfigError

INSIDE = "/world"
"""Where the writable folder stands inside."""
_UID = 1000
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
_CONFIGURATION = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime", "/etc/mime.types")
_PATH = "/usr/local/bin:/usr/bin:/bin"
_NEEDED = ("bwrap", "prlimit")
_FILTER_FD, _FIRST_FREE_FD = 9, 10
_SECOND_NET = 4
_FIRST = (
    "/bin/sh",
    "-c",
    'exec 3>&2 2>/dev/null; (exec 2>&3 3>&-; exec "$@"); exit $?',
    "first",
)
"""The first process inside, which all others end with. Bubblewrap waits for this one, and not only
for the command, as it would for a first process of its own: where it has ended, nothing is left.
Its own words on how the command ended are nobody's.
"""
ReadOnly = Sequence[Path] | Mapping[str, Path]
"""What a world may read: paths as they stand here, or by where they stand inside."""


class ProcessLimits(BaseModel):
    """Of one confined process tree. `memory_mb` is each process's own writable memory, and what all
    of them hold together
    (`synth/confinement/processes.py` looks at it twice a second), `file_mb` one file's size,
    `disk_mb` that of the whole folder with
    files that are deleted and still open (looked at likewise), `cpu_s` each process's computing
    time.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    memory_mb: int = Field(default=1024, ge=16)
    processes: int = Field(default=128, ge=1)
    file_mb: int = Field(default=64, ge=1)
    disk_mb: int = Field(default=256, ge=1)
    open_files: int = Field(default=512, ge=16)
    cpu_s: int = Field(default=600, ge=1)


def missing() -> str | None:
    """Why nothing can be confined here, in one line; None where it can."""
    if not sys.platform.startswith("linux"):
        return f"confinement needs Linux; this is {sys.platform}"

    absent = [name for name in _NEEDED if shutil.which(name) is None]

    if absent:
        return (
            f"{' and '.join(absent)} is missing: install it (Debian, Ubuntu: apt install "
            "bubblewrap util-linux)"
        )

    return None


@dataclass(frozen=True)
class Inside:
    """Where a confined command is started: `enter` are the words of a program that goes into other
    namespaces, `user` who it is where we are root (None: the owner that its folder is given),
    `groups` the files of cgroups that it enters. `at` is where its folder stands; `told` is a
    descriptor to which bubblewrap writes which process all others descend from.
    """

    at: str = INSIDE
    enter: Sequence[str] = ()
    user: int | None = None
    groups: Sequence[Path] = ()
    told: int | None = None
    own_memory: bool = True
    """Whether a process that holds too much is refused more memory, and not only ended."""


def confined_command(
    command: Sequence[str],
    *,
    folder: Path,
    limits: ProcessLimits,
    read_only: ReadOnly = (),
    environment: int | None = None,
    inside: Inside = Inside(),
) -> list[str]:
    """`command` as it is to be started: `folder` is writable at /world, its current directory;
    `read_only` paths stand where they do here, or at the places that they are given.

    The environment is what the descriptor `environment` holds (`environment_file`), and nothing
    else: nothing of ours reaches the process, nor bubblewrap's own, which it could read. No
    variable stands in the command, which every user of the machine can read.
    The user inside is 1000 and owns `folder`; where we are root, the user outside is one of its own
    per folder.
    Raises `ConfigError` where confinement is missing, and for a path that must not be shown.
    """
    problem = missing()
    if problem is not None:
        raise ConfigError(
            f"{problem}; a world of kind mcp may be allowed to run unconfined, "
            "by `unconfined: true`"
        )

    return [
        "/usr/bin/env",
        "-i",
        *_with_filter(inside.groups),
        *inside.enter,
        *_other_user(folder, inside.user),
        _place("bwrap"),
        *_apart(),
        *([] if environment is None else ["--args", str(environment)]),
        *([] if inside.told is None else ["--info-fd", str(inside.told)]),
        *_system(limits),
        *_shown_to_it(read_only),
        *("--bind", str(folder.absolute()), inside.at, "--chdir", inside.at),
        *("--remount-ro", "/dev", "--remount-ro", "/", "--"),
        *_limited(limits, inside),
        *command,
    ]


def _apart() -> list[str]:
    """The options for namespaces of its own, without any right or variable of ours."""
    variables = {"PATH": _PATH, "HOME": "/tmp", "LANG": "C.UTF-8"}
    return [
        "--unshare-all",
        "--unshare-user",
        "--disable-userns",
        "--as-pid-1",
        *_filter(),
        "--die-with-parent",
        "--new-session",
        "--cap-drop",
        "ALL",
        "--uid",
        str(_UID),
        "--gid",
        str(_UID),
        "--hostname",
        "world",
        "--clearenv",
        *[argument for name, value in variables.items() for argument in ("--setenv", name, value)],
    ]


def _system(limits: ProcessLimits) -> list[str]:
    """The options for the system that it sees, and an empty /tmp."""
    return [
        *[argument for path in _SYSTEM for argument in _as_it_stands(Path(path))],
        *[argument for path in _CONFIGURATION for argument in ("--ro-bind-try", path, path)],
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--size",
        str(limits.file_mb << 20),
        "--tmpfs",
        "/tmp",
    ]


def _shown_to_it(read_only: ReadOnly) -> list[str]:
    """The options for what it may read beside. Raises `ConfigError`."""
    places = (
        read_only
        if isinstance(read_only, Mapping)
        else {str(path.absolute()): path for path in read_only}
    )
    seen = {place: _shown(path) for place, path in places.items()}
    if os.geteuid() == 0:
        hidden = next((path for path in seen.values() if not _reachable(path)), None)
        if hidden is not None:
            raise ConfigError(
                f"{hidden}: lies in a folder that only its owner may enter, and worlds run as "
                "another user; put it elsewhere"
            )

    return [
        argument for place, path in seen.items() for argument in ("--ro-bind", str(path), place)
    ]


def _limited(limits: ProcessLimits, inside: Inside) -> list[str]:
    """The program that sets the limits of each process. Where a cgroup counts all processes, the
    number for their user is no more than a second net: other trees may be of the same user.
    """
    processes = limits.processes * (_SECOND_NET if inside.groups else 1)
    return [
        *_FIRST,
        "prlimit",
        *([f"--data={limits.memory_mb << 20}"] if inside.own_memory else []),
        f"--nproc={processes}",
        f"--fsize={limits.file_mb << 20}",
        f"--nofile={limits.open_files}",
        f"--cpu={limits.cpu_s}",
        "--core=0",
        "--",
    ]


@contextmanager
def environment_file(environment: Mapping[str, str]) -> Iterator[int | None]:
    """A descriptor for `confined_command` to be inherited by the process, of a file in memory; None
    where there is nothing to say.

    Raises `ConfigError` for a name that no environment can hold.
    """
    wrong = next((name for name in environment if not name or "=" in name or "\0" in name), None)
    if wrong is not None:
        raise ConfigError(f"{wrong!r} cannot be the name of an environment variable")

    if not environment:
        yield None
        return

    said = b"".join(
        os.fsencode(f"--setenv\0{name}\0{value}\0") for name, value in environment.items()
    )
    inherited = lifted(os.memfd_create("synth-environment"))
    try:
        os.write(inherited, said)
        os.lseek(inherited, 0, os.SEEK_SET)
        yield inherited
    finally:
        os.close(inherited)


def lifted(held: int) -> int:
    """The same file under a number that survives the start of a program; the first is closed."""
    try:
        return fcntl.fcntl(held, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE_FD)
    finally:
        os.close(held)


def _with_filter(groups: Sequence[Path]) -> list[str]:
    """Enters the cgroups, and opens the filter of system calls for bubblewrap, on a number that
    survives the start of a program. What cannot be entered is not left out: nothing is started.
    """
    place = program_file()
    if place is None and not groups:
        return []

    enter = (
        'n=$1; shift; while [ "$n" -gt 0 ]; do echo 0 >"$1" || exit 125; shift; n=$((n-1)); done'
    )
    begin = 'exec "$@"' if place is None else f'exec "$@" {_FILTER_FD}<"$0"'
    words = [str(len(groups)), *map(str, groups)]
    return ["/bin/sh", "-c", f"{enter}; {begin}", place or "sh", *words]


def _filter() -> list[str]:
    """The option by which bubblewrap reads the filter of system calls."""
    return [] if program_file() is None else ["--seccomp", str(_FILTER_FD)]


def _other_user(folder: Path, user: int | None) -> list[str]:
    """Where we are root, becomes a user that nobody else is: its processes are counted apart, and
    files of others are not its own.
    """
    if os.geteuid() != 0:
        return []

    who = hand_over(folder) if user is None else user
    return [
        _place("setpriv"),
        f"--reuid={who}",
        f"--regid={who}",
        "--clear-groups",
        "--inh-caps=-all",
    ]


def _reachable(path: Path) -> bool:
    """Whether any user may come to a path."""
    return all(parent.stat().st_mode & 0o001 for parent in path.parents)


def _place(program: str) -> str:
    """Where a program is. Raises `ConfigError`."""
    found = shutil.which(program)

    if found is None:
        raise ConfigError(
            f"{program} is missing: install it (Debian, Ubuntu: apt install bubblewrap util-linux)"
        )

    return found


def _as_it_stands(path: Path) -> list[str]:
    """A system folder, or the link that it is on systems where /usr holds everything."""
    if path.is_symlink():
        return ["--symlink", str(path.readlink()), str(path)]

    return ["--ro-bind-try", str(path), str(path)]


def _shown(path: Path) -> Path:
    """A path that a world may read. Raises `ConfigError` for a home folder, for what holds one, and
    for what is not there.
    """
    found = path.resolve()
    if not found.exists():
        raise ConfigError(f"{path}: is not there, and cannot be shown to a world")

    home = Path.home().resolve()

    if home == found or home.is_relative_to(found):
        raise ConfigError(
            f"{path}: holds the home folder, which no world may read; name the folder in it that "
            "is needed"
        )

    return found
