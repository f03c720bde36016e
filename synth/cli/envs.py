"""`synth envs`: the worlds, and what each can do."""

import click

from synth.schemas.printable import printable


@click.command()
def envs() -> None:
    """List the worlds, with what each can do.

    \b
    Example:  synth envs
    """
    from synth.envs.registry import ENVS
    from synth.flows.parts import world
    from synth.schemas.errors import ConfigError

    for name in sorted(ENVS):
        try:
            spec = world(name).spec
        except ConfigError as error:
            click.echo(printable(f"{name:<12} not available: {error}"))
            continue
        profiles = f"; profiles: {', '.join(spec.profiles)}" if spec.profiles else ""
        click.echo(
            printable(
                f"{name:<12} {spec.version:<8} {', '.join(sorted(spec.capabilities))}{profiles}"
            )
        )
    click.echo("your own: name it in a flow as package.module:attribute (a synth.envs.world.World)")
