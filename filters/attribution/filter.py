"""The filter `attribution`: every failed run with the agent, the turn and the mode of what decided
it. It annotates, it drops nothing.

Attributions are suspicions: no dataset takes one for a label (docs/attribution.md).
"""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType
from pydantic import Field

from synth.engine.asking import TOO_LONG, SourceMeans
from synth.filters.attribution.asking import about_all, about_step, read_all, read_step
from synth.filters.attribution.suspects import Attribution, by_rules, own_turns
from synth.filters.judge import NoDrawsError, draws
from synth.schemas import Case, Faulted, Filter, FilterSettings, Measure, Outcome, Verdict
from synth.text.failure_modes import LEGEND_VERSION

METRIC = "attribution"
"""The one metric of the filter: its value is how sure it is, its turn what it accuses."""


class AttributionConfig(FilterSettings):
    """`by`: rules from the transcript, or the model of `role`, asked `samples` times about the
    whole log or about one step after another.

    `truncated`: runs that a limit ended too.
    """

    by: Literal["rules", "all_at_once", "step_by_step"] = "rules"
    role: str = "judge"
    samples: int = Field(default=3, ge=1, le=25)
    temperature: float = Field(default=0.5, ge=0, le=2)
    truncated: bool = False


class Suspicion(Faulted, frozen=True, omit_defaults=True, kw_only=True):
    """Who is suspected of what, by which way of asking; or the reason why nobody is.

    `rule`: of `rules.yaml`, None where a judge says so; `why`: in words.
    """

    reason: str | None = None
    agent: str | None = None
    mode: str | None = None
    legend_version: str | int | None = None
    by: str | None = None
    rule: str | UnsetType | None = UNSET
    why: str | None = None


_TOO_LONG = Suspicion(reason=TOO_LONG)
"""A log that does not fit is a property of the log, and no fault of the judge."""


async def measure(case: Case, config: AttributionConfig, means: SourceMeans) -> Sequence[Measure]:
    """One row `attribution` per run: the turn, 1 by rules or the share of the judge's draws that
    agree; undefined for what did not fail.
    """
    outcome = case.trajectory.outcome

    # a run that a limit ended may have been on its way: only where the flow says so it failed
    failed = outcome is Outcome.FAILURE or (config.truncated and outcome is Outcome.TRUNCATED)
    if not failed or not own_turns(case.trajectory):
        reason = "no_own_turn" if outcome is Outcome.FAILURE else outcome.value
        return [Measure(METRIC, None, about=Suspicion(reason=reason))]

    try:
        if config.by == "rules":
            found = by_rules(case.trajectory)
        elif config.by == "all_at_once":
            found = await _at_once(case, config, means)
        else:
            found = await _by_steps(case, config, means)
    except NoDrawsError as lost:
        return lost.measures(METRIC)

    if found is None:
        return [Measure(METRIC, None, about=Suspicion(reason="no_step_named"))]

    about = Suspicion(
        agent=found.agent,
        mode=found.mode,
        legend_version=LEGEND_VERSION,
        by="rules" if config.by == "rules" else f"judge_{config.by}",
        rule=found.rule,
        why=found.why,
    )
    return [Measure(METRIC, found.agreement, found.turn, about)]


async def _at_once(case: Case, config: AttributionConfig, means: SourceMeans) -> Attribution:
    """The turn that most draws name, the earliest of equals; the share is of all draws, those that
    could not be read among them.
    """
    questions = [about_all(case, draw, config.temperature) for draw in range(config.samples)]
    read = partial(read_all, case.trajectory)
    said, _ = await draws(means, config.role, questions, read, _TOO_LONG)

    # of equals the earliest: what decided a failure is its first mistake
    votes = Counter(one.turn for one in said)
    turn = min(votes, key=lambda at: (-votes[at], at))
    first = next(one for one in said if one.turn == turn)

    return msgspec.structs.replace(first, agreement=votes[turn] / config.samples)


async def _by_steps(
    case: Case, config: AttributionConfig, means: SourceMeans
) -> Attribution | None:
    """The first turn that more than half of its draws call decisive; None where they call none
    so.

    Turns behind that one are not asked about.
    """
    for turn in (turn.index for turn in own_turns(case.trajectory)):
        questions = [
            about_step(case, turn, draw, config.temperature) for draw in range(config.samples)
        ]
        read = partial(read_step, case.trajectory, turn)
        said, _ = await draws(means, config.role, questions, read, _TOO_LONG)

        # a share of all draws, those that could not be read among them
        decisive = [one for one in said if isinstance(one, Attribution)]

        if 2 * len(decisive) > config.samples:
            return msgspec.structs.replace(decisive[0], agreement=len(decisive) / config.samples)

    return None


async def judge(case: Case, config: AttributionConfig) -> Verdict:
    """Always undefined: an attribution is a suspicion, and no reason to keep or to drop.

    The reason of the verdict is the mode, so that the funnel counts modes.
    """
    found = next(iter(case.measures), None)
    if found is None or found.about.fault is not None:
        return Verdict(None, "judge_fault", detail=msgspec.to_builtins(found and found.about) or {})

    about: Suspicion = found.about
    return Verdict(None, str(about.reason if found.value is None else about.mode), found.value)


FILTER = Filter(
    AttributionConfig,
    judge,
    measure=measure,
    about=Suspicion,
    measured=("by", "role", "samples", "temperature", "truncated"),
    version=2,
    roles=lambda config: () if config.by == "rules" else (config.role,),
)
