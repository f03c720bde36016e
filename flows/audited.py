"""The world that `synth audit` asks, as the command line names it, with the settings that it is
asked about.
"""

from collections.abc import Mapping
from typing import Any

from synth.envs.world import EnvEntry
from synth.flows.bindings import Bindings, private, started
from synth.flows.parts import validated, world


def audited(
    env: str | EnvEntry, given: Mapping[str, Any], known: Mapping[str, Any], bindings: Bindings
) -> tuple[EnvEntry, dict[str, Any]]:
    """The world, ready to be opened, and its settings: those `given` over those of a task
    (`known`).

    How it is started is said by what is given, and by `bindings`; what a task says of that is not
    looked at. Raises `ConfigError`.
    """
    name = env if isinstance(env, str) else env.spec.name
    said = bindings.said_of(name) if isinstance(env, str) else None
    found = (
        env
        if isinstance(env, EnvEntry)
        else world(name)
        if said is None
        else world(said.world, said.folders)
    )
    keys = private(found)
    settings = {key: value for key, value in {**known, **given}.items() if key not in keys}
    validated(found.config, settings, "", keys, "--set ")
    start = {key: value for key, value in given.items() if key in keys}
    if found.start is not None and said is None and not start:
        return bindings.world(name), settings
    return started(name, found, {**(said.start if said is not None else {}), **start}), settings
