"""The filter of system calls, run by hand: instructions of classic BPF on what a call looks
like.
"""

import struct

import pytest

from synth.confinement.system_calls import NAMES, program

ALLOW, REFUSE = 0x7FFF0000, 0x00050000
X86, ARM = 0xC000003E, 0xC00000B7


def verdict(instructions: bytes, number: int, machine: int, first: int = 0) -> int:
    """What the program returns for a call: `struct seccomp_data` is number, machine, address of the
    instruction, arguments.
    """
    data = struct.pack("=IIQQ", number, machine, 0, first)
    lines = list(struct.iter_unpack("=HBBI", instructions))
    at, value = 0, 0
    while True:
        code, true, false, k = lines[at]
        if code == 0x06:
            return int(k)
        if code == 0x20:
            (value,) = struct.unpack_from("=I", data, k)
            at += 1
        else:
            at += 1 + (true if (value == k if code == 0x15 else value >= k) else false)


@pytest.mark.parametrize(
    ("name", "machine", "refused", "socket", "harmless"),
    [("x86_64", X86, {248, 249, 250, 319, 29, 101}, 41, {0, 1, 9, 56, 59, 53}),
     ("aarch64", ARM, {217, 218, 219, 279, 194, 117}, 198, {63, 64, 222, 220, 221, 199})],
)  # fmt: skip
def test_named_calls_are_refused_and_others_pass(
    name: str, machine: int, refused: set[int], socket: int, harmless: set[int]
) -> None:
    made = program(name)
    assert made is not None
    assert {verdict(made, number, machine) for number in refused} == {REFUSE | 1}
    assert {verdict(made, number, machine) for number in harmless} == {ALLOW}
    assert {verdict(made, socket, machine, family) for family in (1, 2, 10, 16)} == {ALLOW}
    assert {verdict(made, socket, machine, family) for family in (17, 38, 40)} == {REFUSE | 97}
    assert {verdict(made, number, 0x40000003) for number in harmless} == {REFUSE | 1}, (
        "calls of another machine, such as 32-bit ones"
    )
    assert len(NAMES) == 12


def test_another_way_to_the_same_calls_is_closed_and_unknown_machines_have_no_filter() -> None:
    made = program("x86_64")
    assert made is not None
    assert verdict(made, 0x40000000 + 250, X86) == REFUSE | 38
    assert program("riscv64") is None
