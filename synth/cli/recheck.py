"""`synth recheck`: verdicts given again by today's check, from the facts that were stored."""

import click

from synth.cli.environment_option import env_option
from synth.schemas.printable import printable


@click.command()
@click.argument("run", metavar="RUN")
@env_option
@click.option("--quiet", "-q", is_flag=True, help="No progress.")
def recheck(run: str, environments: tuple[str, ...], quiet: bool) -> None:
    """Give new verdicts from stored facts; the old ones are kept, changed rows are listed, exports
    honour the new ones.

    \b
    Example:  synth recheck runs/quickstart
              synth recheck runs/imported --env mcp=shop.yaml
    """
    from synth import recheck as again
    from synth.cli.lost import open_run
    from synth.flows.environments import files_by_name
    from synth.schemas.errors import UnboundError

    ledger = open_run(run)
    tally = again(ledger, environments=files_by_name(environments), quiet=quiet)
    for line in tally.changed:
        click.echo(printable(line))
    for reason, count in sorted(tally.left_out.items()):
        click.echo(f"{count} not rechecked: {printable(reason)}")
    click.echo(f"{tally.stayed} verdicts stay, {len(tally.changed)} change")
    if tally.unbound is not None:
        raise UnboundError(tally.unbound)
