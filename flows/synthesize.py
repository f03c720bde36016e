"""The recipe: one flow.yaml from an empty run directory to datasets."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from synth.claims import Units
from synth.engine.budget import Budget
from synth.engine.context import Role, Run
from synth.engine.cost import cost, cost_file, spent
from synth.engine.flow_warnings import dataset_warnings, no_op_stages
from synth.engine.progress import Progress
from synth.engine.runs.beating import beating
from synth.engine.runs.runner import run_stages
from synth.flows.environments import bindings_of, said_by_flow
from synth.flows.own.bindings import Bindings, SaidByUser
from synth.flows.own.own_flow import what_runs
from synth.flows.own.run_folder import refuse_foreign, refuse_theirs
from synth.flows.own.run_record import keep_record
from synth.flows.resolve import resolve
from synth.ledger.atomic_write import write_named
from synth.ledger.ledger import StoredLedger
from synth.ledger.log.manifest import StageLine
from synth.schemas import ConfigError, Flow, FlowError, Stage

Done = tuple[Run, Mapping[str, Mapping[str, Any]]]
Recipe = Callable[[Flow, str, Progress], Coroutine[Any, Any, Done]]
"""What is done with a flow in a run directory, `synthesize` or `curate`: the run, and the stages'
reports by name.
"""


async def synthesize(
    flow: Flow,
    run_url: str,
    progress: Progress,
    said: Mapping[str, SaidByUser] | None = None,
    units: Units | None = None,
) -> Done:
    """Runs or resumes a flow of the user's own; the stages' reports by name. Raises `SynthError`;
    what was committed stays.

    `said`: what the command line says of environments beside the flow's (`--env`). `units`: how
    many this process may claim.
    """
    bindings = bindings_of_flow(flow, run_url, said)
    # before anything is created: a typo leaves no run directory behind
    roles, stages = resolve(flow, bindings)
    for line in (*dataset_warnings(flow), *no_op_stages(flow)):
        progress.say(line)
    refuse_foreign(run_url)
    ledger = StoredLedger(run_url, create=True)
    refuse_theirs(ledger, flow.name, stages)
    runs = what_runs(flow.model_dump(mode="json"))
    keep_record(ledger, bindings.said, runs)
    try:
        return await run_on(ledger, flow, roles, stages, progress, bindings, units=units)
    finally:
        keep_record(ledger, bindings.said, runs)


def bindings_of_flow(
    flow: Flow, run_url: str, said: Mapping[str, SaidByUser] | None = None
) -> Bindings:
    """What a flow of the user's own, and their command line, say of environments. Raises
    `FlowError` with the place in the flow.
    """
    try:
        return bindings_of({**said_by_flow(flow), **(said or {})}, named_in=run_url)
    except ConfigError as error:
        raise FlowError(str(error)) from error


async def run_on(
    ledger: StoredLedger,
    flow: Flow,
    roles: Mapping[str, Role],
    stages: Sequence[Stage[Run]],
    progress: Progress,
    bindings: Bindings,
    *,
    collected: Sequence[StageLine] = (),
    units: Units | None = None,
) -> Done:
    """Runs the stages on a ledger beside those that have `collected` its trajectories, gives signs
    of life, and keeps cost.json up to date.
    """
    units = units or Units()
    budget = Budget(
        max_tokens=flow.max_tokens,
        max_cost_usd=flow.max_cost_usd,
        max_hours=flow.max_hours,
        spent=spent(ledger),
        earlier_s=units.earlier_s,
    )
    worlds = bindings.open_env, bindings.make_tasks, bindings.spec_of
    run = Run(ledger, flow, roles, *worlds, progress, budget, units)
    try:
        with beating(run):
            reports = await run_stages(run, stages, collected)
    finally:
        await run.close()
        write_named(ledger, "cost.json", lambda: cost_file(cost(ledger)))
    return run, reports
