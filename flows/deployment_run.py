"""What a worker of Prefect runs for a deployment made by `synth deploy`: the flow in its parameters,
as one worker of the run.
"""

from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from synth.engine.beating import STARTED_BY, StartedBy
from synth.engine.closing import failure
from synth.engine.progress import PlainProgress, Progress
from synth.engine.silent_roles import unanswered_roles
from synth.flows.deployment_closing import close_dead
from synth.flows.deployment_reporting import Reporting
from synth.flows.deployment_retries import RUN_AGAIN_S, again_after
from synth.flows.deployment_run_dir import run_dir_of
from synth.flows.parts import look_also_in
from synth.flows.prefect_access import named
from synth.flows.synthesize import synthesize
from synth.flows.yaml_file import flow_of
from synth.schemas.errors import SynthError


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
    return _flow()


@cache
def _flow() -> Any:
    from prefect import flow as prefect_flow

    return prefect_flow(name="synth", persist_result=False)(fired)


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
    and {time} (of the firing, in
    `timezone`); `workers`: flow runs that share the work; `folder`: where the flow's own parts are
    looked for; `joins`: given to the further workers by the first.
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
        STARTED_BY.set(StartedBy(str(flow_run.id), api))
        reporting = Reporting(api, progress)
        async with reporting.watching():
            if not joins:
                await close_dead([url], progress.say, api)
                given: dict[str, Any] = {"flow": flow, "overrides": [], "run_dir": url}
                await _start_workers(deployment.id, workers, {**given, "folder": folder}, progress)
            done = await again_after(
                lambda: synthesize(settled, url, progress, reporting.as_tasks),
                "flow",
                progress.say,
                RUN_AGAIN_S,
            )
            await reporting.results(*done)
    except SynthError as error:
        get_run_logger().error(str(error))
        return Failed(message=str(error))
    run, reports = done
    failed = failure(reports) or next(unanswered_roles(run), None)
    if failed is not None:
        return Failed(message=failed)
    return Completed(
        message=f"stopped: {run.stopped}"
        if run.stopped is not None
        else f"all of it lies in {run.ledger.storage.url}"
    )


async def _start_workers(
    deployment: str | None, count: int, given: dict[str, Any], progress: Progress
) -> None:
    """Has the server start further flow runs of this deployment on the same run. Nobody waits for
    them: what they do not claim is done here.
    """
    import httpx
    from prefect import get_client

    if deployment is None or count <= 1:
        return
    try:
        async with get_client() as client:
            for number in range(2, count + 1):
                await client.create_flow_run_from_deployment(
                    UUID(deployment),
                    parameters={**given, "joins": True},
                    name=f"worker-{number}-of-{count}",
                )
    except (httpx.HTTPError, OSError, RuntimeError) as error:
        progress.say(
            f"Prefect: starts no further workers ({type(error).__name__}); all of it is done here"
        )
