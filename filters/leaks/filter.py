"""The filter `leaks`: what a guided trajectory quotes, mentions or acts on of guidance that its
transcript lacks is dropped; what says it in other words is for a judge.
"""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from synth.engine.asking import TOO_LONG, SourceMeans
from synth.filters.judge import NoDrawsError, draws
from synth.filters.leaks.asking import about_turn, read
from synth.filters.leaks.calibration import Calibration, calibration
from synth.filters.leaks.evidence import (
    METRIC,
    WEIGHT,
    JudgedLeak,
    about,
    suspected,
    unweighed,
)
from synth.filters.leaks.student import Hearing, weight_of
from synth.schemas import JUDGED, UNVERIFIED, Case, Filter, FilterSettings, Measure, Verdict
from synth.text.leaks import Leak, leaks

MOST = 4
"""Suspected turns of one trajectory that are asked about; where more are, it is not cleared."""


class LeaksConfig(FilterSettings):
    """`role`: the model, where the flow has it, that says of suspected turns whether they leak, in
    `samples` draws each. It decides only where it finds `min_caught` of the leaks that were planted
    before it, and sees some in at most `most_false` of harmless turns. It is asked about those
    where something of a retry is suspected, or `always`, so that one knows how far it goes.

    `scorer`: the model, where the flow has it, whose probabilities say which turns the guidance
    made likely (null: none). It is heard only where by itself it finds `scorer_finds` of the
    planted secrets at a bound that `scorer_false` of the planted harmless turns exceed: of at most
    `scorer_planted` secrets, and as many harmless turns, of each of ten situations.
    """

    role: str = "judge"
    samples: int = Field(default=3, ge=1, le=25)
    temperature: float = Field(default=0.5, ge=0, le=2)
    min_caught: float = Field(default=0.8, ge=0, le=1)
    most_false: float = Field(default=0.1, ge=0, le=1)
    calibrate: Literal["suspected", "always"] = "suspected"
    scorer: str | None = "student"
    scorer_finds: float = Field(default=0.25, ge=0, le=1)
    scorer_false: float = Field(default=0.06, ge=0, lt=1)
    scorer_planted: int = Field(default=10, ge=1, le=10)


async def measure(case: Case, config: LeaksConfig, means: SourceMeans) -> Sequence[Measure]:
    """What a student makes of a retry's turns, and whether a judge sees a leak in what is
    suspected.
    """
    if case.trajectory.guidance is None or leaks(case.trajectory):
        return [Measure(METRIC, None, about=JudgedLeak(reason="no_need"))]

    found = suspected(case)
    certain = [leak for leak in found if not leak.weak]
    if certain and (held := await _held(config, means)):
        return held  # whatever a student makes of it
    if config.scorer is None:
        return await _asked(case, found, config, means)

    how = Hearing(config.scorer_finds, config.scorer_false, config.scorer_planted)
    weak = {leak.turn for leak in found if leak.weak}
    weight = await weight_of(case.trajectory, weak, config.scorer, how, means)
    weighed = weight.about
    if isinstance(weighed, JudgedLeak) and weighed.fault is not None:
        # what there is to ask about is not known yet
        return [weight, Measure(METRIC, None, about=JudgedLeak(reason="scorer_fault"))]

    return [weight, *await _asked(case, suspected(case, weighed), config, means)]


async def _held(config: LeaksConfig, means: SourceMeans) -> Sequence[Measure]:
    """Why no judge could clear what is suspected; nothing where one may."""
    if not means.has(config.role):
        return [Measure(METRIC, None, about=JudgedLeak(reason="no_judge"))]

    try:
        known = await _calibrated(config, means)
    except NoDrawsError as lost:
        return lost.measures(METRIC)

    if known.holds(config.min_caught, config.most_false):
        return ()
    return [Measure(METRIC, None, about=JudgedLeak(calibration=known))]


async def _calibrated(config: LeaksConfig, means: SourceMeans) -> Calibration:
    """What the judge makes of what was planted. Raises `NoDrawsError`."""
    return await calibration(
        means, config.role, config.temperature, config.min_caught, config.most_false
    )


async def _asked(
    case: Case, found: Sequence[Leak], config: LeaksConfig, means: SourceMeans
) -> Sequence[Measure]:
    """What a judge says of suspicions, where it may be believed."""
    if not found:
        return await _unsuspected(config, means)
    if held := await _held(config, means):
        return held

    known = await _calibrated(config, means)
    try:
        leaking = await _leaking(case, found[:MOST], config, means)
    except NoDrawsError as lost:
        return lost.measures(METRIC)

    if leaking is not None:
        about_it = JudgedLeak(turn=leaking.turn, calibration=known)
        return [Measure(METRIC, 1.0, leaking.turn, about_it)]
    if len(found) > MOST:
        return [Measure(METRIC, None, about=JudgedLeak(reason="many_turns", calibration=known))]

    return [Measure(METRIC, 0.0, about=JudgedLeak(calibration=known))]


async def _unsuspected(config: LeaksConfig, means: SourceMeans) -> Sequence[Measure]:
    """That there is nothing to ask about, and how far the judge would be believed if it is wanted
    to know.
    """
    known = None
    if config.calibrate == "always" and means.has(config.role):
        try:
            known = await _calibrated(config, means)
        except NoDrawsError as lost:
            return lost.measures(METRIC)

    return [Measure(METRIC, None, about=JudgedLeak(reason="no_need", calibration=known))]


async def _leaking(
    case: Case, found: Sequence[Leak], config: LeaksConfig, means: SourceMeans
) -> Leak | None:
    """The first of some suspected turns that a judge calls a leak. Raises `NoDrawsError`."""
    for leak in found:
        questions = [
            about_turn(case.trajectory, leak, draw, config.temperature)
            for draw in range(config.samples)
        ]
        said, _ = await draws(means, config.role, questions, read, JudgedLeak(reason=TOO_LONG))
        # half of the draws are enough: what is held back wrongly costs one row
        if 2 * sum(said) >= config.samples:
            return leak

    return None


async def no_leaks(case: Case, config: LeaksConfig) -> Verdict:
    """Keep where nothing is found in the turns after the pivot, and a judge clears what is
    suspected; undefined (`unverified`) where none does, and for trajectories that nobody guided.
    """
    if case.trajectory.guidance is None:
        return Verdict(None, "not_guided")

    found = leaks(case.trajectory)
    if found:
        return Verdict(False, found[0].kind, float(len(found)), _shown(found[0]))

    _, weighed = about(case, WEIGHT)
    open_questions = suspected(case, weighed)
    missing = unweighed(weighed)

    if not open_questions and missing is None:
        return Verdict(True, "clean", detail=_by_student(weighed, config))

    verdict = _judged(case, open_questions, config)
    if missing is not None and verdict.keep is not False:
        return Verdict(None, UNVERIFIED, None, {"why": missing})

    return verdict


def _judged(case: Case, open_questions: Sequence[Leak], config: LeaksConfig) -> Verdict:
    """What a judge has made of suspicions; keep where there are none."""
    if not open_questions:
        return Verdict(True, "clean")

    first, (value, said) = open_questions[0], about(case, METRIC)
    said = said or JudgedLeak(reason="no_judge")
    shown = {"kind": first.kind, **_shown(first)}
    known = said.calibration
    trusted = known is not None and known.holds(config.min_caught, config.most_false)
    if value is None or not trusted:
        why = said.reason or ("judge_fault" if said.fault else "judge_not_calibrated")
        return Verdict(None, UNVERIFIED, None, {"why": why, **shown})

    if value:
        return Verdict(False, "judged_leak", 1.0, shown)
    return Verdict(True, "cleared", detail={JUDGED: str(known)})


def _by_student(weighed: JudgedLeak | None, config: LeaksConfig) -> dict[str, Any]:
    """How far the student that weighed a clean retry may be believed, or that it was not heard."""
    if weighed is None:
        return {}
    if weighed.planted is None:
        return {"scorer": weighed.reason}
    if weighed.heard is None:
        most = max((value for _, value in weighed.weights), default=None)
        return {} if most is None else {"scorer": weighed.planted.lighter(most)}

    told = weighed.planted.told(config.scorer_false)
    return {"scorer": told if weighed.heard else f"not heard: {told}"}


def _shown(leak: Leak) -> dict[str, Any]:
    return {"turn": leak.turn, "what": leak.what[:200]}


def _models(config: LeaksConfig) -> Sequence[str]:
    return tuple(role for role in (config.role, config.scorer) if role is not None)


FILTER = Filter(
    LeaksConfig,
    no_leaks,
    measure=measure,
    about=JudgedLeak,
    measured=tuple(LeaksConfig.model_fields),
    version=7,
    optional_roles=_models,
)
