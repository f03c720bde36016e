"""The same recipe under Prefect's engine: a flow run with states and artifacts, a shard of episodes as a task."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from flows.prefect_server import prefect_api
from flows.synthesize import Done, Recipe
from schemas.flow import Flow
from schemas.stage import Shard, Stage
from synth.run.context import Run
from synth.run.engine import WorkShard
from synth.run.funnel import funnel_markdown
from synth.run.progress import Progress


async def run_under_prefect(recipe: Recipe, flow: Flow, run_url: str, progress: Progress) -> Done:
    """Runs a recipe as a Prefect flow run; the ledger, not Prefect's records, is the truth. Raises `SynthError`."""
    with prefect_api() as url:
        progress.say(f"{flow.name}: runs under Prefect at {url}")
        return await _flow_run(recipe, flow, run_url, progress)


async def _flow_run(recipe: Recipe, flow: Flow, run_url: str, progress: Progress) -> Done:
    from prefect import flow as prefect_flow
    from prefect import task as prefect_task
    from prefect.artifacts import acreate_markdown_artifact
    from prefect.cache_policies import NO_CACHE

    @prefect_task(persist_result=False, cache_policy=NO_CACHE)
    async def shard(work: Callable[[], Awaitable[None]]) -> None:
        await work()

    def as_tasks(run: Run) -> WorkShard:
        async def work(stage: Stage[Run], stage_key: str, part: Shard) -> None:
            named = shard.with_options(name=stage.name, task_run_name=f"{stage.name}-{part.name[:8]}")
            await named(lambda: stage.work(run, stage_key, part))

        return work

    @prefect_flow(name=flow.name, persist_result=False, validate_parameters=False)
    async def synth_flow(flow: Mapping[str, Any], run_dir: str) -> Done:
        run, reports = await recipe(Flow.model_validate(flow), run_dir, progress, as_tasks)
        await acreate_markdown_artifact(key="funnel", markdown=funnel_markdown(reports), description=f"Funnel of {run_dir}")
        return run, reports

    done: Done = await synth_flow(flow.model_dump(mode="json"), run_url)
    return done
