"""The filter `efficiency`: repeated actions, steps beyond the shortest success, prompts from the
cache (after PANDO, arXiv 2605.24785; our definitions).
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from pydantic import Field

from synth.engine.asking import SourceMeans
from synth.schemas import Case, Filter, FilterSettings, Measure, Outcome, Trajectory, Verdict
from synth.topology.keys import trajectory_keys
from synth.topology.trajectory_measures import agent_turns, process_kept

REPETITION, OVERHEAD, CACHE = "action_repetition_rate", "step_overhead", "prompt_cache_use"
"""Metrics; the overhead is known only beside the task's other trials, and stands in the verdict."""


class EfficiencyConfig(FilterSettings):
    """Drops successes above `max_repetition`, or with more than `max_overhead` times the steps of
    their task's shortest success.

    The shortest is one that broke no process constraint. Neither is set unless the flow does.
    """

    max_repetition: float | None = Field(default=None, ge=0, le=1)
    max_overhead: float | None = Field(default=None, ge=1)


def action_repetition_rate(trajectory: Trajectory) -> float | None:
    """Share of the agent's turns that do what the turn before did, in the state that it was in;
    None without turns.

    Two turns in a row that ask the same of an unchanged state learn nothing new. The state is the
    environment's own key, else what was answered last.
    """
    keys = trajectory_keys(trajectory, history=0)
    states = [trajectory.opening_state_key, *(key.state for key in keys)]
    steps = [(state, key.action) for state, key in zip(states, keys, strict=False)]
    return sum(one == other for one, other in pairwise(steps)) / len(steps) if steps else None


def prompt_cache_use(trajectory: Trajectory) -> float | None:
    """Cached over all prompt tokens; None where a server gave no counts."""
    totals = trajectory.totals
    return totals.cached_tokens / totals.prompt_tokens if totals.prompt_tokens else None


async def measure(case: Case, config: EfficiencyConfig, means: SourceMeans) -> Sequence[Measure]:
    """Of successes: repetition and steps; of all: cache use."""
    trajectory = case.trajectory

    # what a failure repeats says nothing of how to succeed
    found = [Measure(CACHE, prompt_cache_use(trajectory))]

    if trajectory.outcome is Outcome.SUCCESS:
        steps = {"steps": agent_turns(trajectory)}
        found.append(Measure(REPETITION, action_repetition_rate(trajectory), about=steps))

    return found


async def efficiency(cases: Sequence[Case], config: EfficiencyConfig) -> Mapping[str, Verdict]:
    """The score is the overhead: steps over those of the task's shortest success. Undefined for
    what is no success.
    """
    # the yardstick is a success that broke no constraint: a shortcut is none
    solved = [case for case in cases if case.trajectory.outcome is Outcome.SUCCESS]
    kept = (agent_turns(case.trajectory) for case in solved if process_kept(case.trajectory))
    shortest = min(filter(None, kept), default=None)
    verdicts = {case.trajectory.trajectory_id: Verdict(None, "no_success") for case in cases}

    for case in solved:
        steps = agent_turns(case.trajectory)
        if steps and shortest is not None:
            verdicts[case.trajectory.trajectory_id] = _verdict(case, steps / shortest, config)

    return verdicts


def _verdict(case: Case, overhead: float, config: EfficiencyConfig) -> Verdict:
    """Of a success; both limits are off unless the flow sets them."""
    measured = {one.metric: one.value for one in case.measures}
    repetition = measured.get(REPETITION)
    detail = {REPETITION: repetition, OVERHEAD: overhead, CACHE: measured.get(CACHE)}
    most, longest = config.max_repetition, config.max_overhead

    if most is not None and repetition is not None and repetition > most:
        return Verdict(False, "repetitive", overhead, detail)
    if longest is not None and overhead > longest:
        return Verdict(False, "long_way_round", overhead, detail)

    return Verdict(True, "success", overhead, detail)


FILTER = Filter(EfficiencyConfig, efficiency, scope="task", measure=measure)
