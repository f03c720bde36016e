"""Shards of episodes on a Ray cluster, by Prefect's Ray task runner; what is no episode is done
where the flow runs.

The workers plan nothing and hold nothing: each opens the run's storage, takes a lease on its shard,
and commits it.
"""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from synth.engine.context import Run
from synth.engine.cost import spent
from synth.engine.progress import Progress
from synth.engine.runner import WorkShard, in_process
from synth.flows.bindings import Said
from synth.flows.data_folder import refuse_to_start_in_data
from synth.flows.deployment_retries import again_after
from synth.flows.parts import folders
from synth.flows.ray_worker import Worked, work_shard
from synth.flows.spread_stage import SpreadStage
from synth.flows.synthesize import Done, Recipe, Wrap, synthesize
from synth.leases.hand import still_open
from synth.ledger.state import LedgerState
from synth.ledger.storage import Storage
from synth.schemas.errors import ConfigError, SynthError
from synth.schemas.flow import Flow
from synth.schemas.stage import Plan, Shard, Stage

AT_ONCE = 500
"""Shards that are handed to Ray at a time; it does as many as it has cores."""


def ray_runner() -> Any:
    """Prefect's runner for the cluster at $RAY_ADDRESS, or for one that it starts on this machine.
    Raises `ConfigError`.
    """
    refuse_to_start_in_data("Ray")
    try:
        from prefect_ray import RayTaskRunner  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise ConfigError(
            "--runner ray: Ray is not installed; pip install -c constraints.txt -e '.[ray]'"
        ) from error
    return RayTaskRunner(init_kwargs={"log_to_driver": False})


@dataclass(frozen=True, slots=True)
class OnRay(SpreadStage):
    """A stage whose shards of episodes are done by Ray's workers; one whose work does not stand
    alone is done as it is.
    """

    hand_over: Callable[[Run, str, str, Shard, bool], Any]
    """(run, stage, stage key, shard, whether it only helps with it) -> Prefect's future."""
    _theirs: dict[str, Shard] = field(default_factory=dict)
    _begun: set[str] = field(default_factory=set)
    _waiting: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(AT_ONCE, "ray"))

    def plan(self, run: Run, stage_key: str) -> Plan:
        """The same shards under names of their own: the leases on the others are the workers'."""
        whole = self.inner.plan(run, stage_key)
        if not whole.by_slot:
            return whole
        shards = [Shard(f"ray-{shard.name}", shard.items) for shard in whole.shards]
        self._theirs.update(
            {given.name: shard for given, shard in zip(shards, whole.shards, strict=True)}
        )
        return Plan(
            shards,
            whole.adopted,
            whole.units,
            whole.unit,
            at_once=min(AT_ONCE, max(1, len(shards))),
        )

    def hands_over(self, shard: Shard) -> bool:
        """Whether a shard is done elsewhere."""
        return shard.name in self._theirs

    async def work(self, run: Run, stage_key: str, shard: Shard) -> None:
        """Has a shard done; what its worker has spent counts for the ceilings from then on. Raises
        `SynthError`.

        Once all shards are handed over, who is through with one helps with what is not begun of
        another.
        """
        theirs = self._theirs.get(shard.name)
        if theirs is None:
            await self.inner.work(run, stage_key, shard)
            return
        if not run.may_start():
            return
        self._begun.add(shard.name)
        await self._done_there(run, stage_key, theirs, helps=False)
        run.progress.step(sum(run.ledger.state.settled(item.slot_id) for item in shard.items))
        while run.may_start() and (slow := self._slow(run.ledger.state)) is not None:
            left = _left(slow, run.ledger.state)
            await self._done_there(run, stage_key, slow, helps=True)
            if _left(slow, run.ledger.state) == left:
                return

    async def _done_there(self, run: Run, stage_key: str, shard: Shard, *, helps: bool) -> None:
        worked: Worked = await self._result(self.hand_over(run, self.name, stage_key, shard, helps))
        if worked.error is not None:
            raise SynthError(worked.error)
        run.refused = run.refused or worked.refused
        run.ledger.refresh()
        run.budget.spent = spent(run.ledger)

    def _slow(self, state: LedgerState) -> Shard | None:
        """The shard with most left to do, once no other waits to be handed over."""
        if len(self._begun) < len(self._theirs):
            return None
        return max(
            (shard for shard in self._theirs.values() if _left(shard, state)),
            key=lambda shard: _left(shard, state),
            default=None,
        )

    async def _result(self, future: Any) -> Any:
        """What a future of Prefect's gives; each waits in a thread of its own, so that slow ones
        keep none from being seen.
        """
        return await asyncio.get_running_loop().run_in_executor(
            self._waiting, copy_context().run, future.result
        )


def _left(shard: Shard, state: LedgerState) -> int:
    return sum(still_open(slot, state) for slot in shard.items)


def on_ray(flow: Flow, url: str, said: Mapping[str, Said] | None = None) -> Recipe:
    """The recipe `synthesize` with shards of episodes on Ray; to be used within a Prefect flow run
    with `ray_runner`.
    """
    from prefect import task as prefect_task
    from prefect.cache_policies import NO_CACHE

    storage = Storage(url)
    shared = str(Path(storage.root).absolute()) if storage.local else storage.url
    written = flow.model_dump(mode="json")
    task: Any = prefect_task(persist_result=False, cache_policy=NO_CACHE)(work_shard)

    def hand_over(run: Run, stage: str, stage_key: str, shard: Shard, helps: bool) -> Any:
        named = task.with_options(name=stage, task_run_name=f"{stage}-{shard.name[:8]}")
        return named.submit(written, shared, stage, stage_key, shard, folders(), helps, said)

    async def recipe(flow: Flow, url: str, progress: Progress, wrap: Wrap | None) -> Done:
        return await synthesize(
            flow, url, progress, _no_task_around(wrap), lambda stage: OnRay(stage, hand_over), said
        )

    return recipe


def _no_task_around(wrap: Wrap | None) -> Wrap:
    """A shard that is handed over is a task run there, not here as well: Prefect would pack up the
    one here for it.
    """

    def wrapped(run: Run) -> WorkShard:
        others = wrap(run) if wrap is not None else in_process(run)

        async def work(stage: Stage[Run], stage_key: str, shard: Shard) -> None:
            if isinstance(stage, OnRay) and stage.hands_over(shard):
                await again_after(
                    lambda: stage.work(run, stage_key, shard), shard.name, run.progress.say
                )
            else:
                await others(stage, stage_key, shard)

        return work

    return wrapped
