"""The same recipe under Prefect's engine: a flow run with states and artifacts, a shard of episodes
as a task.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from synth.engine.beating import STARTED_BY, StartedBy
from synth.engine.progress import Progress
from synth.flows.deployment_reporting import Reporting
from synth.flows.prefect_server import prefect_api
from synth.flows.synthesize import Done, Recipe
from synth.ledger.storage import Storage
from synth.schemas.flow import Flow


async def run_under_prefect(
    recipe: Recipe, flow: Flow, run_url: str, progress: Progress, task_runner: Any = None
) -> Done:
    """Runs a recipe as a Prefect flow run; the ledger, not Prefect's records, is the truth. Raises
    `SynthError`.
    """
    with prefect_api() as url:
        progress.say(f"{flow.name}: runs under Prefect at {url}")
        return await _flow_run(recipe, flow, run_url, progress, url, task_runner)


class _HereOnly:
    """What a flow run needs in this process only: Prefect packs a flow up with all that its
    function holds, for workers elsewhere.
    """

    def __init__(self, work: Callable[[Mapping[str, Any]], Awaitable[None]] | None = None) -> None:
        self.work = work

    def __reduce__(self) -> tuple[type["_HereOnly"], tuple[()]]:
        return _HereOnly, ()


async def _flow_run(
    recipe: Recipe, flow: Flow, run_url: str, progress: Progress, api: str, task_runner: Any
) -> Done:
    import httpx
    from prefect import flow as prefect_flow
    from prefect.runtime import flow_run

    async def work(flow: Mapping[str, Any]) -> None:
        STARTED_BY.set(StartedBy(str(flow_run.id), api))
        reporting = Reporting(api, progress)
        async with reporting.watching():
            run, reports = await recipe(
                Flow.model_validate(flow), run_url, progress, reporting.as_tasks
            )
            await reporting.results(run, reports)
        finished.append((run, reports))

    here = _HereOnly(work)

    @prefect_flow(
        name=flow.name, persist_result=False, validate_parameters=False, task_runner=task_runner
    )
    async def synth_flow(flow: Mapping[str, Any], run_dir: str) -> None:
        if here.work is not None:
            await here.work(flow)

    finished: list[Done] = []
    try:
        await synth_flow(flow.model_dump(mode="json"), Storage(run_url).url)
    except httpx.HTTPError:  # of a server that has not come back: the work is over all the same
        if not finished:
            raise
    return finished[0]
