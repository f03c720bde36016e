"""The recipe: one flow.yaml from an empty run directory to datasets; run as it stands, or under Prefect (flows/prefect_run)."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any

from flows.heartbeat_progress import beating
from flows.parts import make_tasks, open_env, spec_of
from flows.resolve import resolve
from flows.run_folder import refuse_foreign, refuse_their_flow_file
from schemas.flow import Flow
from schemas.stage import Stage
from synth.ledger.ledger import Ledger
from synth.ledger.manifest import StageLine
from synth.run.budget import Budget
from synth.run.context import Role, Run
from synth.run.cost import cost, spent
from synth.run.engine import WorkShard, run_stages
from synth.run.idle_stages import idle_stages
from synth.run.loud_settings import loud_settings
from synth.run.progress import Progress
from synth.run.report_files import write_report_file

Wrap = Callable[[Run], WorkShard]
Done = tuple[Run, Mapping[str, Mapping[str, Any]]]
Recipe = Callable[[Flow, str, Progress, Wrap | None], Coroutine[Any, Any, Done]]
"""What is done with a flow in a run directory, `synthesize` or `curate`: the run, and the stages' reports by name."""


Spread = Callable[[Stage[Run]], Stage[Run]]
"""A stage as it is, or one that has its work done elsewhere."""


async def synthesize(flow: Flow, run_url: str, progress: Progress, wrap: Wrap | None = None, spread: Spread | None = None) -> Done:
    """Runs or resumes a flow; the stages' reports by name. Raises `SynthError`; what was committed stays."""
    roles, stages = resolve(flow)  # before anything is created: a typo leaves no run directory behind
    for line in (*loud_settings(flow), *idle_stages(flow)):
        progress.say(line)
    refuse_foreign(run_url)
    ledger = Ledger(run_url, create=True)
    refuse_their_flow_file(ledger)
    return await run_on(ledger, flow, roles, [spread(stage) for stage in stages] if spread else stages, progress, wrap)


async def run_on(
    ledger: Ledger,
    flow: Flow,
    roles: Mapping[str, Role],
    stages: Sequence[Stage[Run]],
    progress: Progress,
    wrap: Wrap | None,
    *,
    collected: Sequence[StageLine] = (),
) -> Done:
    """Runs the stages on a ledger beside those that have `collected` its trajectories, and keeps cost.json up to date."""
    return await worked(ledger, flow, roles, progress, lambda run: run_stages(run, stages, wrap(run) if wrap else None, collected))


async def worked(
    ledger: Ledger,
    flow: Flow,
    roles: Mapping[str, Role],
    progress: Progress,
    work: Callable[[Run], Awaitable[Mapping[str, Mapping[str, Any]]]],
    budget: Budget | None = None,
) -> Done:
    """Does `work` on a ledger, giving signs of life; under the flow's own ceilings, if no `budget` is given."""
    if budget is None:
        budget = Budget(max_tokens=flow.max_tokens, max_cost_usd=flow.max_cost_usd, max_hours=flow.max_hours, spent=spent(ledger))
    run = Run(ledger, flow, roles, open_env, make_tasks, spec_of, progress, budget)
    try:
        with beating(run):
            reports = await work(run)
    finally:
        await run.close()
        write_report_file(ledger.storage, "cost.json", cost(ledger))
    return run, reports
