"""Who opens the environments of rows: what the trainer's own configuration names, never a row."""

from collections.abc import Mapping
from typing import Any, cast

from synth.boundary import imported
from synth.schemas.environment import OpenEnv
from synth.schemas.errors import ConfigError

SAFE = "synth.flows.environments:open_env"
"""Environments that need no start, and those that the user's own environments.yaml binds."""


def opener(worlds: str) -> OpenEnv:
    """`package.module:attribute` of an opener, or a YAML file of the user's own with an `env`
    block. Raises `ConfigError`.
    """
    if worlds.endswith((".yaml", ".yml")):
        return cast(OpenEnv, imported("worlds", "synth.flows.environments:bound_envs")(worlds))
    found = imported("worlds", worlds)
    if not callable(found):
        raise ConfigError(
            f"worlds: {worlds} is a {type(found).__name__}, not a function of an environment's "
            "name and settings"
        )
    return cast(OpenEnv, found)


def refuse_another(name: str, task_env: str, row: Mapping[str, Any]) -> None:
    """Raises `ConfigError` where the task of a row is of another environment than the row says."""
    if task_env != name:
        raise ConfigError(
            f"row {str(row.get('task_id'))[:80]!r}: says {name!r}, its task {task_env[:80]!r}; do "
            "not use these rows"
        )
