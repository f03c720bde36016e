"""What a Prefect server holds of `synth deploy`: when deployments fire next and how they went last;
and closing there what was killed, which Prefect leaves RUNNING for ever.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from synth.claims import workers
from synth.claims.workers import Heartbeat
from synth.flows.deployments.deployment import TAG
from synth.flows.deployments.settings import run_dir_of, when
from synth.flows.own.run_record import place_of
from synth.flows.prefect import healthy, users_client
from synth.ledger.storage import Storage
from synth.schemas import SynthError

MOST = 200
"""Deployments, flow runs and workers looked at."""
UNDER_WAY = ("RUNNING", "CANCELLING")
Ended = Mapping[tuple[str, str], Heartbeat]
"""Records of who has ended, by the flow run that they name and the place of the run they lie in."""


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
    from prefect.client.schemas.filters import DeploymentFilter
    from prefect.client.schemas.sorting import DeploymentSort

    async with users_client() as client:
        ours = DeploymentFilter.model_validate({"tags": {"all_": [TAG]}})
        found = await client.read_deployments(
            deployment_filter=ours, sort=DeploymentSort.NAME_ASC, limit=MOST
        )
        return [await _scheduled(client, one) for one in found]


async def open_urls() -> list[str]:
    """The run directories of flow runs that are under way by the server's records."""
    async with users_client() as client:
        found = await _flow_runs(client, {"any_": UNDER_WAY})
        return sorted({url for url in map(url_of, found) if url is not None})


async def _flow_runs(
    client: Any, states: Mapping[str, Any], sort: str = "START_TIME_DESC", **by: UUID | list[UUID]
) -> list[Any]:
    """Flow runs in these states, at most `MOST`: those with some `ids`, or of a `deployment`."""
    from prefect.client.schemas.filters import DeploymentFilter, FlowRunFilter
    from prefect.client.schemas.sorting import FlowRunSort

    given = {"state": {"type": states}, "id": {"any_": by.get("ids")}}
    of_it = {"id": {"any_": [by.get("deployment")]}}
    found: list[Any] = await client.read_flow_runs(
        flow_run_filter=FlowRunFilter.model_validate(given),
        deployment_filter=DeploymentFilter.model_validate(of_it) if "deployment" in by else None,
        sort=FlowRunSort(sort),
        limit=MOST,
    )
    return found


async def _scheduled(client: Any, deployment: Any) -> Scheduled:
    pool, waits = deployment.work_pool_name, ["SCHEDULED"]
    waiting, begun = [
        await _flow_runs(
            client, states, f"EXPECTED_START_TIME_{direction}", deployment=deployment.id
        )
        for states, direction in (({"any_": waits}, "ASC"), ({"not_any_": waits}, "DESC"))
    ]
    found = Scheduled(
        name=f"synth/{deployment.name}",
        pool=pool,
        schedules=tuple(_words(one) for one in deployment.schedules),
        paused=bool(deployment.paused),
        workers=0 if pool is None else await _at_work(client, pool),
        next_firing=_iso(waiting[0].expected_start_time) if waiting else None,
    )
    last = next((run for run in begun if not (run.parameters or {}).get("joins")), None)
    if last is None:
        return found
    return msgspec.structs.replace(
        found,
        last_run=last.name,
        last_state=last.state and last.state.name,
        last_message=last.state and last.state.message,
        last_fired=_iso(last.expected_start_time),
        last_url=url_of(last),
    )


async def _at_work(client: Any, pool: str) -> int:
    found = await client.read_workers_for_work_pool(pool, limit=MOST, offset=0)
    return sum(one.status == "ONLINE" for one in found)


def url_of(flow_run: Any) -> str | None:
    """The run directory of a flow run of `synth.flows.deployment_run`; None where its parameters
    name none.
    """
    given, due = flow_run.parameters or {}, flow_run.expected_start_time
    try:
        name = given["flow"]["name"]
        for written in given.get("overrides") or ():
            name = written.removeprefix("name=") if written.startswith("name=") else name
        due = due.astimezone(ZoneInfo(given.get("timezone") or "UTC"))
        return run_dir_of(given["run_dir"], name, due) if isinstance(name, str) else None
    except (SynthError, KeyError, ValueError, TypeError, AttributeError):  # of a flow not ours
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


def _words(schedule: Any) -> str:
    given = schedule.schedule
    interval = getattr(given, "interval", None)
    seconds = None if interval is None else interval.total_seconds()
    words = when(getattr(given, "cron", None), seconds, given.timezone) or "another schedule"
    return words if schedule.active else f"{words}, paused"


def _iso(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat(timespec="seconds")


async def close_dead(
    urls: Iterable[str], say: Callable[[str], None], api: str | None
) -> list[Heartbeat]:
    """Marks as crashed whoever is at work on these runs by its record and dead in truth, in the run
    and at the server that started it.

    A flow run that ended while its server was away is given the state in which it ended, if the
    server's own record of it leads to the run: what lies in a run folder may be anybody's. The
    records that were changed.
    """
    closed: list[Heartbeat] = []
    ended: dict[tuple[str, str], Heartbeat] = {}
    for url in urls:
        try:
            storage = Storage(url)
            beats = await asyncio.to_thread(workers.heartbeats, storage, say)
            for beat in await asyncio.to_thread(workers.dead, storage, beats):
                message = workers.gone(beat)
                closed.append(workers.close(storage, beat, "crashed", message))
                say(f"{url}: {beat.flow}: {message}; closed as crashed")
            for beat in await asyncio.to_thread(workers.heartbeats, storage):
                if beat.state != "running" and _is_uuid(beat.flow_run):
                    ended[str(beat.flow_run), place_of(storage)] = beat
        except SynthError as error:
            say(str(error))
    if api is not None and ended and await asyncio.to_thread(healthy, api):
        await _tell(ended, say)
    return closed


def _is_uuid(name: str | None) -> bool:
    """Whether it is one as Prefect writes it."""
    try:
        return str(UUID(name or "")) == name
    except ValueError:
        return False


async def _tell(ended: Ended, say: Callable[[str], None]) -> None:
    """Gives the flow runs that are open at the server the states in which their processes ended."""

    def lost(what: str) -> None:
        say(f"Prefect: not told ({what}); `synth status --reap` tries again")

    names = sorted({UUID(flow_run) for flow_run, _ in ended})
    states = {"any_": (*UNDER_WAY, "PENDING")}
    async with users_client(lost) as client:
        for at in range(0, len(names), MOST):
            for found in await _flow_runs(client, states, ids=names[at : at + MOST]):
                await _tell_one(client, found, ended, say)


async def _tell_one(client: Any, found: Any, ended: Ended, say: Callable[[str], None]) -> None:
    places = [place for flow_run, place in ended if flow_run == str(found.id)]
    own = next((place for place in places if writes_to(found, place)), None)
    if own is None:
        say(
            f"Prefect: flow run {found.name} is left {found.state_name}: {places[0]} names it, "
            "but it is of another run"
        )
        return
    beat = ended[str(found.id), own]
    if found.state is None or found.state.timestamp.timestamp() > beat.beat:  # begun again since
        return
    await client.set_flow_run_state(found.id, _state(beat), force=True)
    say(f"Prefect: flow run {found.name} was left {found.state_name}; it is {beat.state}")


def _state(beat: Heartbeat) -> Any:
    from prefect.states import Cancelled, Completed, Crashed, Failed

    match beat.state:
        case "completed" | "stopped":
            return Completed(
                message=f"told afterwards: {beat.message or 'all of it lies in the ledger'}"
            )
        case "failed":
            return Failed(message=beat.message)
        case "interrupted":
            return Cancelled(message="interrupted")
        case _:
            return Crashed(message=beat.message)
