"""The filter `signals`: annotates; drops only what the flow names.

Signals are cheap signs in the transcript alone, for large corpora that nobody reads: a score for
each trajectory, and the rows that it stands on.
"""

from collections.abc import Sequence

from pydantic import Field, field_validator

from synth.engine.asking import SourceMeans
from synth.filters.signals.execution import execution
from synth.filters.signals.interaction import interaction
from synth.filters.signals.patterns import KINDS
from synth.filters.signals.quality import SignalsFound, quality
from synth.filters.signals.rows import rows
from synth.schemas import Case, Filter, FilterSettings, Measure, Trajectory, Verdict

NAMES = (*KINDS, *(f"{category}.{kind}" for category, kinds in KINDS.items() for kind in kinds))
"""What a flow may drop by: categories, and kinds of them."""


class SignalsConfig(FilterSettings):
    """`drop`: categories or kinds whose first sight drops a trajectory; `min_score`: lower ones are
    dropped. Neither: all stay.

    `corrected`: rules as published (false), or without their known false alarms.
    """

    corrected: bool = False
    drop: tuple[str, ...] = ()
    min_score: float | None = Field(default=None, ge=0, le=100)

    @field_validator("drop")
    @classmethod
    def _known(cls, drop: tuple[str, ...]) -> tuple[str, ...]:
        for name in drop:
            if name not in NAMES:
                raise ValueError(f"no signal {name!r}; known: {', '.join(NAMES)}")
        return drop


def found_in(
    trajectory: Trajectory, *, corrected: bool = False
) -> tuple[float | None, SignalsFound]:
    """The score of a trajectory, and all signals that it stands on: those of people's words first,
    then those of calls and answers.
    """
    seen = rows(trajectory, corrected=corrected)
    signals = [*interaction(seen), *execution(seen, corrected=corrected)] if seen else []
    return quality(seen, signals, corrected=corrected)


async def measure(case: Case, config: SignalsConfig, means: SourceMeans) -> Sequence[Measure]:
    """The score, with counts and signals; undefined where there are no rows. It asks nobody, and is
    taken once for `corrected` and once for the rules as published.
    """
    score, about = None, SignalsFound("empty")
    if case.trajectory.turns or case.trajectory.opening:
        score, about = found_in(case.trajectory, corrected=config.corrected)
    return [Measure("signals_quality", score, about=about)]


async def signals(case: Case, config: SignalsConfig) -> Verdict:
    """Keep with the score's label, unless `drop` or `min_score` say otherwise; undefined without
    rows. The first signal that the flow drops by is the reason.
    """
    (measured,) = case.measures
    found: SignalsFound = measured.about
    if found.label == "empty":
        return Verdict(None, "empty")

    score, told = measured.value, {"counts": found.counts}
    for signal in found.signals or ():
        if signal.kind in config.drop or signal.category in config.drop:
            return Verdict(False, signal.kind, score, told)

    if config.min_score is not None and score is not None and score < config.min_score:
        return Verdict(False, "below_min_score", score, told)

    return Verdict(True, found.label, score, told)


FILTER = Filter(
    SignalsConfig, signals, measure=measure, measured=("corrected",), about=SignalsFound
)
