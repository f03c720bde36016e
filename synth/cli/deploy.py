"""`synth deploy`: a flow on a schedule, on a Prefect server."""

from typing import Any

import click

from synth.cli.options import flags, flow_argument, set_option, tell


@click.command()
@flow_argument
@click.option(
    "--cron", metavar="LINE", help="When: a cron line, e.g. '0 2 * * *' for every night at two."
)
@click.option("--interval", type=float, metavar="SECONDS", help="When: every so many seconds.")
@click.option(
    "--timezone", default="UTC", show_default=True, help="Of --cron, and of {date} in --run-dir."
)
@click.option("--name", help="Of the deployment [default: the flow's name].")
@click.option(
    "--work-pool",
    metavar="NAME",
    help="Whose workers run it [default: the process pool 'synth', made if it is not there].",
)
@click.option(
    "--run-dir",
    default="runs/{name}-{date}",
    show_default=True,
    metavar="DIR",
    help="Where each firing's ledger lies, a path or a URL; {name}, {date} and {time} are filled "
    "in.",
)
@set_option
@click.option(
    "--workers",
    type=click.IntRange(1, 500),
    default=1,
    show_default=True,
    metavar="N",
    help="Share the work of a firing between N flow runs, on as many workers as are free.",
)
@click.option(
    "--job-variable",
    "variables",
    multiple=True,
    metavar="NAME=VALUE",
    help="Of the work pool's template, such as image=synth:1, 'volumes=[\"/data:/data\"]' or "
    "env.NAME=text; YAML, may be given again.",
)
@click.option(
    "--notify", metavar="URL", help="Post to this webhook when a flow run fails or is found dead."
)
@flags(
    {
        "--pause": "Register it, but let nothing fire yet.",
        "--dry-run": "Only say what would be registered; needs no server.",
    }
)
def deploy(
    flow: str, overrides: tuple[str, ...], variables: tuple[str, ...], **chosen: Any
) -> None:
    """Register a flow on the Prefect server that PREFECT_API_URL names, with a schedule; workers
    run it (docs/deployments.md).

    \b
    Example:  synth deploy configs/quickstart.yaml --cron "0 2 * * *"
              synth deploy shop.yaml --interval 3600 --run-dir 's3://b/{name}-{date}' --workers 8
              synth deploy shop.yaml --work-pool dock --job-variable image=synth:1
              synth deploy configs/quickstart.yaml --cron "0 2 * * *" --dry-run
    """
    from synth import deploy as registered

    for line in registered(flow, set=overrides, job_variables=variables, **chosen):
        tell(line)
