"""vLLM's environment, for engine `vllm_local`."""

from collections.abc import Callable
from pathlib import Path

from synth.models.local.vllm_environment import install, installed


def install_vllm(
    build: str | None = None, *, say: Callable[[str], None] = lambda line: None
) -> Path:
    """Makes an environment that holds vLLM, and gives its interpreter: `build` is `cpu` or `cuda`,
    what this machine has where it is left out. It is done once; `engine: vllm_local` finds it.

    Raises `ConfigError` for another build, `SynthError` where pip fails.
    """
    return install(build, say=say)


def installed_vllm() -> Path | None:
    """The interpreter of that environment, None where it was not made."""
    return installed()
