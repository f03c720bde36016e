"""Flow runs of Prefect: what its workers run for a deployment made by `synth deploy`, a recipe
under its engine, and what the server is told. The ledger is the truth: where the server does not
answer the run goes on.
"""

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from synth.engine.progress import PlainProgress, Progress
from synth.engine.runs.beating import STARTED_BY, StartedBy
from synth.engine.runs.summary import failed_run
from synth.flows.deployments.schedules import close_dead
from synth.flows.deployments.server import ToldServer
from synth.flows.deployments.settings import run_dir_of
from synth.flows.own.flow_file import flow_of
from synth.flows.parts import look_also_in
from synth.flows.prefect import named, prefect_api, users_client
from synth.flows.synthesize import Done, Recipe, synthesize
from synth.flows.work import again_after
from synth.ledger.storage import Storage
from synth.schemas import Flow, SynthError

AGAIN_S = (10.0, 60.0, 300.0)
"""A run that a store has refused, or a model's server ended by refusing: what is committed stays,
and the journal holds the replies of the rest.
"""


class _RunLog:
    """A stream whose lines are those of the flow run's log."""

    def write(self, text: str) -> int:
        """A line without its end."""
        from prefect.logging import get_run_logger

        if text.strip():
            get_run_logger().info(text.rstrip("\n"))
        return len(text)

    def flush(self) -> None:
        """Nothing is held back."""


def __getattr__(name: str) -> Any:
    """`synth`, the flow that workers load by its name here: made when it is asked for, since it
    needs Prefect.
    """
    if name != "synth":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from prefect import flow as prefect_flow

    made = globals()[name] = prefect_flow(name=name, persist_result=False)(fired)
    return made


async def fired(
    flow: dict[str, Any],
    run_dir: str,
    overrides: list[str] = [],  # noqa: B006 - Prefect shows it in its form
    workers: int = 1,
    folder: str | None = None,
    timezone: str = "UTC",
    joins: bool = False,
) -> Any:
    """Runs or resumes a flow on the ledger at `run_dir`.

    `flow`: the content of a flow.yaml; `overrides`: `a.b=value`; `run_dir`: may hold {name}, {date}
    and {time} (of the firing, in `timezone`); `workers`: flow runs that share the work; `folder`:
    where the flow's own parts are looked for; `joins`: given to the further workers by the first.
    """
    from prefect.logging import get_run_logger
    from prefect.runtime import deployment, flow_run
    from prefect.states import Completed, Failed

    progress = PlainProgress(_RunLog())  # type: ignore[arg-type]
    try:
        if folder is not None:
            look_also_in(Path(folder))
        settled = flow_of(flow, overrides, "the parameter flow")
        due = (flow_run.scheduled_start_time or datetime.now(UTC)).astimezone(ZoneInfo(timezone))
        url, api = run_dir_of(run_dir, settled.name, due), str(named())
        if not joins:
            await close_dead([url], progress.say, api)
            given = {"flow": flow, "overrides": list[str](), "run_dir": url, "folder": folder}
            await _start_workers(deployment.id, workers, {**given, "joins": True}, progress)
        work = partial(synthesize, settled, url, progress)
        tried = partial(again_after, work, "flow", progress.say, AGAIN_S)
        run, reports = await reported(tried, url, progress, api)
    except SynthError as error:
        get_run_logger().error(str(error))
        return Failed(message=str(error))
    failed = failed_run(run, reports)
    if failed is not None:
        return Failed(message=failed)
    lies = f"all of it lies in {run.ledger.storage.url}"
    return Completed(message=lies if run.stopped is None else f"stopped: {run.stopped}")


async def _start_workers(
    deployment: str | None, count: int, given: dict[str, Any], progress: Progress
) -> None:
    """Has the server start further flow runs of this deployment on the same run. Nobody waits for
    them: what they do not claim is done here.
    """
    if deployment is None or count <= 1:
        return

    def lost(what: str) -> None:
        progress.say(f"Prefect: starts no further workers ({what}); all of it is done here")

    async with users_client(lost) as client:
        for number in range(2, count + 1):
            await client.create_flow_run_from_deployment(
                UUID(deployment), parameters=given, name=f"worker-{number}-of-{count}"
            )


async def reported(
    work: Callable[[], Awaitable[Done]], url: str, progress: Progress, api: str
) -> Done:
    """Does the work of a flow run, and tells the server at `api` how far the workers of the run at
    `url` are, and what came of it.
    """
    from prefect.runtime import flow_run

    STARTED_BY.set(StartedBy(str(flow_run.id), api))
    server = ToldServer(api, progress)
    async with server.watched(url):
        done = await work()
        await server.results(*done)
    return done


async def run_under_prefect(recipe: Recipe, flow: Flow, run_url: str, progress: Progress) -> Done:
    """Runs a recipe as a Prefect flow run; the ledger, not Prefect's records, is the truth. Raises
    `SynthError`.
    """
    with prefect_api() as api:
        import httpx
        from prefect import flow as prefect_flow

        progress.say(f"{flow.name}: runs under Prefect at {api}")
        done: list[Done] = []

        @prefect_flow(name=flow.name, persist_result=False, validate_parameters=False)
        async def synth_flow(flow: Mapping[str, Any], run_dir: str) -> None:
            work = recipe(Flow.model_validate(flow), run_url, progress)
            done.append(await reported(lambda: work, run_url, progress, api))

        try:
            await synth_flow(flow.model_dump(mode="json"), Storage(run_url).url)
        except httpx.HTTPError:  # of a server that has not come back: the work is over all the same
            if not done:
                raise
        return done[0]
