"""What a worker runs for a deployment made by `synth deploy`: the flow in its parameters, or a part
of one of its stages.
"""

from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from synth.engine.closing import failure
from synth.engine.progress import PlainProgress
from synth.engine.silent_roles import silent_roles
from synth.flows.deployment_closing import close_dead
from synth.flows.deployment_dispatch import Dispatch
from synth.flows.deployment_parts import InParts, Part, part_of, share_of_budget, work_begun_part
from synth.flows.deployment_reporting import Reporting
from synth.flows.deployment_retries import RUN_AGAIN_S, again_after
from synth.flows.deployment_run_dir import run_dir_of
from synth.flows.heartbeat_progress import STARTED_BY, StartedBy
from synth.flows.parts import look_also_in
from synth.flows.prefect_access import named
from synth.flows.resolve import resolve
from synth.flows.synthesize import Done, bindings_of_flow, synthesize, worked
from synth.flows.yaml_file import flow_of
from synth.ledger.ledger import Ledger
from synth.schemas.errors import SynthError
from synth.schemas.flow import Flow


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
    partitions: int = 1,
    folder: str | None = None,
    timezone: str = "UTC",
    part: str | None = None,
) -> Any:
    """Runs or resumes a flow on the ledger at `run_dir`.

    `flow`: the content of a flow.yaml; `overrides`: `a.b=value`; `run_dir`: may hold {name}, {date}
    and {time} (of the firing, in
    `timezone`); `folder`: where the flow's own parts are looked for; `part`: given by the run that
    waits for it.
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
        STARTED_BY.set(StartedBy(str(flow_run.id), api, part))
        reporting = Reporting(api, progress)
        async with reporting.watching():
            if part is None:
                await close_dead([url], progress.say, api)
                again: dict[str, Any] = {
                    "flow": flow,
                    "overrides": [],
                    "run_dir": url,
                    "folder": folder,
                    "timezone": timezone,
                }
                dispatch = Dispatch(deployment.id, again, progress.say)
                done = await again_after(
                    lambda: _whole(settled, url, progress, reporting, partitions, dispatch),
                    "flow",
                    progress.say,
                    RUN_AGAIN_S,
                )
            else:
                done = await _part(settled, url, progress, reporting, part_of(part))
            await reporting.results(*done)
    except SynthError as error:
        get_run_logger().error(str(error))
        return Failed(message=str(error))
    run, reports = done
    failed = failure(reports) or next(silent_roles(run), None)
    if failed is not None:
        return Failed(message=failed)
    return Completed(
        message=f"stopped: {run.stopped}"
        if run.stopped is not None
        else f"all of it lies in {run.ledger.storage.url}"
    )


async def _whole(
    flow: Flow,
    url: str,
    progress: PlainProgress,
    reporting: Reporting,
    partitions: int,
    dispatch: Dispatch,
) -> Done:
    if partitions <= 1:
        return await synthesize(flow, url, progress, reporting.as_tasks)
    spread = partial(
        InParts, count=partitions, elsewhere=dispatch.work_part, wrap=reporting.as_tasks
    )
    return await synthesize(flow, url, progress, reporting.as_tasks, spread)


async def _part(
    flow: Flow, url: str, progress: PlainProgress, reporting: Reporting, part: Part
) -> Done:
    bindings = bindings_of_flow(flow, url)
    roles, stages = resolve(flow, bindings)
    ledger = Ledger(url)
    budget = share_of_budget(flow, ledger, part.count)

    async def of_stage(run: Any) -> dict[str, Any]:
        return {part.stage: await work_begun_part(run, stages, part, reporting.as_tasks(run))}

    return await worked(ledger, flow, roles, progress, bindings, of_stage, budget)
