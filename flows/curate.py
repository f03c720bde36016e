"""The stages of a flow after collection, on what a ledger already holds: an import, or a run of
another flow.
"""

from collections.abc import Mapping, Sequence

from synth.engine.flow_warnings import dataset_warnings
from synth.engine.progress import Progress
from synth.engine.runs.measure_cache import MEASURES
from synth.engine.runs.unfinished import kind_of_stage, not_finished, unfinished
from synth.envs.registry import ENVS
from synth.flows.environments import bindings_of, said_by_flow
from synth.flows.own.bindings import Bindings, SaidByUser
from synth.flows.own.own_flow import what_runs
from synth.flows.own.run_folder import refuse_theirs
from synth.flows.own.run_record import keep_record, record_of, said_of_run, stored_flow
from synth.flows.parts import DOTTED, plugin_names
from synth.flows.resolve import resolve
from synth.flows.stage_choice import OWN_STAGES
from synth.flows.synthesize import Done, run_on
from synth.ledger.ledger import StoredLedger
from synth.ledger.log.manifest import StageLine
from synth.schemas import ConfigError, Flow, UnboundError


async def curate(
    flow: Flow,
    run_url: str,
    progress: Progress,
    said: Mapping[str, SaidByUser] | None = None,
) -> Done:
    """Runs or resumes them; the reports by stage, those of the collection first. Raises
    `SynthError`; nothing is collected.

    Environments are bound by what the command line says (`said`), by the user's own flow, and by
    the record of a run made here: never
    by what the ledger says.
    """
    roles, stages = resolve(flow, collect=False)
    ledger = StoredLedger(run_url)
    bindings = bindings_of(
        {**said_of_run(ledger), **_said_by(flow), **(said or {})}, named_in=run_url
    )
    whole = curated(flow, ledger)
    refuse_theirs(ledger, flow.name, stages)
    for line in (*dataset_warnings(whole), *left_alone(flow), *_not_bound(flow, ledger, bindings)):
        progress.say(line)
    collected = _collecting(ledger)
    left = [stage for stage in unfinished(ledger) if kind_of_stage(stage) not in OWN_STAGES]
    if left:
        progress.say(not_finished(left, "curated"))
    if (made := record_of(ledger)) is not None:
        keep_record(ledger, made.said, what_runs({**flow.model_dump(mode="json"), "env": None}))
    return await run_on(ledger, whole, roles, stages, progress, bindings, collected=collected)


def _collecting(ledger: StoredLedger) -> Sequence[StageLine]:
    """The stages that have made what the ledger holds."""
    return [
        line
        for line in ledger.state.stages.values()
        if not (line.stage.startswith(MEASURES) or kind_of_stage(line.stage) in OWN_STAGES)
    ]


def _said_by(flow: Flow) -> Mapping[str, SaidByUser]:
    """What the user's flow says of its environment; one that is not here starts nothing."""
    try:
        return said_by_flow(flow)
    except ConfigError:
        return {}


def curated(flow: Flow, ledger: StoredLedger) -> Flow:
    """The flow that describes what the ledger will hold: the collection that is there, then the
    stages after collection of `flow`.

    Raises `ConfigError` where one of both is missing.
    """
    later = tuple(choice for choice in flow.stages if choice.name in OWN_STAGES)
    if not later:
        raise ConfigError(
            f"flow {flow.name}: has no stages after collection; add `filter:` or `export:` to its "
            "stages"
        )
    if not any("trajectories" in shard.files for part in ledger.state.visible() for shard in part):
        raise ConfigError(f"{ledger.storage.url}: {_nothing(ledger)}")
    collecting = stored_flow(ledger)
    if collecting is None:
        return flow.model_copy(update={"env": None, "models": {}, "stages": later})
    collection = tuple(choice for choice in collecting.stages if choice.name not in OWN_STAGES)
    return collecting.model_copy(update={"name": flow.name, "stages": (*collection, *later)})


def _nothing(ledger: StoredLedger) -> str:
    """Why there is nothing to curate; what other flows have collected is not lost."""
    others = sum(len(shard.slots) for shard in ledger.state.shards)
    if not others:
        return "holds no trajectories to curate"
    return (
        f"its current flow has collected no trajectories yet; the {others:,} in trajectories_all "
        "were collected for another flow or for a "
        "calibration: `synth run` with that flow makes them current again"
    )


def left_alone(flow: Flow) -> Sequence[str]:
    """A line where the flow would collect: its own collection is not run."""
    names = [choice.name for choice in flow.stages if choice.name not in OWN_STAGES]
    return (
        [f"{', '.join(names)}: not run; the trajectories are those of the ledger"] if names else []
    )


def _not_bound(flow: Flow, ledger: StoredLedger, bindings: Bindings) -> list[str]:
    """A line for each environment that a filter would open again and that nobody bound: its
    trajectories stay undefined.
    """
    if not any(
        "reexecuted" in str(choice.settings) for choice in flow.stages if choice.name == "filter"
    ):
        return []
    lines, plugged = [], plugin_names("world")
    for name in sorted(set(ledger.task_ids().values())):
        try:
            bindings.world(name)
        except UnboundError as error:
            if name in ENVS or name in plugged or DOTTED.fullmatch(name):
                lines.append(f"reexecuted: {error}")
    return lines
