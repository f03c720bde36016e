"""A policy that needs something of the world asks for it before the episode begins."""

from synth.schemas.errors import ConfigError
from synth.schemas.policy import Episode


def require(episode: Episode, capability: str, policy: str) -> None:
    """Raises `ConfigError` where the world lacks a capability."""
    spec = episode.env.spec
    if capability not in spec.capabilities:
        able = ", ".join(sorted(spec.capabilities)) or "nothing of the kind"
        raise ConfigError(
            f"policy {policy}: world {spec.name} has no {capability} (it offers {able}); choose "
            "another policy for it"
        )
