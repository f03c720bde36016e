"""`synth run`: a flow from start to end, or from where it was interrupted."""

import os
from functools import partial
from pathlib import Path

import click

from synth.cli.environment_option import env_option
from synth.cli.flow_file import FlowFile


@click.command()
@click.argument("flow_file", metavar="FLOW.yaml", type=FlowFile())
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="A.B=VALUE",
    help="Override a setting, e.g. --set env.tasks=5 or --set stages.rollout.trials=2.",
)
@env_option
@click.option(
    "--run-dir",
    metavar="DIR",
    help="Where the ledger lies: a path or a URL such as s3://bucket/run [default: runs/<flow "
    "name>].",
)
@click.option(
    "--prefect", is_flag=True, help="Run under Prefect's engine (also when PREFECT_API_URL is set)."
)
@click.option(
    "--runner",
    type=click.Choice(["here", "ray"]),
    default="here",
    help="With --prefect: who does the episodes; docs/scale.md.",
)
@click.option("--dry-run", is_flag=True, help="Only check the flow and say what it would do.")
@click.option("--quiet", "-q", is_flag=True, help="No progress; the result and errors only.")
def run(
    flow_file: Path,
    overrides: tuple[str, ...],
    environments: tuple[str, ...],
    run_dir: str | None,
    prefect: bool,
    runner: str,
    dry_run: bool,
    quiet: bool,
) -> None:
    """Run a flow, or go on with one that was interrupted: what is committed is not done again.

    \b
    Example:  synth run configs/quickstart.yaml --set env.tasks=10
              synth run shop.yaml --run-dir runs/imported --env mcp=shop.yaml
    """
    from synth.cli.carry_out import carry_out
    from synth.engine.idle_stages import idle_stages
    from synth.engine.loud_settings import loud_settings
    from synth.engine.progress import progress_for
    from synth.flows.environments import said_by_options
    from synth.flows.flow_file import in_file
    from synth.flows.own_flow import own_flow
    from synth.flows.resolve import resolve
    from synth.flows.run_folder import refuse_foreign, refuse_their_datasets_at
    from synth.flows.synthesize import bindings_of_flow, synthesize
    from synth.schemas.errors import ConfigError

    if runner == "ray" and not prefect and not os.environ.get("PREFECT_API_URL"):
        raise ConfigError(
            "--runner ray: it is Prefect that hands shards to Ray; add --prefect, or set "
            "PREFECT_API_URL"
        )
    flow = own_flow(flow_file, overrides)
    said = said_by_options(environments)
    url = f"runs/{flow.name}" if run_dir is None else run_dir
    refuse_foreign(url)
    progress = progress_for(quiet=quiet)
    if dry_run:
        with in_file(flow_file):
            _, stages = resolve(flow, bindings_of_flow(flow, url, said))
        refuse_their_datasets_at(url, flow.name, stages)
        for line in (*loud_settings(flow), *idle_stages(flow)):
            progress.say(line)
        click.echo(
            f"{flow_file}: valid; into {url}: "
            + (", ".join(stage.name for stage in stages) or "no stages, nothing to do")
        )
        if flow.env is not None and flow.env.difficulty is not None:
            wanted = flow.env.difficulty
            click.echo(
                f"calibrate: plays at most {wanted.episodes} episodes of {wanted.against} before "
                "the tasks are made"
            )
        return
    carry_out(
        partial(synthesize, said=said),
        flow,
        flow_file,
        url,
        progress,
        prefect=prefect,
        ray=runner == "ray",
        said=said,
    )
