"""Has a part of a stage done by a flow run of its own, and waits for it: by its heartbeat in the
run directory, not by Prefect's word.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal
from uuid import UUID

from synth.engine.context import Run
from synth.engine.numbers import short_duration
from synth.flows import heartbeat
from synth.flows.deployment_overview import writes_to
from synth.flows.deployment_parts import Part
from synth.flows.deployment_retries import PART_STARTS
from synth.flows.run_record import place_of
from synth.ledger.storage import Storage

POLL_S = 2.0
TAKEN_WITHIN_S = 300.0
"""How long a part may lie in the queue before the run that waits does it itself: it may hold the
only worker's only place.
"""

Ending = Literal["done", "not taken", "lost"]


class Dispatch:
    """Starts flow runs of the deployment of this one, with its parameters and a part. It needs no
    answer of the server while they run.
    """

    def __init__(
        self, deployment: str | None, parameters: Mapping[str, Any], say: Callable[[str], None]
    ) -> None:
        self._deployment = deployment
        self._parameters = parameters
        self._say = say

    async def work_part(self, run: Run, part: Part) -> bool:
        """Whether a flow run has done it; see `synth.flows.deployment_parts.WorkPart`."""
        storage = run.ledger.storage
        flow_run = await asyncio.to_thread(_at_work, storage, part)
        if flow_run is not None and not await _writes_there(flow_run, storage):
            flow_run = None
        if flow_run is not None:
            self._say(f"{part}: flow run {flow_run} is at it already; waits for it")
        for _ in range(PART_STARTS):
            flow_run = flow_run or await self._start(part)
            if flow_run is None:
                return False
            ending = await self._ending(storage, flow_run)
            if ending == "done":
                return True
            self._say(
                f"{part}: flow run {flow_run} was {ending}; "
                + ("done here" if ending == "not taken" else "what it has committed is kept")
            )
            if ending == "not taken":
                return False
            flow_run = None
        return False

    async def _start(self, part: Part) -> str | None:
        """The flow run's id; None where the server does not take it."""
        import httpx
        from prefect import get_client

        if self._deployment is None:
            return None
        try:
            async with get_client() as client:
                made = await client.create_flow_run_from_deployment(
                    UUID(self._deployment),
                    parameters={**self._parameters, "part": str(part)},
                    name=str(part).replace("/", "-of-"),
                )
        except (httpx.HTTPError, OSError, RuntimeError) as error:
            self._say(
                f"{part}: Prefect takes no flow run for it ({type(error).__name__}); done here"
            )
            return None
        return str(made.id)

    async def _ending(self, storage: Storage, flow_run: str) -> Ending:
        began, over = time.monotonic(), False
        try:
            while True:
                await asyncio.sleep(POLL_S)
                beat = await asyncio.to_thread(heartbeat.read, storage, flow_run)
                if beat is not None and beat.state != "running":
                    over = True
                    return "done" if beat.state in ("completed", "stopped") else "lost"
                if beat is not None and await asyncio.to_thread(_is_dead, storage, beat):
                    over = True
                    heartbeat.close(storage, beat, "crashed", "its process is gone")
                    await _set_state(flow_run, "crashed", "its process is gone")
                    return "lost"
                if beat is None:
                    state = await _state(flow_run)
                    if state in ("COMPLETED", "FAILED", "CRASHED", "CANCELLED"):
                        over = True
                        return "lost"
                    if state == "SCHEDULED" and time.monotonic() - began > TAKEN_WITHIN_S:
                        self._say(
                            f"flow run {flow_run}: no worker has taken it within "
                            f"{short_duration(TAKEN_WITHIN_S)}"
                        )
                        return "not taken"
        finally:
            if not over:  # taken back, or this run is stopped: nobody waits for it any more
                await asyncio.shield(
                    _set_state(
                        flow_run,
                        "cancelled",
                        "the run that waited for it has ended or does it itself",
                    )
                )


def _is_dead(storage: Storage, beat: heartbeat.Heartbeat) -> bool:
    return bool(heartbeat.dead(storage, [beat]))


def _at_work(storage: Storage, part: Part) -> str | None:
    """The flow run that does this part now: the run that has started it may have been killed."""
    running = [
        beat
        for beat in heartbeat.heartbeats(storage)
        if beat.state == "running" and beat.part == str(part)
    ]
    gone = {beat.id for beat in heartbeat.dead(storage, running)}
    return next((beat.id for beat in running if beat.id not in gone), None)


async def _writes_there(flow_run: str, storage: Storage) -> bool:
    """Whether it is a flow run of this run by Prefect's own record: a heartbeat that names it may
    be anybody's.
    """
    import httpx
    from prefect import get_client
    from prefect.exceptions import ObjectNotFound

    with contextlib.suppress(httpx.HTTPError, OSError, RuntimeError, ValueError, ObjectNotFound):
        async with get_client() as client:
            return writes_to(await client.read_flow_run(UUID(flow_run)), place_of(storage))
    return False


async def _state(flow_run: str) -> str | None:
    """Prefect's word for it; None where the server does not answer."""
    import httpx
    from prefect import get_client

    with contextlib.suppress(httpx.HTTPError, OSError, RuntimeError):
        async with get_client() as client:
            found = await client.read_flow_run(UUID(flow_run))
            return found.state.type.value if found.state is not None else None
    return None


async def _set_state(flow_run: str, ending: Literal["crashed", "cancelled"], message: str) -> None:
    import httpx
    from prefect import get_client
    from prefect.states import Cancelling, Crashed

    with contextlib.suppress(httpx.HTTPError, OSError, RuntimeError):
        async with get_client() as client:
            state: Any = (
                Crashed(message=message) if ending == "crashed" else Cancelling(message=message)
            )
            await client.set_flow_run_state(UUID(flow_run), state, force=ending == "crashed")
