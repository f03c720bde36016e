"""The filter `attribution`: every failed run with the agent, the turn and the mode of what decided
it. It annotates, it drops nothing.
"""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType
from pydantic import Field

from synth.engine.asking import TOO_LONG, Answer, SourceMeans, told
from synth.filters.attribution.asking import about_all, about_step, read_all, read_step
from synth.filters.attribution.suspects import Attribution, by_rules, own_turns
from synth.schemas.filter import Case, Filter, FilterSettings, Measure
from synth.schemas.measures import Faulted
from synth.schemas.outcome import Outcome
from synth.schemas.verdict import Verdict
from synth.text.failure_modes import LEGEND_VERSION

METRIC = "attribution"
JUDGED = {"all_at_once": "judge_all_at_once", "step_by_step": "judge_step_by_step"}


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
    """Who is suspected of what, by which way of asking; or the reason why nobody is."""

    reason: str | None = None
    agent: str | None = None
    mode: str | None = None
    legend_version: str | int | None = None
    by: str | None = None
    rule: str | UnsetType | None = UNSET
    why: str | None = None


class _Lost(msgspec.Struct, frozen=True):
    """Why there is no attribution; `about` None: a ceiling kept a question from being asked."""

    about: Suspicion | None


async def measure(case: Case, config: AttributionConfig, means: SourceMeans) -> Sequence[Measure]:
    """One row `attribution` per run: the turn, 1 by rules or the share of the judge's draws that
    agree; undefined for what did not fail.
    """
    wanted = {Outcome.FAILURE, Outcome.TRUNCATED} if config.truncated else {Outcome.FAILURE}
    if case.trajectory.outcome not in wanted or not own_turns(case.trajectory):
        return [Measure(METRIC, None, about=Suspicion(reason=_why_not(case)))]
    found: Attribution | _Lost | None
    if config.by == "rules":
        found = by_rules(case.trajectory)
    else:
        found = await (_at_once if config.by == "all_at_once" else _by_steps)(case, config, means)
    if isinstance(found, _Lost):
        return [] if found.about is None else [Measure(METRIC, None, about=found.about)]
    if found is None:
        return [Measure(METRIC, None, about=Suspicion(reason="no_step_named"))]
    about = Suspicion(
        agent=found.agent,
        mode=found.mode,
        legend_version=LEGEND_VERSION,
        by="rules" if config.by == "rules" else JUDGED[config.by],
        rule=found.rule,
        why=found.why,
    )
    return [Measure(METRIC, found.agreement, found.turn, about)]


def _why_not(case: Case) -> str:
    return (
        "no_own_turn"
        if case.trajectory.outcome is Outcome.FAILURE
        else case.trajectory.outcome.value
    )


async def _at_once(
    case: Case, config: AttributionConfig, means: SourceMeans
) -> Attribution | _Lost:
    """The turn that most draws name, the earliest of equals; the share is of all draws."""
    said = await _draws(
        [
            partial(
                means.ask,
                config.role,
                about_all(case, draw, config.temperature),
                partial(read_all, case.trajectory),
            )
            for draw in range(config.samples)
        ],
        config.samples,
    )
    if isinstance(said, _Lost):
        return said
    votes = Counter(one.turn for one in said)
    turn = min(votes, key=lambda at: (-votes[at], at))
    first: Attribution = next(one for one in said if one.turn == turn)
    return msgspec.structs.replace(first, agreement=votes[turn] / config.samples)


async def _by_steps(
    case: Case, config: AttributionConfig, means: SourceMeans
) -> Attribution | _Lost | None:
    """The first turn that more than half of its draws call decisive; None where they call none
    so.
    """
    for turn in own_turns(case.trajectory):
        reader = partial(read_step, case.trajectory, turn.index)
        said = await _draws(
            [
                partial(
                    means.ask,
                    config.role,
                    about_step(case, turn.index, draw, config.temperature),
                    reader,
                )
                for draw in range(config.samples)
            ],
            config.samples,
        )
        if isinstance(said, _Lost):
            return said
        decisive = [one for one in said if isinstance(one, Attribution)]
        if 2 * len(decisive) > config.samples:
            return msgspec.structs.replace(decisive[0], agreement=len(decisive) / config.samples)
    return None


async def _draws(asks: Sequence[Any], samples: int) -> list[Any] | _Lost:
    """What the draws say; lost where a server failed, a ceiling stopped it, or too few of them
    could be read (a fault of the judge).
    """
    said, unread = [], []
    for ask in asks:
        answer: Answer[Any] = await ask()
        if answer.value is not None:
            said.append(answer.value)
        elif answer.fault is not None:
            return _Lost(
                Suspicion(reason=TOO_LONG)
                if answer.fault.context_overflow
                else told(answer.fault, Suspicion)
            )
        elif answer.unreadable is None:
            return _Lost(None)
        else:
            unread.append(answer.unreadable[:300])
    if len(said) < min(2, samples):
        message = f"{len(unread)} of {samples} answers could not be read: {unread[0]}"
        return _Lost(Suspicion(fault="judge", message=message))
    return said


async def judge(case: Case, config: AttributionConfig) -> Verdict:
    """Always undefined: an attribution is a suspicion, and no reason to keep or to drop."""
    found = next((one for one in case.measures if one.metric == METRIC), None)
    if found is None or found.about.fault is not None:
        told_of = {} if found is None else msgspec.to_builtins(found.about)
        return Verdict(None, "judge_fault", detail=told_of)
    about: Suspicion = found.about
    return Verdict(None, str(about.reason if found.value is None else about.mode), found.value)


FILTER = Filter(
    AttributionConfig,
    judge,
    measure=measure,
    about=Suspicion,
    measured=("by", "role", "samples", "temperature", "truncated"),
    roles=lambda config: () if config.by == "rules" else (config.role,),
)
