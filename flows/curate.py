"""The stages of a flow after collection, on what a ledger already holds: an import, or a run of another flow."""

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from flows.resolve import OWN_STAGES, resolve_later
from flows.run_folder import refuse_their_flow_file
from flows.synthesize import Done, Wrap, run_on
from schemas.errors import ConfigError
from schemas.flow import Flow
from synth.ledger.ledger import Ledger
from synth.run.loud_settings import loud_settings
from synth.run.measured import MEASURES
from synth.run.progress import Progress
from synth.run.unfinished import kind_of_stage, not_finished, unfinished


async def curate(flow: Flow, run_url: str, progress: Progress, wrap: Wrap | None = None) -> Done:
    """Runs or resumes them; the reports by stage, those of the collection first. Raises `SynthError`; nothing is collected."""
    roles, stages = resolve_later(flow)
    ledger = Ledger(run_url)
    whole = curated(flow, ledger)
    refuse_their_flow_file(ledger)
    for line in (*loud_settings(whole), *left_alone(flow)):
        progress.say(line)
    begun_here = [begun for begun in ledger.state.stages.values() if not begun.stage.startswith(MEASURES)]
    collected = [begun for begun in begun_here if kind_of_stage(begun.stage) not in OWN_STAGES]
    for stage in unfinished(ledger):
        if kind_of_stage(stage) not in OWN_STAGES:
            progress.say(not_finished([stage], "curated"))
    return await run_on(ledger, whole, roles, stages, progress, wrap, collected=collected)


def curated(flow: Flow, ledger: Ledger) -> Flow:
    """The flow that describes what the ledger will hold: the collection that is there, then the stages after collection of `flow`.

    Raises `ConfigError` where one of both is missing.
    """
    later = _later(flow)
    if not later:
        raise ConfigError(f"flow {flow.name}: has no stages after collection; add `filter:` or `export:` to its stages")
    if not any("trajectories" in shard.files for part in ledger.state.visible() for shard in part):
        raise ConfigError(f"{ledger.storage.url}: {_nothing(ledger)}")
    if ledger.state.flow is None:
        return flow.model_copy(update={"env": None, "models": {}, "stages": later})
    try:
        collecting = Flow.model_validate(ledger.state.flow)
    except ValidationError as error:
        raise ConfigError(f"{ledger.storage.url}: its flow was written by another version of synth: {error.errors()[0]['msg']}") from error
    collection = tuple(choice for choice in collecting.stages if choice.name not in OWN_STAGES)
    return collecting.model_copy(update={"name": flow.name, "stages": (*collection, *later)})


def _nothing(ledger: Ledger) -> str:
    """Why there is nothing to curate; what other flows have collected is not lost."""
    others = sum(len(shard.slots) for shard in ledger.state.shards)
    if not others:
        return "holds no trajectories to curate"
    return (
        f"its current flow has collected no trajectories yet; the {others:,} in trajectories_all were collected for another flow or for a "
        "calibration: `synth run` with that flow makes them current again"
    )


def left_alone(flow: Flow) -> Sequence[str]:
    """A line where the flow would collect: its own collection is not run."""
    names = [choice.name for choice in flow.stages if choice.name not in OWN_STAGES]
    return [f"{', '.join(names)}: not run; the trajectories are those of the ledger"] if names else []


def _later(flow: Flow) -> tuple[Any, ...]:
    return tuple(choice for choice in flow.stages if choice.name in OWN_STAGES)
