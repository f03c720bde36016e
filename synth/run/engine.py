"""Runs stages in their order: says which are reused, which are redone and why, does the pending shards, survives being killed."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import yaml

from schemas.canonical import canonical_json, content_hash
from schemas.errors import SynthError
from schemas.stage import Plan, Shard, Stage
from synth.ledger.flow_lock import flow_lock
from synth.ledger.journal import BusyError, Journal
from synth.ledger.ledger import StageRef
from synth.ledger.manifest import StageLine
from synth.ledger.state import IMPORT, LedgerState
from synth.ledger.tables import TABLES
from synth.run.context import Run
from synth.run.episodes_report import episodes_report
from synth.run.report_files import write_report_file
from synth.run.seldom_collected import seldom_collected
from synth.run.stall import stalls_named
from synth.side_by_side import side_by_side

WorkShard = Callable[[Stage[Run], str, Shard], Awaitable[None]]
"""How a shard is done: in this process, or as a task of an orchestrator."""

WAIT_S = 0.5


async def run_stages(
    run: Run, stages: Sequence[Stage[Run]], work: WorkShard | None = None, collected: Sequence[StageLine] = ()
) -> dict[str, Mapping[str, Any]]:
    """Runs all stages; their reports by stage name, after those of what the ledger holds already: imports, and stages that `collected`.

    Raises `SynthError` for what stops the run, another flow on it included.
    """
    ledger, flow = run.ledger, plain(run.flow.model_dump(mode="json"))
    lock = flow_lock(ledger.journal_folder, content_hash(flow), run.flow.name, ledger.storage.url)
    with lock, stalls_named(run.progress.say), seldom_collected():
        ledger.begin_flow(flow, collected)
        write_report_file(ledger.storage, "flow.yaml", yaml.safe_dump(run.flow.model_dump(mode="json"), sort_keys=False))
        for line in [*ledger.state.lost, *_half_written(run)]:
            run.progress.say(line)
        reports: dict[str, Mapping[str, Any]] = {}
        if any(shard.stage == IMPORT for shard in ledger.state.shards):
            reports[IMPORT] = {**episodes_report(ledger, IMPORT), "kind": "imported"}
        for begun in collected:
            report = ledger.state.done.get((begun.stage, begun.stage_key)) or episodes_report(ledger, begun.stage)
            if report["kind"] != "episodes" or report["outcomes"]:
                reports[begun.stage] = report
        for stage in stages:
            reports[stage.name] = await _run_stage(run, stage, work or _in_process(run))
        return reports


def _half_written(run: Run) -> Iterator[str]:
    """A line for each temporary file of a writer that died: it is part of nothing."""
    storage = run.ledger.storage
    for table in ("manifest", *TABLES):
        for name in storage.leftovers(table):
            yield f"{storage.path(f'{table}/{name}')}: half-written by a process that died; it is part of nothing and may be deleted"


def plain(value: Any) -> Any:
    """A value as it looks when read back from JSON, so that both compare equal."""
    return msgspec.json.decode(canonical_json(value))


def _in_process(run: Run) -> WorkShard:
    async def work(stage: Stage[Run], stage_key: str, shard: Shard) -> None:
        await stage.work(run, stage_key, shard)

    return work


async def _run_stage(run: Run, stage: Stage[Run], work: WorkShard) -> Mapping[str, Any]:
    ledger = run.ledger
    ledger.refresh()
    settings, inputs = plain(stage.settings), stage.inputs(run)
    ref = StageRef(stage.name, content_hash([stage.name, settings, inputs]))
    plan = stage.plan(run, ref.stage_key)
    done = ledger.state.done.get((ref.stage, ref.stage_key))
    if done is not None and not plan.shards:
        run.progress.say(f"{stage.name}: nothing to do")
    else:
        _say_why(run, stage.name, settings, inputs, plan, ledger.state)
    ledger.begin_stage(StageLine(ref.stage, ref.stage_key, settings, inputs, plan.adopted))
    if plan.shards:
        run.progress.start(stage.name, plan.units, plan.unit, run.budget)
        try:
            await _do(run, stage, ref, plan, work)
        finally:
            run.progress.stop()
        if run.refused is not None:
            raise SynthError(run.refused)
    elif done is not None:
        return done
    ledger.refresh()
    report: Mapping[str, Any] = plain(stage.report(run, ref.stage_key))
    if run.stopped is None:
        ledger.finish_stage(ref, report)
    return report


def _say_why(run: Run, name: str, settings: Mapping[str, Any], inputs: str, plan: Plan, state: LedgerState) -> None:
    """Says in one line what a stage will do that was run here before, and for which reason."""
    before = state.stages.get(name) or state.former_stages.get(name)
    if before is None:
        return
    reasons = []
    for key in sorted({*settings, *before.settings}):
        old, new = before.settings.get(key), settings.get(key)
        if old != new:
            reasons.append(f"{key}: {_short(old)} -> {_short(new)}")
    if before.inputs != inputs:
        reasons.append("its input changed")
    reused = f", {len(plan.adopted)} reused" if plan.adopted else ""
    what = f"{plan.units} {plan.unit} to do{reused}"
    run.progress.say(f"{name}: {what} ({'; '.join(reasons) or 'unfinished, or its faults are tried again'})")


def _short(value: Any) -> str:
    text = canonical_json(value).decode()
    return text if len(text) <= 60 else text[:57] + "..."


async def _do(run: Run, stage: Stage[Run], ref: StageRef, plan: Plan, work: WorkShard) -> None:
    """Does the shards, a few at a time; one that another process has in hand is looked at again when that one is through."""
    waiting = iter(plan.shards)
    said = False

    async def worker() -> None:
        nonlocal said
        for shard in waiting:
            while run.stopped is None:
                try:
                    journal = Journal(run.ledger.journal_folder / f"{ref.stage_key}-{shard.name}.jsonl")
                except BusyError:
                    if not said:
                        run.progress.say(f"{stage.name}: another process works on this run; waiting for its shards")
                        said = True
                    await asyncio.sleep(WAIT_S)
                    continue
                run.journals[shard.name] = journal
                committed = False
                try:
                    await work(stage, ref.stage_key, shard)
                    committed = run.stopped is None
                finally:
                    del run.journals[shard.name]
                    journal.close(discard=committed)
                break

    await side_by_side(min(plan.at_once, len(plan.shards)), worker)
