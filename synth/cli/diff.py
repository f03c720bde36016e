"""`synth diff`: two trajectories, what they share folded, the divergence marked."""

import click

from synth.schemas.printable import printable


@click.command()
@click.argument("run", metavar="RUN")
@click.argument("first", metavar="ID")
@click.argument("second", metavar="ID")
def diff(run: str, first: str, second: str) -> None:
    """Compare two trajectories: the first turn in which they differ, and both from there on.

    \b
    Example:  synth diff runs/quickstart 3f2a 91bc
    """
    from synth import diff as compared
    from synth.cli.lost import open_run
    from synth.cli.show import turn_lines

    ledger = open_run(run)
    left, right = ledger.trajectory(first), ledger.trajectory(second)
    if left.task_id != right.task_id:
        tasks = printable(f"{left.task_id} and {right.task_id}")
        click.echo(
            f"attempts at different tasks, {tasks}: what differs says little about the agents",
            err=True,
        )
    found = compared(ledger, left.trajectory_id, right.trajectory_id)
    if found is None:
        click.echo(f"the same to the last observation ({len(left.turns)} turns)")
        return
    place = "the opening" if found.turn is None else f"turn {found.turn}"
    click.echo(
        click.style(
            f"{place}: the {printable(found.what)} differs; what comes before is the same",
            bold=True,
        )
    )
    for trajectory, colour in ((left, "red"), (right, "green")):
        click.echo()
        click.echo(
            click.style(
                printable(f"{trajectory.trajectory_id}  {trajectory.outcome}"), fg=colour, bold=True
            )
        )
        for turn in trajectory.turns[found.turn or 0 :]:
            for line in turn_lines(turn):
                click.echo(line)
