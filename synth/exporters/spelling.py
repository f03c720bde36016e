"""How a setting is spelled where the user gives it: a key in a flow.yaml, or a flag on the command
line.
"""

from collections.abc import Callable

Spelling = Callable[[str], str]
"""From a setting's name, or `name=value`, to what the user writes to switch it on."""


def as_key(setting: str) -> str:
    """For instance: overwrite: true."""
    name, _, value = setting.partition("=")
    return f"{name}: {value or 'true'}"


def as_flag(setting: str) -> str:
    """For instance: --overwrite."""
    name, _, value = setting.partition("=")
    return f"--{name.replace('_', '-')} {value}".rstrip()
