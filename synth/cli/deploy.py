"""`synth deploy`: a flow on a schedule, on a Prefect server."""

from pathlib import Path

import click

from synth.cli.flow_file import FlowFile


@click.command()
@click.argument("flow_file", metavar="FLOW.yaml", type=FlowFile())
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
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="A.B=VALUE",
    help="Override a setting, as in `synth run`.",
)
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
@click.option("--pause", is_flag=True, help="Register it, but let nothing fire yet.")
@click.option("--dry-run", is_flag=True, help="Only say what would be registered; needs no server.")
def deploy(
    flow_file: Path,
    cron: str | None,
    interval: float | None,
    timezone: str,
    name: str | None,
    work_pool: str | None,
    run_dir: str,
    overrides: tuple[str, ...],
    workers: int,
    variables: tuple[str, ...],
    notify: str | None,
    pause: bool,
    dry_run: bool,
) -> None:
    """Register a flow on the Prefect server that PREFECT_API_URL names, with a schedule; workers
    run it (docs/deployments.md).

    \b
    Example:  synth deploy configs/quickstart.yaml --cron "0 2 * * *"
              synth deploy my.yaml --interval 3600 --run-dir 's3://bucket/{date}' --workers 8
              synth deploy my.yaml --work-pool dock --run-dir 's3://bucket/{date}'
              synth deploy configs/quickstart.yaml --cron "0 2 * * *" --dry-run
    """
    import asyncio

    from synth.flows.data_folder import refuse_to_start_in_data
    from synth.flows.deployment import Deployment, refuse_bad_schedule, register
    from synth.flows.deployment_job import in_words, job_variables
    from synth.flows.deployment_notice import refuse_bad_url
    from synth.flows.deployment_run_dir import refuse_unknown, settled
    from synth.flows.flow_file import in_file
    from synth.flows.overrides import override
    from synth.flows.own_flow import refuse_what_a_run_says
    from synth.flows.prefect_access import users_api
    from synth.flows.resolve import resolve
    from synth.flows.yaml_file import flow_of, read_content, read_yaml

    refuse_to_start_in_data("a worker of Prefect")
    refuse_what_a_run_says(flow_file)
    content = read_content(flow_file)
    for written in overrides:
        override(content, written, read_yaml)
    flow = flow_of(content, (), str(flow_file))
    with in_file(flow_file):
        _, stages = resolve(flow)
    refuse_bad_schedule(cron, interval, timezone)
    refuse_unknown(run_dir)
    job = job_variables(variables)
    if notify is not None:
        refuse_bad_url(notify)
    order = Deployment(
        name=name or flow.name,
        content=content,
        run_dir=run_dir,
        workers=workers,
        cron=cron,
        interval_s=interval,
        timezone=timezone,
        pool=work_pool,
        paused=pause,
        folder=str(flow_file.parent.absolute()),
        cwd=str(Path.cwd()),
        notify=notify,
        job=job,
    )
    paused = ", paused" if pause else ""
    shared = f", {workers} flow runs at a time" if workers > 1 else ""
    if dry_run:
        lies = run_dir if work_pool is not None else settled(run_dir, remote=False)
        click.echo(
            f"synth/{order.name}: would run {order.when()}{paused}, by workers of "
            f"{work_pool or 'the process pool synth'}{shared}"
        )
        click.echo(f"into      {lies}")
        click.echo(f"stages    {', '.join(stage.name for stage in stages)}")
        if job:
            click.echo(f"job       {in_words(job)}")
        click.echo(f"notify    {'a webhook' if notify else 'nobody (see --notify)'}")
        return
    api = users_api()
    done = asyncio.run(register(order))
    click.echo(
        f"synth/{order.name}: registered at {api}: {order.when()}{paused}, by workers of "
        f"{done.pool} ({done.pool_type}){shared}"
    )
    click.echo(f"into      {done.run_dir}")
    click.echo(
        f"worker    prefect worker start --pool {done.pool}"
        + (" --type process" if done.pool_type == "process" else "")
    )
    click.echo(
        f"once now  prefect deployment run {done.full_name} --param overrides='[\"env.tasks=5\"]'"
    )
    click.echo("look      synth status")
