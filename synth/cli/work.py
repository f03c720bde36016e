"""`synth work`: one worker of a run."""

from pathlib import Path

import click

from synth.cli.environment_option import env_option
from synth.cli.flow_file import FlowFile
from synth.schemas.printable import printable


@click.command()
@click.argument("run_url", metavar="RUN")
@click.option(
    "--flow",
    "flow_file",
    metavar="FLOW.yaml",
    type=FlowFile(),
    help="What the run was begun with: needed on other machines, and begins one that is not there.",
)
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="A.B=VALUE",
    help="With --flow: the settings that the run was begun with.",
)
@env_option
@click.option(
    "--max-units",
    type=click.IntRange(0),
    metavar="N",
    help="End after N units: an episode is one, or a shard of a stage that plays none.",
)
@click.option("--quiet", "-q", is_flag=True, help="No progress; the result and errors only.")
def work(
    run_url: str,
    flow_file: Path | None,
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
    from synth.api.runs import work_on
    from synth.engine.progress import progress_for
    from synth.flows.environments import said_by_options
    from synth.flows.own_flow import own_flow

    if overrides and flow_file is None:
        raise click.UsageError("--set is of --flow: the run's own flow holds its settings")
    flow = None if flow_file is None else own_flow(flow_file, overrides)
    done = work_on(
        run_url, flow, max_units, said_by_options(environments), progress_for(quiet=quiet)
    )
    click.echo(printable(f"{run_url}: {done}"))
