"""One shard of a stage on a machine of a Ray cluster: all that it shares with the others is the
run's own storage.
"""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from synth.engine.beating import beating
from synth.engine.budget import Budget
from synth.engine.context import Run
from synth.engine.cost import spent
from synth.engine.progress import PlainProgress
from synth.engine.runner import do_shards, in_process, plain
from synth.flows.bindings import Said
from synth.flows.parts import look_also_in
from synth.flows.resolve import resolve
from synth.flows.synthesize import bindings_of_flow
from synth.ledger.flow_lock import flow_lock
from synth.ledger.ledger import Ledger, StageRef
from synth.schemas.canonical import content_hash
from synth.schemas.errors import ConfigError, SynthError
from synth.schemas.flow import Flow
from synth.schemas.stage import Plan, Shard


class Worked(msgspec.Struct, frozen=True):
    """How it went: `error` in a line for the user, `refused` as in `Run`. What the worker had to
    say lies in Ray's logs.
    """

    error: str | None = None
    refused: str | None = None


def work_shard(
    flow: Mapping[str, Any],
    url: str,
    stage: str,
    stage_key: str,
    shard: Shard,
    folders: Sequence[str],
    helps: bool,
    said: Mapping[str, Said] | None = None,
) -> Worked:
    """Does what no other worker has in hand of a shard, with the journals of this machine, until
    all of it is settled.

    Who only `helps` waits for nobody. `flow` and `said` are the user's, from the machine that hands
    the shard over.
    """
    for folder in folders:
        look_also_in(Path(folder))
    try:
        return Worked(
            refused=asyncio.run(
                _worked(
                    Flow.model_validate(flow), url, StageRef(stage, stage_key), shard, helps, said
                )
            )
        )
    except SynthError as error:
        return Worked(error=str(error))


async def _worked(
    flow: Flow, url: str, ref: StageRef, shard: Shard, helps: bool, said: Mapping[str, Said] | None
) -> str | None:
    bindings = bindings_of_flow(flow, url, said)
    roles, stages = resolve(flow, bindings)
    ledger = Ledger(url)
    budget = Budget(
        max_tokens=flow.max_tokens,
        max_cost_usd=flow.max_cost_usd,
        max_hours=flow.max_hours,
        spent=spent(ledger),
    )
    run = Run(
        ledger,
        flow,
        roles,
        bindings.open_env,
        bindings.make_tasks,
        bindings.spec_of,
        PlainProgress(sys.stderr),
        budget,
    )
    try:
        stage = next((stage for stage in stages if stage.name == ref.stage), None)
        if stage is None or ref.stage_key != content_hash(
            [stage.name, plain(stage.settings), stage.inputs(run)]
        ):
            raise ConfigError(
                f"{url}: {ref.stage} is another stage on this machine; install the same version "
                "of synth on all of them"
            )
        lock = flow_lock(
            ledger.journal_folder,
            content_hash(plain(flow.model_dump(mode="json"))),
            flow.name,
            ledger.storage.url,
        )
        with lock, beating(run):
            plan = Plan((shard,), units=len(shard.items), by_slot=True)
            await do_shards(run, stage, ref, plan, in_process(run), waits=not helps)
        return run.refused
    finally:
        await run.close()
