"""The filter `waste`: turns that a trajectory could have done without, as a column; drops only
where the flow sets a share.

The kinds of waste are those of `synth.topology.waste`; here they need no other trials of the task.
"""

from collections.abc import Sequence

from pydantic import Field

from synth.engine.asking import SourceMeans
from synth.schemas import Case, Filter, FilterSettings, Measure, Outcome, Verdict
from synth.topology.keys import trajectory_keys
from synth.topology.trajectory_measures import agent_turns
from synth.topology.waste import waste_share, wasted


class WasteConfig(FilterSettings):
    """`max_share`: successes that wasted more of their turns are dropped; None: none is."""

    max_share: float | None = Field(default=None, ge=0, le=1)


async def measure(case: Case, config: WasteConfig, means: SourceMeans) -> Sequence[Measure]:
    """Distinct wasted turns over the agent's turns, with the turns by kind; undefined without
    turns.

    Of failures too: the verdict alone tells them apart.
    """
    turns = agent_turns(case.trajectory)
    if not turns:
        return [Measure("waste_share", None, about={"why": "empty"})]

    found = wasted(case.trajectory, trajectory_keys(case.trajectory))
    return [Measure("waste_share", waste_share(found, turns), about={"turns": found})]


async def waste(case: Case, config: WasteConfig) -> Verdict:
    """Keep, with the share as score; what a failure wasted says nothing of what it teaches, and is
    undefined.
    """
    (measured,) = case.measures
    detail = measured.about
    if measured.value is None:
        return Verdict(None, "empty")

    if case.trajectory.outcome is not Outcome.SUCCESS:
        return Verdict(None, "no_success", measured.value, detail)
    if config.max_share is not None and measured.value > config.max_share:
        return Verdict(False, "wasteful", measured.value, detail)

    return Verdict(True, "wasteful" if measured.value else "lean", measured.value, detail)


FILTER = Filter(WasteConfig, waste, measure=measure, version=1)
