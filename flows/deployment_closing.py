"""Closes what was killed: Prefect leaves its flow run RUNNING for ever, our heartbeat tells that
nobody is at work.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeGuard
from uuid import UUID

from synth.flows.deployment_overview import writes_to
from synth.flows.prefect_access import healthy
from synth.flows.run_record import place_of
from synth.leases import heartbeat
from synth.leases.heartbeat import Heartbeat
from synth.ledger.storage import Storage
from synth.schemas.errors import SynthError

OPEN = ("RUNNING", "CANCELLING", "PENDING")
MOST = 200
"""Flow runs looked at."""


async def close_dead(
    urls: Iterable[str], say: Callable[[str], None], api: str | None
) -> list[Heartbeat]:
    """Marks as crashed whoever is at work on these runs by its record and dead in truth, in the run
    and at the server that started it.

    A flow run that ended while its server was away is given the state in which it ended, if the
    server's own record of it leads to the
    run: what lies in a run folder may be anybody's. The records that were changed.
    """
    import asyncio

    closed: list[Heartbeat] = []
    ended: dict[tuple[str, str], Heartbeat] = {}
    for url in urls:
        try:
            storage = Storage(url)
            beats = await asyncio.to_thread(heartbeat.heartbeats, storage, say)
            for beat in await asyncio.to_thread(heartbeat.dead, storage, beats):
                message = heartbeat.gone(beat)
                closed.append(heartbeat.close(storage, beat, "crashed", message))
                say(f"{url}: {beat.flow}: {message}; closed as crashed")
            beats = await asyncio.to_thread(heartbeat.heartbeats, storage)
            place = place_of(storage)
            ended |= {
                (beat.flow_run, place): beat
                for beat in beats
                if beat.state != "running" and _is_uuid(beat.flow_run)
            }
        except SynthError as error:
            say(str(error))
    if api is not None and ended and await asyncio.to_thread(healthy, api):
        await _tell(ended, say)
    return closed


def _is_uuid(name: str | None) -> TypeGuard[str]:
    """Whether it is one as Prefect writes it."""
    try:
        return name is not None and str(UUID(name)) == name
    except ValueError:
        return False


async def _tell(ended: Mapping[tuple[str, str], Heartbeat], say: Callable[[str], None]) -> None:
    """Gives the flow runs that are open at the server the states in which their processes ended;
    and their task runs too.

    `ended`: by flow run and the place of the run whose record names it.
    """
    import httpx
    from prefect import get_client
    from prefect.client.schemas.filters import (
        FlowRunFilter,
        FlowRunFilterId,
        FlowRunFilterState,
        FlowRunFilterStateType,
    )
    from prefect.client.schemas.objects import StateType
    from prefect.client.schemas.sorting import FlowRunSort

    try:
        async with get_client() as client:
            names = sorted({UUID(flow_run) for flow_run, _ in ended})
            for at in range(0, len(names), MOST):
                chosen = FlowRunFilter(
                    id=FlowRunFilterId(any_=names[at : at + MOST]),
                    state=FlowRunFilterState(
                        type=FlowRunFilterStateType(any_=[StateType(name) for name in OPEN])
                    ),
                )
                for found in await client.read_flow_runs(
                    flow_run_filter=chosen, sort=FlowRunSort.START_TIME_DESC, limit=MOST
                ):
                    places = [place for flow_run, place in ended if flow_run == str(found.id)]
                    own = next((place for place in places if writes_to(found, place)), None)
                    if own is None:
                        say(
                            f"Prefect: flow run {found.name} is left {found.state_name}: "
                            f"{places[0]} names it, but it is of another run"
                        )
                        continue
                    beat = ended[str(found.id), own]
                    if (
                        found.state is None or found.state.timestamp.timestamp() > beat.beat
                    ):  # begun again since
                        continue
                    await client.set_flow_run_state(found.id, _state(beat), force=True)
                    await _close_tasks(client, found.id)
                    say(
                        f"Prefect: flow run {found.name} was left {found.state_name}; it is "
                        f"{beat.state}"
                    )
    except (httpx.HTTPError, OSError, RuntimeError) as error:
        say(f"Prefect: not told ({type(error).__name__}); `synth status --reap` tries again")


async def _close_tasks(client: Any, flow_run: Any) -> None:
    from prefect.client.schemas.filters import (
        FlowRunFilter,
        FlowRunFilterId,
        TaskRunFilter,
        TaskRunFilterState,
        TaskRunFilterStateType,
    )
    from prefect.client.schemas.objects import StateType
    from prefect.client.schemas.sorting import TaskRunSort
    from prefect.states import Crashed

    of_run = FlowRunFilter(id=FlowRunFilterId(any_=[flow_run]))
    running = TaskRunFilter(
        state=TaskRunFilterState(
            type=TaskRunFilterStateType(any_=[StateType.RUNNING, StateType.PENDING])
        )
    )
    for task in await client.read_task_runs(
        flow_run_filter=of_run, task_run_filter=running, sort=TaskRunSort.END_TIME_DESC, limit=MOST
    ):
        await client.set_task_run_state(
            task.id, Crashed(message="its flow run was killed"), force=True
        )


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
