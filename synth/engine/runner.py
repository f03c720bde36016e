"""Runs stages in their order: says which are reused, which are redone and why, does the pending
shards, survives being killed.
"""

import asyncio
import contextlib
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import yaml

from synth.claims.claims import Leases, clear_leases
from synth.engine.context import Run
from synth.engine.event_loop import event_loop_watchdog, gc_paused
from synth.engine.slot_scheduler import WAIT_S, do_by_slot, longer, some_open
from synth.engine.stage_reports import env_versions, episodes_report
from synth.ledger import manifest, manifest_checkpoints
from synth.ledger.atomic_write import write_named
from synth.ledger.fencing import FencedError
from synth.ledger.flow_lock import flow_lock
from synth.ledger.journal import BusyError, Journal, discard_finished
from synth.ledger.ledger import StageRef
from synth.ledger.manifest import StageLine
from synth.ledger.state import IMPORT, LedgerState
from synth.ledger.tables import TABLES
from synth.schemas.canonical import canonical_json, content_hash
from synth.schemas.errors import SynthError
from synth.schemas.flow import Flow
from synth.schemas.stage import Plan, Shard, Stage
from synth.side_by_side import run_workers


async def run_stages(
    run: Run,
    stages: Sequence[Stage[Run]],
    collected: Sequence[StageLine] = (),
) -> dict[str, Mapping[str, Any]]:
    """Runs all stages; their reports by stage name, after those of what the ledger holds already:
    imports, and stages that `collected`.

    Raises `SynthError` for what stops the run, another flow on it included.
    """
    ledger, flow = run.ledger, plain(run.flow.model_dump(mode="json"))
    lock = flow_lock(ledger.journal_folder, content_hash(flow), run.flow.name, ledger.storage.url)
    with lock, event_loop_watchdog(run.progress.say), gc_paused():
        ledger.begin_flow(flow, collected)
        # `flow` has its keys in one order, whoever begins it: the file of all workers is one
        text = yaml.safe_dump({name: flow[name] for name in Flow.model_fields}, sort_keys=False)
        write_named(ledger, "flow.yaml", text.encode)
        for line in [*ledger.state.lost, *_half_written(run)]:
            run.progress.say(line)
        reports: dict[str, Mapping[str, Any]] = {}
        if any(shard.stage == IMPORT for shard in ledger.state.shards):
            reports[IMPORT] = {**episodes_report(ledger, IMPORT), "kind": "imported"}
        for begun in collected:
            report = ledger.state.done.get((begun.stage, begun.stage_key)) or episodes_report(
                ledger, begun.stage
            )
            if report["kind"] != "episodes" or report["outcomes"]:
                reports[begun.stage] = report
        for stage in stages:
            if not run.units.left():
                run.stopped = run.stopped or run.units.spent()
                break
            reports[stage.name] = await _run_stage(run, stage)
        return reports


def _half_written(run: Run) -> Iterator[str]:
    """A line for each temporary file of a writer that died: it is part of nothing."""
    storage = run.ledger.storage
    for table in (manifest.FOLDER, manifest_checkpoints.FOLDER, *TABLES):
        for name in storage.leftovers(table):
            yield (
                f"{storage.path(f'{table}/{name}')}: half-written by a process that died; it "
                "is part of nothing and may be deleted"
            )


def key_of(name: str, settings: Mapping[str, Any], inputs: str) -> str:
    """The key of a stage's rows; the settings as `plain` gives them."""
    return content_hash([name, settings, inputs])


def plain(value: Any) -> Any:
    """A value as it looks when read back from JSON, so that both compare equal."""
    return msgspec.json.decode(canonical_json(value))


async def _run_stage(run: Run, stage: Stage[Run]) -> Mapping[str, Any]:
    ledger = run.ledger
    ledger.refresh()
    settings, inputs = plain(stage.settings), stage.inputs(run)
    ref = StageRef(stage.name, key_of(stage.name, settings, inputs))
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
            await _do_shards(run, stage, ref, plan)
        except asyncio.CancelledError:
            with contextlib.suppress(SynthError):  # the interruption is what is told
                ledger.refresh()
                run.progress.committed(plan.units - stage.plan(run, ref.stage_key).units)
            raise
        finally:
            run.progress.stop(whole=sys.exception() is None and run.stopped is None)
        if run.refused is not None:
            raise SynthError(run.refused)
    elif done is not None:
        discard_finished(ledger.journal_folder, ref.stage_key)
        return done
    ledger.refresh()
    report: Mapping[str, Any] = plain(
        {**stage.report(run, ref.stage_key), **env_versions(run, ref, done)}
    )
    if run.stopped is None:
        discard_finished(ledger.journal_folder, ref.stage_key)
        ledger.finish_stage(ref, report)
        clear_leases(ledger, ref.stage_key, plan)
    return report


def _say_why(
    run: Run, name: str, settings: Mapping[str, Any], inputs: str, plan: Plan, state: LedgerState
) -> None:
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
    run.progress.say(
        f"{name}: {what} ({'; '.join(reasons) or 'unfinished, or its faults are tried again'})"
    )


def _short(value: Any) -> str:
    text = canonical_json(value).decode()
    return text if len(text) <= 60 else text[:57] + "..."


async def _do_shards(run: Run, stage: Stage[Run], ref: StageRef, plan: Plan) -> None:
    """Does the shards, a few at a time; one that another worker has in hand is looked at again
    until that one is through or silent.

    A shard that was taken over from this process, which must have slept, is dropped here, and
    looked at again as well. Slots are taken
    one by one (`synth.engine.slot_scheduler`).
    """
    leases = run.leases or Leases(run.ledger, term_s=run.flow.lease_s, units=run.units)
    waiting, said = deque(plan.shards), set[str]()

    def say_once(line: str) -> None:
        if line not in said:
            said.add(line)
            run.progress.say(line)

    async def worker() -> None:
        while waiting and run.stopped is None and run.units.left():
            shard, wait_s = waiting.popleft(), WAIT_S
            while run.stopped is None and not await _done_here(
                run, stage, ref, shard, leases, say_once
            ):
                if not run.units.left():
                    waiting.append(shard)
                    break
                await asyncio.sleep(wait_s)
                wait_s = longer(wait_s, run.ledger)

    try:
        if plan.by_slot:
            await do_by_slot(run, stage, ref, plan, leases, say_once)
        else:
            await run_workers(min(plan.at_once, len(plan.shards)), worker)
        if not run.units.left() and (waiting if not plan.by_slot else some_open(run, plan)):
            run.stopped = run.stopped or run.units.spent()
    finally:
        if leases is not run.leases:
            leases.close()


async def _done_here(
    run: Run,
    stage: Stage[Run],
    ref: StageRef,
    shard: Shard,
    leases: Leases,
    say: Callable[[str], None],
) -> bool:
    """Whether a shard was worked on to its end; False where another worker has it, or has taken it
    over.
    """
    name = f"{ref.stage_key}-{shard.name}"
    try:
        journal = Journal(run.ledger.journal_folder / f"{name}.jsonl")
    except BusyError:
        say(f"{stage.name}: another process works on this run; waiting for its shards")
        return False
    lease, committed = None, False
    try:
        if not run.units.left():
            return False
        run.units.claimed += 1
        lease = leases.take(name)
        if lease is None:
            say(
                f"{stage.name}: another machine works on this run; waiting for its shards, or for "
                f"a silence of {run.flow.lease_s:g} s"
            )
            return False
        run.journals[shard.name] = journal
        try:
            await leases.under(lease, lambda: stage.work(run, ref.stage_key, shard))
        except FencedError:
            say(
                f"{stage.name}: this process was silent for so long that another one took its "
                "shard over; its own try is dropped"
            )
            return False
        finally:
            del run.journals[shard.name]
        committed = run.stopped is None
        return True
    finally:
        if lease is not None:
            leases.give_back(lease)
        else:
            run.units.claimed -= 1
        journal.close(discard=committed)
