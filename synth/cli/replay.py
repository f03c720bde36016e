"""`synth replay`: recorded trajectories executed again, every observation compared."""

import click

from synth.cli.environment_option import env_option
from synth.schemas.printable import printable


@click.command()
@click.argument("run", metavar="RUN")
@click.argument("identities", metavar="[ID]...", nargs=-1)
@env_option
@click.option("--quiet", "-q", is_flag=True, help="No progress.")
def replay(
    run: str, identities: tuple[str, ...], environments: tuple[str, ...], quiet: bool
) -> None:
    """Execute trajectories again (all valid ones, or those named) and compare; exit 1 where one
    differs.

    What starts an environment is never read from RUN: a run that was made here is bound by its
    record, every other by --env, or by the
    environments.yaml in your configuration folder. Exit 2 where an environment is not bound.

    \b
    Example:  synth replay runs/quickstart 3f2a
              synth replay runs/imported --env mcp=shop.yaml
    """
    from synth import replay as again
    from synth.cli.lost import open_run
    from synth.flows.environments import files_by_name
    from synth.schemas.errors import UnboundError

    ledger = open_run(run)
    tally = again(ledger, *identities, environments=files_by_name(environments), quiet=quiet)
    for line in tally.differences:
        click.echo(printable(line))
    for reason, count in sorted(tally.left_out.items()):
        click.echo(f"{count} not replayed: {printable(reason)}")
    click.echo(f"{tally.same} the same, {len(tally.differences)} different")
    if tally.unbound is not None:
        raise UnboundError(tally.unbound)
    if tally.differences:
        raise SystemExit(1)
