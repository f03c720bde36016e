"""Mounts, by system calls: a `mount` process costs more than the mount."""

import ctypes
import os
import subprocess
from pathlib import Path

READ_ONLY, NO_SUID, NO_DEVICES, REMOUNT, BIND = 1, 2, 4, 32, 4096
GUARDED = NO_SUID | NO_DEVICES
_DETACH = 2
_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
"""System calls that have these numbers on every machine."""
_CLONE, _EMPTY_PATH, _MOVE_EMPTY_PATH, _MAPPED = 1, 0x1000, 4, 0x100000
_LIBC = ctypes.CDLL(None, use_errno=True)


class _Attributes(ctypes.Structure):
    """`struct mount_attr`."""

    _fields_ = (
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("user_namespace", ctypes.c_uint64),
    )


def mount(source: str, target: str, kind: str, flags: int = 0, options: str = "") -> None:
    """mount(2). Raises `OSError`."""
    words = [os.fsencode(word) for word in (source, target, kind)]
    if _LIBC.mount(*words, ctypes.c_ulong(flags), os.fsencode(options)) != 0:
        raise _problem(target)


def bind(source: str, target: str) -> None:
    """Shows a folder at another place, read-only. Raises `OSError`."""
    mount(source, target, "none", BIND)
    mount("none", target, "none", REMOUNT | BIND | READ_ONLY | GUARDED)


def unmount(target: str) -> None:
    """umount(2), at the latest when nobody uses it any more."""
    if _LIBC.umount2(os.fsencode(target), 0) != 0:
        _LIBC.umount2(os.fsencode(target), _DETACH)


def mapped(source: str, target: str, owner: tuple[int, int], user: int) -> None:
    """Shows a folder at another place, read-only, as if what belongs to `owner` belonged to `user`.
    Raises `OSError` where kernel or file system cannot.
    """
    names = _names(owner, user)
    try:
        tree = _call(_OPEN_TREE, -100, os.fsencode(source), _CLONE | os.O_CLOEXEC)
        try:
            wanted = _Attributes(_MAPPED | READ_ONLY | GUARDED, 0, 0, names)
            said = ctypes.byref(wanted)
            _call(_MOUNT_SETATTR, tree, b"", _EMPTY_PATH, said, ctypes.sizeof(wanted))
            _call(_MOVE_MOUNT, tree, b"", -100, os.fsencode(target), _MOVE_EMPTY_PATH)
        finally:
            os.close(tree)
    finally:
        os.close(names)


def _names(owner: tuple[int, int], user: int) -> int:
    """A user namespace in which `owner` is `user`."""
    with subprocess.Popen(
        ["unshare", "--user", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("started without pipes")
        process.stdin.write(b"\n")
        process.stdin.flush()
        process.stdout.read(1)  # what answers has its namespace
        place = Path(f"/proc/{process.pid}")
        for name, of in zip(("uid_map", "gid_map"), owner, strict=True):
            (place / name).write_text(f"{of} {user} 1\n", encoding="ascii")
        return os.open(place / "ns/user", os.O_RDONLY | os.O_CLOEXEC)


def _call(number: int, *arguments: object) -> int:
    words = [
        ctypes.c_long(each) if isinstance(each, int) else each  # a whole register each
        for each in arguments
    ]
    _LIBC.syscall.restype = ctypes.c_long
    found = int(_LIBC.syscall(ctypes.c_long(number), *words))
    if found < 0:
        raise _problem("")
    return found


def _problem(place: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number), place)
