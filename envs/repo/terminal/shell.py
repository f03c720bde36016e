"""One command after the other, each in a shell of its own that takes over where the last one
was.
"""

from collections.abc import Mapping
from functools import cache

import msgspec

from synth.envs.data_file import data_file
from synth.schemas import valid_text

LARGEST_CARRIED = 16_384
"""Bytes of exported variables that are carried on; with more the last ones stay."""
_PATH = "/usr/local/bin:/usr/bin:/bin"
_ROOT = "/repo"
TOOLS = "/tools"
"""Where what runs the tests stands inside."""


class Shell(msgspec.Struct, frozen=True):
    """What is carried from command to command: `exported` are variables as they differ from those
    that every shell starts with, None where one is unset.
    """

    cwd: str = _ROOT
    exported: Mapping[str, str | None] = {}


class _ShellData(msgspec.Struct, frozen=True):
    """How a shell is started."""

    wrapper: str
    variables: Mapping[str, str]
    not_carried: tuple[str, ...]


@cache
def _data() -> _ShellData:
    """Read once."""
    return msgspec.convert(data_file("repo/shell"), _ShellData)


def started(command: str, before: Shell) -> list[str]:
    """The command line of a shell that runs a command where the last one was."""
    wrapper = ["/bin/bash", "--noprofile", "--norc", "-c", _data().wrapper, "bash"]
    variables = {**first_variables(), **before.exported}
    given = [
        name if value is None else f"{name}={value}" for name, value in sorted(variables.items())
    ]

    return [*wrapper, command, before.cwd, *given]


def first_variables() -> dict[str, str | None]:
    """The variables of a first shell."""
    return {**_data().variables, "PATH": f"{TOOLS}/bin:{_PATH}"}


def carried(before: Shell, told: bytes) -> Shell:
    """What a shell left to the next one, as it told at its end; as before where it did not."""
    cwd, *pairs = told.decode("utf-8", "replace").split("\0")
    if not told or not pairs:
        return before

    held = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
    own = {name: value for name, value in held.items() if _is_carried(name)}
    first = first_variables()
    changed: dict[str, str | None] = {
        name: value for name, value in sorted(own.items()) if first.get(name) != value
    }
    changed |= {name: None for name in first if name not in held}
    size = sum(len(name) + len(value or "") for name, value in changed.items())
    kept = before.exported if size > LARGEST_CARRIED else changed

    return Shell(valid_text(cwd) or before.cwd, kept)


def _is_carried(name: str) -> bool:
    """Whether a variable is one of the agent's."""
    return name.isidentifier() and name not in _data().not_carried
