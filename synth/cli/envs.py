"""`synth envs`: the worlds, and what each can do."""

import click

from schemas.printable import printable


@click.command()
def envs() -> None:
    """List the worlds, with what each can do.

    \b
    Example:  synth envs
    """
    from envs.registry import ENVS
    from flows.parts import world
    from schemas.errors import ConfigError

    for name in sorted(ENVS):
        try:
            spec = world(name).spec
        except ConfigError as error:
            click.echo(printable(f"{name:<12} not available: {error}"))
            continue
        profiles = f"; profiles: {', '.join(spec.profiles)}" if spec.profiles else ""
        click.echo(printable(f"{name:<12} {spec.version:<8} {', '.join(sorted(spec.capabilities))}{profiles}"))
    click.echo("your own: name it in a flow as package.module:attribute (an envs.world.World)")
