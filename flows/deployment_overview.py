"""The schedules of a Prefect server that `synth deploy` has made: when they fire next, and how they
went last.
"""

from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from synth.flows.deployment_run_dir import run_dir_of
from synth.flows.prefect_access import refused
from synth.flows.run_record import place_of
from synth.ledger.storage import Storage
from synth.schemas.errors import SynthError

MOST = 200
TAG = "synth"
"""On every deployment that `synth deploy` makes."""


class Scheduled(msgspec.Struct, frozen=True, kw_only=True):
    """A deployment; times are ISO 8601, `last_url` is where its last firing writes."""

    name: str
    pool: str | None
    schedules: tuple[str, ...]
    paused: bool
    workers: int
    next_firing: str | None = None
    last_run: str | None = None
    last_state: str | None = None
    last_message: str | None = None
    last_fired: str | None = None
    last_url: str | None = None


async def schedules() -> list[Scheduled]:
    """By name. Raises `SynthError` where the server refuses."""
    import httpx
    from prefect import get_client
    from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterTags
    from prefect.client.schemas.sorting import DeploymentSort

    try:
        async with get_client() as client:
            ours = DeploymentFilter(tags=DeploymentFilterTags(all_=[TAG]))
            found = await client.read_deployments(
                deployment_filter=ours, sort=DeploymentSort.NAME_ASC, limit=MOST
            )
            return [await _scheduled(client, one) for one in found]
    except httpx.HTTPError as error:
        raise refused(error) from error


async def _scheduled(client: Any, deployment: Any) -> Scheduled:
    from prefect.client.schemas.filters import (
        DeploymentFilter,
        DeploymentFilterId,
        FlowRunFilter,
        FlowRunFilterState,
        FlowRunFilterStateType,
    )
    from prefect.client.schemas.objects import StateType
    from prefect.client.schemas.sorting import FlowRunSort

    of_it = DeploymentFilter(id=DeploymentFilterId(any_=[deployment.id]))

    def in_state(*names: StateType, **inverse: Any) -> FlowRunFilter:
        return FlowRunFilter(
            state=FlowRunFilterState(
                type=FlowRunFilterStateType(**{inverse.get("how", "any_"): list(names)})
            )
        )

    waiting = await client.read_flow_runs(
        deployment_filter=of_it,
        flow_run_filter=in_state(StateType.SCHEDULED),
        sort=FlowRunSort.EXPECTED_START_TIME_ASC,
        limit=1,
    )
    begun = await client.read_flow_runs(
        deployment_filter=of_it,
        flow_run_filter=in_state(StateType.SCHEDULED, how="not_any_"),
        sort=FlowRunSort.EXPECTED_START_TIME_DESC,
        limit=MOST,
    )
    whole = [run for run in begun if not (run.parameters or {}).get("joins")]
    last = whole[0] if whole else None
    workers = []
    if deployment.work_pool_name is not None:
        workers = [
            one
            for one in await client.read_workers_for_work_pool(
                deployment.work_pool_name, limit=MOST, offset=0
            )
            if one.status == "ONLINE"
        ]
    return Scheduled(
        name=f"synth/{deployment.name}",
        pool=deployment.work_pool_name,
        schedules=tuple(_words(one) for one in deployment.schedules),
        paused=bool(deployment.paused),
        workers=len(workers),
        next_firing=_iso(waiting[0].expected_start_time) if waiting else None,
        last_run=None if last is None else last.name,
        last_state=None if last is None or last.state is None else last.state.name,
        last_message=None if last is None or last.state is None else last.state.message,
        last_fired=None if last is None else _iso(last.expected_start_time),
        last_url=None if last is None else url_of(last),
    )


def url_of(flow_run: Any) -> str | None:
    """The run directory of a flow run of `synth.flows.deployment_run`; None where its parameters
    name none.
    """
    from zoneinfo import ZoneInfo

    given = flow_run.parameters or {}
    name = given["flow"].get("name") if isinstance(given.get("flow"), dict) else None
    if (
        not isinstance(name, str)
        or not isinstance(given.get("run_dir"), str)
        or flow_run.expected_start_time is None
    ):
        return None
    try:
        for written in given.get("overrides") or ():
            name = written.removeprefix("name=") if written.startswith("name=") else name
        return run_dir_of(
            given["run_dir"],
            name,
            flow_run.expected_start_time.astimezone(ZoneInfo(given.get("timezone") or "UTC")),
        )
    except (
        SynthError,
        KeyError,
        ValueError,
        TypeError,
        AttributeError,
    ):  # of a flow that is not ours
        return None


def writes_to(flow_run: Any, place: str) -> bool:
    """Whether the run at `place` (see `place_of`) is the one of this flow run by the server's own
    record, whatever a file there says.
    """
    url = url_of(flow_run)
    if url is None or not ("://" in url or Path(url).is_absolute()):
        return False
    try:
        return place_of(Storage(url)) == place
    except SynthError:
        return False


async def open_urls() -> list[str]:
    """The run directories of flow runs that are under way by the server's records."""
    import httpx
    from prefect import get_client
    from prefect.client.schemas.filters import (
        FlowRunFilter,
        FlowRunFilterState,
        FlowRunFilterStateType,
    )
    from prefect.client.schemas.objects import StateType
    from prefect.client.schemas.sorting import FlowRunSort

    under_way = FlowRunFilter(
        state=FlowRunFilterState(
            type=FlowRunFilterStateType(any_=[StateType.RUNNING, StateType.CANCELLING])
        )
    )
    try:
        async with get_client() as client:
            found = await client.read_flow_runs(
                flow_run_filter=under_way, sort=FlowRunSort.START_TIME_DESC, limit=MOST
            )
    except httpx.HTTPError as error:
        raise refused(error) from error
    return sorted({url for url in map(url_of, found) if url is not None})


def _words(schedule: Any) -> str:
    given = schedule.schedule
    words = (
        f"cron {given.cron!r} ({given.timezone})" if hasattr(given, "cron") else "another schedule"
    )
    if hasattr(given, "interval"):
        words = f"every {given.interval.total_seconds():g} s"
    return words if schedule.active else f"{words}, paused"


def _iso(when: datetime | None) -> str | None:
    return None if when is None else when.isoformat(timespec="seconds")
