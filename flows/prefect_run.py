"""The same recipe under Prefect's engine: a flow run with states and artifacts, a shard of episodes as a task."""

import os
from collections.abc import Mapping
from typing import Any

from flows.synthesize import synthesize
from schemas.errors import SynthError
from schemas.flow import Flow
from schemas.stage import Shard, Stage
from synth.run.context import Run
from synth.run.engine import WorkShard
from synth.run.funnel import funnel_markdown
from synth.run.progress import Progress

QUIET = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
    "PREFECT_LOGGING_LEVEL": "WARNING",
}
"""Prefect's settings where the user has set none: no analytics, no log lines between ours."""


async def run_under_prefect(flow: Flow, run_url: str, progress: Progress) -> tuple[Run, Mapping[str, Mapping[str, Any]]]:
    """Runs a flow as a Prefect flow run; its records, not Prefect's, are the truth. Raises `SynthError`."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    from prefect import flow as prefect_flow
    from prefect import task as prefect_task
    from prefect.artifacts import acreate_markdown_artifact
    from prefect.cache_policies import NO_CACHE

    @prefect_task(persist_result=False, cache_policy=NO_CACHE)
    async def shard(work: Any) -> None:
        await work()

    def as_tasks(run: Run) -> WorkShard:
        async def work(stage: Stage[Run], stage_key: str, part: Shard) -> None:
            named = shard.with_options(name=stage.name, task_run_name=f"{stage.name}-{part.name[:8]}")
            await named(lambda: stage.work(run, stage_key, part))

        return work

    @prefect_flow(name=flow.name, persist_result=False, validate_parameters=False)
    async def synth_flow(flow: Mapping[str, Any], run_dir: str) -> tuple[Run, Mapping[str, Mapping[str, Any]]]:
        run, reports = await synthesize(Flow.model_validate(flow), run_dir, progress, as_tasks)
        await acreate_markdown_artifact(key="funnel", markdown=funnel_markdown(reports), description=f"Funnel of {run_dir}")
        return run, reports

    try:
        found: tuple[Run, Mapping[str, Mapping[str, Any]]] = await synth_flow(flow.model_dump(mode="json"), run_url)
    except RuntimeError as error:
        if "Failed to reach API" in str(error):
            raise SynthError(
                f"Prefect: {str(error).splitlines()[0]}; start it with `prefect server start`, or unset PREFECT_API_URL"
            ) from error
        raise
    return found
