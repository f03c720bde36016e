"""The filter `signals`: annotates; drops only what the flow names."""

from collections.abc import Mapping, Sequence

import msgspec
from pydantic import Field, field_validator

from synth.engine.asking import SourceMeans
from synth.filters.signals.execution import execution
from synth.filters.signals.interaction import interaction
from synth.filters.signals.patterns import ANSWERS
from synth.filters.signals.quality import CATEGORIES, Quality, quality
from synth.filters.signals.rows import Signal, rows
from synth.schemas.filter import Case, Filter, FilterSettings, Measure
from synth.schemas.trajectory import Trajectory
from synth.schemas.verdict import Verdict

KINDS = (
    *("misalignment.correction", "misalignment.rephrase", "misalignment.clarification"),
    *("stagnation.dragging", "stagnation.repetition"),
    *("disengagement.escalation", "disengagement.quit", "disengagement.negative"),
    *("satisfaction.gratitude", "satisfaction.confirmation", "satisfaction.success"),
    *(f"failure.{kind}" for kind in ANSWERS["failure"]),
    *("loops.retry", "loops.parameter_drift", "loops.oscillation"),
    *(f"exhaustion.{kind}" for kind in ANSWERS["exhaustion"]),
)


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
        unknown = [name for name in drop if name not in KINDS and name not in CATEGORIES]
        if unknown:
            raise ValueError(f"no signal {unknown[0]!r}; known: {', '.join([*CATEGORIES, *KINDS])}")
        return drop


class SignalsFound(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the score stands on; `empty` without rows."""

    label: str
    counts: Mapping[str, int] | None = None
    severities: Mapping[str, int] | None = None
    signals: tuple[Signal, ...] | None = None


def found_in(trajectory: Trajectory, *, corrected: bool = False) -> tuple[list[Signal], Quality]:
    """All signals of a trajectory, by layer, and what they come to."""
    seen = rows(trajectory, corrected=corrected)
    signals = [*interaction(seen), *execution(seen, corrected=corrected)] if seen else []
    return signals, quality(seen, signals, corrected=corrected)


async def measure(case: Case, config: SignalsConfig, means: SourceMeans) -> Sequence[Measure]:
    """The score, with counts and signals; undefined where there are no rows."""
    if not case.trajectory.turns and not case.trajectory.opening:
        return [Measure("signals_quality", None, about=SignalsFound("empty"))]
    signals, found = found_in(case.trajectory, corrected=config.corrected)
    about = SignalsFound(found.label, found.counts, found.severities, tuple(signals))
    return [Measure("signals_quality", found.score, about=about)]


async def signals(case: Case, config: SignalsConfig) -> Verdict:
    """Keep with the score's label, unless `drop` or `min_score` say otherwise; undefined without
    rows.
    """
    (measured,) = case.measures
    found: SignalsFound = measured.about
    if found.label == "empty":
        return Verdict(None, "empty")
    told = {"counts": found.counts}
    for signal in found.signals or ():
        if signal.kind in config.drop or signal.category in config.drop:
            return Verdict(False, signal.kind, measured.value, told)
    if (
        config.min_score is not None
        and measured.value is not None
        and measured.value < config.min_score
    ):
        return Verdict(False, "below_min_score", measured.value, told)
    return Verdict(True, found.label, measured.value, told)


FILTER = Filter(
    SignalsConfig, signals, measure=measure, measured=("corrected",), version=1, about=SignalsFound
)
