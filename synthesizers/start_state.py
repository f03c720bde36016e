"""What the tasks of a world begin from, beside its settings."""

from collections.abc import Mapping
from typing import Any

from synth.boundary import guard
from synth.envs.world import EnvEntry


def start_state(world: EnvEntry, config: Mapping[str, Any]) -> str | None:
    """`World.start_state` as it is now, None where the settings say it all. Raises `ConfigError`
    where it cannot be had.
    """
    state = world.start_state
    return (
        None
        if state is None
        else guard(f"world {world.spec.name!r}: start_state", lambda: state(config))
    )
