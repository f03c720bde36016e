"""`synth work`: one worker of a run."""

import click

from synth.cli.options import env_option, quiet_option, set_option, tell


@click.command()
@click.argument("run", metavar="RUN")
@click.option(
    "--flow",
    metavar="FLOW.yaml",
    help="What the run was begun with: needed on other machines, and begins one that is not there.",
)
@set_option
@env_option
@click.option(
    "--max-units",
    type=click.IntRange(0),
    metavar="N",
    help="End after N units: an episode is one, or a shard of a stage that plays none.",
)
@quiet_option
def work(
    run: str,
    flow: str | None,
    overrides: tuple[str, ...],
    environments: tuple[str, ...],
    max_units: int | None,
    quiet: bool,
) -> None:
    """Work on a run: claim units that nobody has in hand, play and commit them, until nothing is
    left.

    Any number of workers share a run, on any machines that reach RUN. One that is killed loses only
    what it had in hand.

    \b
    Example:  synth work runs/quickstart
              synth work s3://bucket/run --flow shop.yaml --max-units 200
    """
    from synth import work as worked

    if overrides and flow is None:
        raise click.UsageError("--set is of --flow: the run's own flow holds its settings")
    done = worked(
        run,
        flow=flow,
        set=overrides,
        environments=environments,
        max_units=max_units,
        quiet=quiet,
    )
    tell(f"{run}: {done}")
