"""`synth curate`: the stages after collection, on the trajectories that a ledger holds."""

from functools import partial
from pathlib import Path

import click

from synth.cli.environment_option import env_option
from synth.cli.flow_file import FlowFile
from synth.schemas.printable import printable


@click.command()
@click.argument("run_url", metavar="RUN")
@click.argument("flow_file", metavar="FLOW.yaml", type=FlowFile())
@env_option
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="A.B=VALUE",
    help="Override a setting, e.g. --set stages.export.as=openai.",
)
@click.option(
    "--prefect", is_flag=True, help="Run under Prefect's engine (also when PREFECT_API_URL is set)."
)
@click.option("--dry-run", is_flag=True, help="Only check the flow and say what it would do.")
@click.option("--quiet", "-q", is_flag=True, help="No progress; the result and errors only.")
def curate(
    run_url: str,
    flow_file: Path,
    environments: tuple[str, ...],
    overrides: tuple[str, ...],
    prefect: bool,
    dry_run: bool,
    quiet: bool,
) -> None:
    """Run the filters and exports of a flow on an import, or on a run: nothing is collected, and
    what is decided is not done again.

    A flow's world, models and collecting stages are not used. RUN then has these stages in place of
    those it had after its collection;
    decisions under other settings stay in decisions_all.

    A filter that executes again starts an environment as --env, FLOW.yaml or the record of a run
    made here say, never as RUN does.

    \b
    Example:  synth curate runs/mine configs/curate.yaml
              synth curate runs/mine configs/curate.yaml --env mcp=shop.yaml
    """
    from synth.cli.carry_out import carry_out
    from synth.engine.loud_settings import loud_settings
    from synth.engine.progress import progress_for
    from synth.flows.curate import curate as recipe
    from synth.flows.curate import curated, left_alone
    from synth.flows.environments import said_by_options
    from synth.flows.flow_file import in_file
    from synth.flows.own_flow import own_flow
    from synth.flows.resolve import resolve_later
    from synth.flows.run_folder import refuse_their_datasets
    from synth.ledger.ledger import Ledger

    flow = own_flow(flow_file, overrides)
    said = said_by_options(environments)
    progress = progress_for(quiet=quiet)
    if not dry_run:
        carry_out(partial(recipe, said=said), flow, flow_file, run_url, progress, prefect=prefect)
        return
    with in_file(flow_file):
        _, stages = resolve_later(flow)
    ledger = Ledger(run_url)
    refuse_their_datasets(ledger, flow.name, stages)
    for line in (*loud_settings(curated(flow, ledger)), *left_alone(flow)):
        progress.say(line)
    names = ", ".join(stage.name for stage in stages)
    click.echo(
        printable(
            f"{flow_file}: valid; on the {len(ledger.state.current_valid()):,} valid trajectories "
            f"of {run_url}: {names}"
        )
    )
