"""System calls that no confined process may make: what namespaces and limits do not cover, as a
seccomp filter (classic BPF).

Key rings and VSOCK sockets belong to no namespace that bubblewrap makes; memory of `memfd_create`
and of System V counts to no process;
the others are large parts of the kernel that no tool needs.
"""

import errno
import os
import platform
import struct

NAMES = (
    "add_key",
    "bpf",
    "io_uring_setup",
    "keyctl",
    "memfd_create",
    "memfd_secret",
    "msgget",
    "perf_event_open",
    "ptrace",
    "request_key",
    "shmget",
    "userfaultfd",
)
_NUMBERS = {
    "x86_64": (0xC000003E, (248, 321, 425, 250, 319, 447, 68, 298, 101, 249, 29, 323), 41),
    "aarch64": (0xC00000B7, (217, 280, 425, 219, 279, 447, 186, 241, 117, 218, 194, 282), 198),
}
"""By machine: its name in the kernel, the numbers of `NAMES`, the number of `socket`."""
_FAMILIES = (1, 2, 10, 16)
"""AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK, all of which know network namespaces."""
_X32 = 0x40000000
"""From here on are the numbers of x86's 32-bit pointers, another way to the same calls."""
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_NUMBER_AT, _MACHINE_AT, _FIRST_ARGUMENT_AT = 0, 4, 16


def program(machine: str | None = None) -> bytes | None:
    """The filter's instructions for a machine (this one's by default); None for one whose numbers
    are not known here.
    """
    known = _NUMBERS.get(machine or platform.machine())
    if known is None:
        return None

    name, refused, socket = known
    lines = [
        (_LOAD, 0, 0, _MACHINE_AT),
        (_EQUAL, 1, 0, name),
        (_RETURN, 0, 0, _REFUSE | errno.EPERM),
        (_LOAD, 0, 0, _NUMBER_AT),
    ]
    lines += [(_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _REFUSE | errno.ENOSYS)]
    for number in refused:
        lines += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _REFUSE | errno.EPERM)]

    lines += [(_EQUAL, 1, 0, socket), (_RETURN, 0, 0, _ALLOW), (_LOAD, 0, 0, _FIRST_ARGUMENT_AT)]
    for family in _FAMILIES:
        lines += [(_EQUAL, 0, 1, family), (_RETURN, 0, 0, _ALLOW)]

    lines.append((_RETURN, 0, 0, _REFUSE | errno.EAFNOSUPPORT))

    return b"".join(struct.pack("=HBBI", *line) for line in lines)


_HELD: dict[int, str] = {}


def program_file() -> str | None:
    """Where a process that we start can read the filter, as long as we live: a file in memory. None
    where there is no filter.
    """
    wanted = program()
    if wanted is None:
        return None

    if os.getpid() not in _HELD:
        held = os.memfd_create("synth-seccomp")
        os.write(held, wanted)
        _HELD[os.getpid()] = f"/proc/{os.getpid()}/fd/{held}"

    return _HELD[os.getpid()]
