"""How a setting is spelled where the user gives it: a key in a flow.yaml, or a flag on the command line."""

from collections.abc import Callable

Spelling = Callable[[str], str]
"""From a setting's name to what the user writes to switch it on."""


def as_key(setting: str) -> str:
    """For instance: overwrite: true."""
    return f"{setting}: true"


def as_flag(setting: str) -> str:
    """For instance: --overwrite."""
    return "--" + setting.replace("_", "-")
