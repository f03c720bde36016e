"""A flow on a schedule, on a Prefect server."""

from collections.abc import Sequence
from pathlib import Path

from synth.api.waiting import waited
from synth.flows.data_folder import refuse_to_start_in_data
from synth.flows.deployment import Deployment, register
from synth.flows.deployment_settings import (
    in_words,
    refuse_bad_schedule,
    refuse_bad_url,
    refuse_unknown,
    settled,
)
from synth.flows.deployment_settings import job_variables as read_variables
from synth.flows.flow_file import flow_of, override, read_content, read_yaml
from synth.flows.own_flow import flow_path, in_file, refuse_what_a_run_says
from synth.flows.prefect import users_api
from synth.flows.resolve import resolve


def deploy(
    flow: Path | str,
    *,
    set: Sequence[str] = (),
    cron: str | None = None,
    interval: float | None = None,
    timezone: str = "UTC",
    name: str | None = None,
    work_pool: str | None = None,
    run_dir: str = "runs/{name}-{date}",
    workers: int = 1,
    job_variables: Sequence[str] = (),
    notify: str | None = None,
    pause: bool = False,
    dry_run: bool = False,
) -> list[str]:
    """Registers a flow on the server that PREFECT_API_URL names, with a schedule, and gives what a
    person is told of it; with `dry_run` what would be. The arguments are the options of
    `synth deploy`. Raises `ConfigError`, and `SynthError` where the server refuses.
    """
    path = flow_path(flow)
    refuse_to_start_in_data("a worker of Prefect")
    refuse_what_a_run_says(path)
    content = read_content(path)
    for written in set:
        override(content, written, read_yaml)
    chosen = flow_of(content, (), str(path))
    with in_file(path):
        _, stages = resolve(chosen)
    refuse_bad_schedule(cron, interval, timezone)
    refuse_unknown(run_dir)
    job = read_variables(job_variables)
    if notify is not None:
        refuse_bad_url(notify)
    order = Deployment(
        name=name or chosen.name,
        content=content,
        run_dir=run_dir,
        workers=workers,
        cron=cron,
        interval_s=interval,
        timezone=timezone,
        pool=work_pool,
        paused=pause,
        folder=str(path.parent.absolute()),
        cwd=str(Path.cwd()),
        notify=notify,
        job=job,
    )
    paused = ", paused" if pause else ""
    shared = f", {workers} flow runs at a time" if workers > 1 else ""
    if dry_run:
        lies = run_dir if work_pool is not None else settled(run_dir, remote=False)
        return [
            f"synth/{order.name}: would run {order.when()}{paused}, by workers of "
            f"{work_pool or 'the process pool synth'}{shared}",
            f"into      {lies}",
            f"stages    {', '.join(stage.name for stage in stages)}",
            *([f"job       {in_words(job)}"] if job else []),
            f"notify    {'a webhook' if notify else 'nobody (see --notify)'}",
        ]
    api = users_api()
    from synth.flows.deployment_run import synth

    done = waited(register(order, synth))
    kind = " --type process" if done.pool_type == "process" else ""
    return [
        f"synth/{order.name}: registered at {api}: {order.when()}{paused}, by workers of "
        f"{done.pool} ({done.pool_type}){shared}",
        f"into      {done.run_dir}",
        f"worker    prefect worker start --pool {done.pool}{kind}",
        f"once now  prefect deployment run {done.full_name} --param overrides='[\"env.tasks=5\"]'",
        "look      synth status",
    ]
