"""The world that `synth audit` asks, as the command line names it, with the settings that it is
asked about.
"""

from collections.abc import Mapping
from typing import Any

from synth.envs.world import EnvEntry
from synth.flows.bindings import Bindings, private, public, started
from synth.flows.parts import validated, world


def audited(
    env: str | EnvEntry, given: Mapping[str, Any], known: Mapping[str, Any], bindings: Bindings
) -> tuple[EnvEntry, dict[str, Any]]:
    """The world, ready to be opened, and its settings: those `given` over those of a task
    (`known`).

    How it is started is said by what is given, and by `bindings`; what a task says of that is not
    looked at. Raises `ConfigError`.
    """
    start: Mapping[str, Any] = {}
    if isinstance(env, EnvEntry):
        name, found, said = env.spec.name, env, None
    else:
        name, said = env, bindings.said_of(env)
        found = world(name) if said is None else world(said.world, said.folders)
        start = {} if said is None else said.start
    settings = public(found, {**known, **given})
    validated(found.config, settings, "", private(found), "--set ")
    also = {key: value for key, value in given.items() if key in private(found)}
    if found.start is not None and said is None and not also:
        return bindings.world(name), settings
    return started(name, found, {**start, **also}), settings
