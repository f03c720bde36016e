"""Runs stages in their order: says which are reused, which are redone and why, does the pending
shards, survives being killed.
"""

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import yaml

from synth.claims.claims import clear_leases
from synth.engine.context import Run
from synth.engine.runs.event_loop import event_loop_watchdog, gc_paused
from synth.engine.runs.slot_scheduler import do_shards
from synth.engine.runs.stage_reports import env_versions, episodes_report
from synth.ledger import StageRef, StoredLedger
from synth.ledger.atomic_write import write_named
from synth.ledger.log import manifest, manifest_checkpoints
from synth.ledger.log.lost_shards import lost_lines
from synth.ledger.log.manifest import Json, StageLine
from synth.ledger.log.state import IMPORT
from synth.ledger.storage.flow_lock import flow_lock
from synth.ledger.storage.journal import discard_finished
from synth.ledger.tables import TABLES
from synth.schemas import Flow, Plan, Stage, SynthError, canonical_json, content_hash


async def run_stages(
    run: Run, stages: Sequence[Stage[Run]], collected: Sequence[StageLine] = ()
) -> dict[str, Json]:
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

        for line in [*lost_lines(ledger.state), *_half_written(ledger)]:
            run.progress.say(line)

        reports: dict[str, Json] = {}
        if any(shard.stage == IMPORT for shard in ledger.state.shards):
            reports[IMPORT] = {**episodes_report(ledger, IMPORT), "kind": "imported"}
        for begun in collected:
            done = ledger.state.done.get((begun.stage, begun.stage_key))
            report = done or episodes_report(ledger, begun.stage)
            if report["kind"] != "episodes" or report["outcomes"]:
                reports[begun.stage] = report

        for stage in stages:
            if not run.units.left():
                run.stopped = run.stopped or run.units.spent()
                break
            reports[stage.name] = await _run_stage(run, stage)

        return reports


def _half_written(ledger: StoredLedger) -> Iterator[str]:
    """A line for each temporary file of a writer that died: it is part of nothing."""
    folders = (manifest.FOLDER, manifest_checkpoints.FOLDER, *TABLES)
    left = (f"{one}/{name}" for one in folders for name in ledger.storage.leftovers(one))

    for path in left:
        yield (
            f"{ledger.storage.path(path)}: half-written by a process that died; it is part of "
            "nothing and may be deleted"
        )


def key_of(name: str, settings: Json, inputs: str) -> str:
    """The key of a stage's rows; the settings as `plain` gives them."""
    return content_hash([name, settings, inputs])


def plain(value: Any) -> Any:
    """A value as it looks when read back from JSON, so that both compare equal."""
    return msgspec.json.decode(canonical_json(value))


async def _run_stage(run: Run, stage: Stage[Run]) -> Json:
    """The report of one stage, which is run as far as it is not done."""
    ledger = run.ledger
    ledger.refresh()
    settings, inputs = plain(stage.settings), stage.inputs(run)
    key = key_of(stage.name, settings, inputs)
    ref, plan = StageRef(stage.name, key), stage.plan(run, key)
    done = ledger.state.done.get((stage.name, key))

    if done is not None and not plan.shards:
        run.progress.say(f"{stage.name}: nothing to do")
    else:
        _say_why(run, stage.name, settings, inputs, plan)

    ledger.begin_stage(StageLine(stage.name, key, settings, inputs, plan.adopted))

    if done is not None and not plan.shards:
        discard_finished(ledger.journal_folder, key)
        return done

    if plan.shards:
        run.progress.start(stage.name, plan.units, plan.unit, run.budget)
        whole = False
        try:
            await do_shards(run, stage, ref, plan)
            whole = run.stopped is None
        except asyncio.CancelledError:
            with contextlib.suppress(SynthError):  # the interruption is what is told
                ledger.refresh()
                run.progress.committed(plan.units - stage.plan(run, key).units)
            raise
        finally:
            run.progress.stop(whole=whole)
        if run.refused is not None:
            raise SynthError(run.refused)

    ledger.refresh()
    report: Json = plain({**stage.report(run, key), **env_versions(run, ref, done)})

    if run.stopped is None:
        discard_finished(ledger.journal_folder, key)
        ledger.finish_stage(ref, report)
        clear_leases(ledger, key, plan)

    return report


def _say_why(run: Run, name: str, settings: Json, inputs: str, plan: Plan) -> None:
    """Says in one line what a stage will do that was run here before, and for which reason."""
    state = run.ledger.state
    before = state.stages.get(name) or state.former_stages.get(name)
    if before is None:
        return

    reasons = []
    for one in sorted({*settings, *before.settings}):
        old, new = before.settings.get(one), settings.get(one)
        if old != new:
            reasons.append(f"{one}: {_short(old)} -> {_short(new)}")

    if before.inputs != inputs:
        reasons.append("its input changed")

    reused = f", {len(plan.adopted)} reused" if plan.adopted else ""
    why = "; ".join(reasons) or "unfinished, or its faults are tried again"
    run.progress.say(f"{name}: {plan.units} {plan.unit} to do{reused} ({why})")


def _short(value: Any) -> str:
    """A value of a setting, cut where it is longer than a line can hold."""
    text = canonical_json(value).decode()
    return text if len(text) <= 60 else text[:57] + "..."
