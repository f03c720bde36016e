"""A run on a Ray cluster: Ray places tasks on its nodes, and each works on the run as `synth work`
does, a number of units at a time.
"""

import asyncio
import contextlib
import sys
import time
from collections.abc import Awaitable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from synth.claims import Units
from synth.engine.progress import PlainProgress, Progress
from synth.engine.runs.beating import under_way
from synth.engine.runs.runner import plain
from synth.flows.data_folder import refuse_to_start_in_data
from synth.flows.own.bindings import SaidByUser
from synth.flows.own.run_record import place_of
from synth.flows.parts import folders, look_also_in
from synth.flows.resolve import resolve
from synth.flows.synthesize import Done, bindings_of_flow, synthesize
from synth.flows.work import again_after
from synth.ledger.storage import Storage
from synth.schemas import ConfigError, Flow, SynthError, content_hash

UNITS = 500
"""That one task claims at most: then its place is free for whatever else Ray has to do."""
LOOK_EVERY_S = 30.0
AGAIN_S = (10.0, 60.0)
"""A task that a store has refused, or a model's server ended by refusing."""


class Worked(msgspec.Struct, frozen=True):
    """How a task ended: with an `error` in a line for the user, or since it has done its `UNITS`
    (`again`). What the worker had to say lies in Ray's logs.
    """

    error: str | None = None
    of_user: bool = False
    again: bool = False


async def on_ray(
    flow: Flow, url: str, progress: Progress, said: Mapping[str, SaidByUser] | None = None
) -> Done:
    """Has a flow done on the cluster at $RAY_ADDRESS, or on one that Ray starts on this machine;
    then this process does what may be left, and reads the reports. Raises `SynthError`.

    Ray places a task anew whose node has died; what it had claimed is fenced off, and anybody's. A
    place for each core, and one task more, for which a cluster that can grow does.
    """
    ray, version, storage = _ray(), _version(flow, url, said), Storage(url)
    began, told, over = time.time(), "", asyncio.Event()
    ray.init(log_to_driver=False)
    given = (flow.model_dump(mode="json"), place_of(storage), version, folders(), said)

    async def place(task: Any) -> None:
        def done() -> Awaitable[Worked]:
            return _result(ray, task.remote(*given, time.time() - began))

        while (await again_after(done, "Ray", progress.say, AGAIN_S)).again:
            pass
        over.set()

    try:
        async with asyncio.TaskGroup() as group:
            task, placed = ray.remote(max_retries=-1)(worked), 0
            while not over.is_set():
                for _ in range(1 + int(ray.cluster_resources().get("CPU", 0)) - placed):
                    group.create_task(place(task))
                    placed += 1
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(over.wait(), LOOK_EVERY_S)
                with contextlib.suppress(SynthError):
                    now = await asyncio.to_thread(under_way, storage, began)
                    if now is not None and now.line != told:
                        told = now.line
                        progress.say(f"Ray: {now.workers} at {told}")
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    finally:
        ray.shutdown()
    return await synthesize(flow, url, progress, said, Units(earlier_s=time.time() - began))


async def _result(ray: Any, done: Awaitable[Worked]) -> Worked:
    try:
        found = await done
    except ray.exceptions.RayError as error:
        raise SynthError(f"Ray: {str(error).strip().splitlines()[0]}") from error
    if found.error is not None:
        raise (ConfigError if found.of_user else SynthError)(found.error)
    return found


def worked(
    flow: Mapping[str, Any],
    url: str,
    version: str,
    places: Sequence[str],
    said: Mapping[str, SaidByUser] | None,
    earlier_s: float,
) -> Worked:
    """One task: claims, plays and commits units of the run, with the journals of its machine.

    `flow`, `places` and `said` are the user's, from the machine that started it.
    """
    for place in places:
        look_also_in(Path(place))
    whole, units = Flow.model_validate(flow), Units(UNITS, earlier_s=earlier_s)
    try:
        if _version(whole, url, said) != version:
            raise ConfigError(
                f"{url}: the flow has other stages on this machine; install the same version of "
                "synth on all of them"
            )
        asyncio.run(synthesize(whole, url, PlainProgress(sys.stderr), said, units))
    except SynthError as error:
        return Worked(str(error), isinstance(error, ConfigError))
    return Worked(again=not units.left())


def _version(flow: Flow, url: str, said: Mapping[str, SaidByUser] | None) -> str:
    """What the stages of a flow are in the code that is installed here. Raises `ConfigError`."""
    _, stages = resolve(flow, bindings_of_flow(flow, url, said))
    return content_hash([[stage.name, plain(stage.settings)] for stage in stages])


def _ray() -> Any:
    refuse_to_start_in_data("Ray")
    try:
        import ray  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise ConfigError(
            "--runner ray: Ray is not installed; pip install -c constraints.txt -e '.[ray]'"
        ) from error
    return ray
