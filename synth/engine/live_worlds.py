"""How many worlds of a kind a flow lets live at a time."""

from synth.schemas.environment import EnvSpec
from synth.schemas.errors import ConfigError
from synth.schemas.flow import Flow


def most_live(flow: Flow, spec: EnvSpec) -> int | None:
    """By `max_live_worlds` and by what fits into `max_world_memory_gib`, None without either.
    Raises `ConfigError` where none fits.
    """
    bounds = [] if flow.max_live_worlds is None else [flow.max_live_worlds]
    if flow.max_world_memory_gib is not None:
        if not spec.memory_bytes:
            raise ConfigError(
                f"max_world_memory_gib: world {spec.name!r} does not say what an instance takes; "
                "give its EnvSpec memory_bytes, or set max_live_worlds instead"
            )
        fit = int(flow.max_world_memory_gib * 2**30 / spec.memory_bytes)
        if fit < 1:
            need = spec.memory_bytes / 2**30
            raise ConfigError(
                f"max_world_memory_gib {flow.max_world_memory_gib:g}: one world {spec.name!r} "
                f"takes {need:.3g} GiB; allow for one at least"
            )
        bounds.append(fit)
    return min(bounds, default=None)
