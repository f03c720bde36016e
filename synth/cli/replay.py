"""`synth replay`: recorded trajectories executed again, every observation compared."""

import asyncio

import click

from schemas.printable import printable


@click.command()
@click.argument("run", metavar="RUN")
@click.argument("identities", metavar="[ID]...", nargs=-1)
@click.option("--quiet", "-q", is_flag=True, help="No progress.")
def replay(run: str, identities: tuple[str, ...], quiet: bool) -> None:
    """Execute trajectories again (all valid ones, or those named) and compare; exit 1 where one differs.

    \b
    Example:  synth replay runs/quickstart 3f2a
    """
    from flows.parts import open_env
    from synth.cli.lost import say_lost
    from synth.ledger.ledger import Ledger
    from synth.run.progress import progress_for
    from synth.run.replaying import replay_all

    ledger = Ledger(run)
    say_lost(ledger)
    tally = asyncio.run(replay_all(ledger, open_env, identities, progress_for(quiet=quiet)))
    for line in tally.differences:
        click.echo(printable(line))
    for reason, count in sorted(tally.left_out.items()):
        click.echo(f"{count} not replayed: {printable(reason)}")
    click.echo(f"{tally.same} the same, {len(tally.differences)} different")
    if tally.differences:
        raise SystemExit(1)
