"""`synth vllm`: vLLM in an environment of its own, which `engine: vllm_local` starts it from."""

import click

from synth.cli.options import command, tell


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def vllm() -> None:
    """Install vLLM for flows that start it themselves (engines vllm_local, vllm_offline).

    \b
    Example:  synth vllm install
              synth vllm install --for cpu
    """


@command
def vllm_install(build: str | None) -> None:
    """Make an environment that holds vLLM, once: below ~/.cache/synth, some minutes and some GB.

    vLLM cannot share an environment with synth: its pins contradict those of Prefect.

    \b
    Example:  synth vllm install
              synth vllm install --for cpu
    """
    from synth import install_vllm

    python = install_vllm(build, say=tell)
    tell(f"python   {python}")
    tell("next     in a flow: {engine: vllm_local, model: Qwen/Qwen3-8B}   (synth init vllm)")


vllm.add_command(vllm_install, "install")
