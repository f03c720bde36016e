"""A stage's work cut into parts by task, each done by a flow run of its own; all of them commit
into the same ledger.

The run that waits for them plans the stage, and goes on with what follows once every part is done:
by its flow run, by a second one
where the first was lost, and by the waiting run itself where no worker takes it.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from synth.engine.budget import Budget
from synth.engine.context import Run
from synth.engine.cost import spent
from synth.engine.runner import WorkShard, do_shards, plain
from synth.flows.spread_stage import SpreadStage
from synth.flows.synthesize import Wrap
from synth.ledger.flow_lock import flow_lock
from synth.ledger.ledger import Ledger, StageRef
from synth.schemas.canonical import content_hash
from synth.schemas.errors import ConfigError, SynthError
from synth.schemas.flow import Flow
from synth.schemas.stage import Plan, Shard, Stage


class Part(msgspec.Struct, frozen=True):
    """The `number`-th (from 0) of `count` parts of a stage."""

    stage: str
    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.stage}:{self.number}/{self.count}"

    def holds(self, task_id: str) -> bool:
        """Whether a task is of this part; of the parts of one count exactly one holds it."""
        return int(content_hash(["part", task_id])[:12], 16) % self.count == self.number


def part_of(written: str) -> Part:
    """Reads what `str` gives. Raises `ConfigError`."""
    stage, _, numbers = written.rpartition(":")
    number, _, count = numbers.partition("/")
    if not (stage and number.isdecimal() and count.isdecimal() and int(number) < int(count)):
        raise ConfigError(
            f"part: {written!r} is not STAGE:NUMBER/COUNT, such as rollout:0/4; leave it out to "
            "run the whole flow"
        )
    return Part(stage, int(number), int(count))


def of_part(plan: Plan, part: Part) -> Plan:
    """What a plan holds for a part, in shards of the same size; empty where they are not slots."""
    items = [item for shard in plan.shards for item in shard.items]
    if not items or not plan.by_slot:
        return Plan((), unit=plan.unit)
    size = max(len(shard.items) for shard in plan.shards)
    mine = [item for item in items if part.holds(item.task_id)]
    cut = [mine[at : at + size] for at in range(0, len(mine), size)]
    shards = [Shard(content_hash([item.slot_id for item in some]), some) for some in cut]
    return Plan(shards, units=len(mine), unit=plan.unit, at_once=plan.at_once, by_slot=plan.by_slot)


WorkPart = Callable[[Run, Part], Awaitable[bool]]
"""Has a part done elsewhere; False = nobody has, and the caller is to do it."""


@dataclass(frozen=True, slots=True)
class InParts(SpreadStage):
    """A stage whose shards are the parts that still hold work, where they fill slots one by one;
    else as it is.
    """

    count: int
    elsewhere: WorkPart
    wrap: Wrap
    _parts: dict[str, Part] = field(default_factory=dict)

    def plan(self, run: Run, stage_key: str) -> Plan:
        """A shard for each part with work, all of them at once."""
        whole = self.inner.plan(run, stage_key)
        parts = [Part(self.name, number, self.count) for number in range(self.count)]
        shards = []
        for part in parts:
            items = [item for shard in of_part(whole, part).shards for item in shard.items]
            if items:
                shards.append(Shard(f"part-{part.number}-of-{part.count}", items))
                self._parts[shards[-1].name] = part
        if not shards:
            return whole
        return Plan(shards, whole.adopted, whole.units, whole.unit, at_once=len(shards))

    async def work(self, run: Run, stage_key: str, shard: Shard) -> None:
        """Has a part done, here if need be; what other flow runs have spent counts for the ceilings
        from then on.
        """
        part = self._parts.get(shard.name)
        if part is None:
            await self.inner.work(run, stage_key, shard)
            return
        if not await self.elsewhere(run, part):
            await work_part(run, self.inner, stage_key, part, self.wrap(run))
            return
        run.ledger.refresh()
        run.budget.spent = spent(run.ledger)
        run.progress.step(len(shard.items) - of_part(self.inner.plan(run, stage_key), part).units)
        run.may_start()


async def work_part(
    run: Run, stage: Stage[Run], stage_key: str, part: Part, work: WorkShard
) -> None:
    """Does what is open of a part, and nothing else: no line of the manifest but those of its
    shards is written.
    """
    run.ledger.refresh()
    plan = of_part(stage.plan(run, stage_key), part)
    if plan.shards:
        await do_shards(run, stage, StageRef(stage.name, stage_key), plan, work)


async def work_begun_part(
    run: Run, stages: Sequence[Stage[Run]], part: Part, work: WorkShard
) -> Mapping[str, Any]:
    """Does a part of the stage that the ledger's current flow has begun; the report of what there
    is of the stage.

    Raises `ConfigError` where another flow has been begun since, or another key of the stage.
    """
    ledger = run.ledger
    flow = plain(run.flow.model_dump(mode="json"))
    stage = next((stage for stage in stages if stage.name == part.stage), None)
    begun = ledger.refresh().stages.get(part.stage)
    if stage is None or begun is None or ledger.state.flow != flow:
        raise ConfigError(
            f"{ledger.storage.url}: no run of this flow waits for {part}; run the whole flow, "
            "without `part`"
        )
    if begun.stage_key != content_hash([stage.name, plain(stage.settings), stage.inputs(run)]):
        raise ConfigError(
            f"{ledger.storage.url}: {part.stage} has changed since {part} was given out; run the "
            "whole flow, without `part`"
        )
    with flow_lock(ledger.journal_folder, content_hash(flow), run.flow.name, ledger.storage.url):
        units = of_part(stage.plan(run, begun.stage_key), part).units
        run.progress.start(str(part), units, "episodes", run.budget)
        try:
            await work_part(run, stage, begun.stage_key, part, work)
        finally:
            run.progress.stop()
    if run.refused is not None:
        raise SynthError(run.refused)
    ledger.refresh()
    return stage.report(run, begun.stage_key)


def share_of_budget(flow: Flow, ledger: Ledger, count: int) -> Budget:
    """One of `count` equal shares of what the flow's ceilings leave; the time is not divided."""
    used = spent(ledger)
    tokens, usd = used.prompt_tokens + used.completion_tokens, used.cost_usd or 0.0
    return Budget(
        max_tokens=None
        if flow.max_tokens is None
        else tokens + max(0, flow.max_tokens - tokens) // count,
        max_cost_usd=None
        if flow.max_cost_usd is None
        else usd + max(0.0, flow.max_cost_usd - usd) / count,
        max_hours=flow.max_hours,
        spent=used,
    )
