"""The filter `leaks`: what a guided trajectory quotes, mentions or acts on of guidance that its
transcript lacks is dropped; what says it in other words is for a judge.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import to_builtins
from pydantic import Field

from synth.engine.asking import TOO_LONG, SourceMeans
from synth.filters.judge import NoDrawsError, draws
from synth.filters.leaks.asking import about_turn, read
from synth.filters.leaks.calibration import Calibration, calibration
from synth.schemas import JUDGED, Case, Faulted, Filter, FilterSettings, Measure, Task, Verdict
from synth.schemas.canonical import canonical_json
from synth.text.leaks import UNVERIFIED, Leak, leaks, suspicions

METRIC = "leaks.judged"
"""1: a judge sees a leak in what is suspected; 0: it sees none; None: there is no judge, no need, or
no answer.
"""
MOST = 4
"""Suspected turns of one trajectory that are asked about; where more are, it is not cleared."""


class LeaksConfig(FilterSettings):
    """`role`: the model, where the flow has it, that says of suspected turns whether they leak, in
    `samples` draws each. It decides only where it finds `min_caught` of the leaks that were planted
    before it, and sees some in at most `most_false` of harmless turns.
    """

    role: str = "judge"
    samples: int = Field(default=3, ge=1, le=25)
    temperature: float = Field(default=0.5, ge=0, le=2)
    min_caught: float = Field(default=0.8, ge=0, le=1)
    most_false: float = Field(default=0.1, ge=0, le=1)


class JudgedLeak(Faulted, frozen=True, omit_defaults=True, kw_only=True):
    """What a judge says of the suspected turns, and how far it may be believed; or the reason why
    nobody has said anything.
    """

    reason: str | None = None
    turn: int | None = None
    calibration: Calibration | None = None


def suspected(case: Case) -> tuple[Leak, ...]:
    """What a judge would have to look at: the world's check counts as told by nobody, too."""
    return suspicions(case.trajectory, hidden=_hidden(case.task))


def _hidden(task: Task | None) -> str:
    """What of a task an agent is never shown."""
    if task is None:
        return ""

    told: list[Any] = [to_builtins(task.check), to_builtins(task.gold), task.script]
    return canonical_json(told).decode()


async def measure(case: Case, config: LeaksConfig, means: SourceMeans) -> Sequence[Measure]:
    """Whether a judge sees a leak in what is suspected."""
    guided = case.trajectory.guidance is not None
    found = suspected(case) if guided and not leaks(case.trajectory) else ()

    if not found or not means.has(config.role):
        return [Measure(METRIC, None, about=JudgedLeak(reason="no_judge" if found else "no_need"))]

    try:
        known = await calibration(means, config.role, config.temperature)
        leaking = await _leaking(case, found[:MOST], config, means)
    except NoDrawsError as lost:
        return lost.measures(METRIC)

    if leaking is not None:
        about = JudgedLeak(turn=leaking.turn, calibration=known)
        return [Measure(METRIC, 1.0, leaking.turn, about)]
    if len(found) > MOST:
        return [Measure(METRIC, None, about=JudgedLeak(reason="many_turns", calibration=known))]

    return [Measure(METRIC, 0.0, about=JudgedLeak(calibration=known))]


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

    open_questions = suspected(case)
    if not open_questions:
        return Verdict(True, "clean")

    first, (value, about) = open_questions[0], _judged(case)
    shown = {"kind": first.kind, **_shown(first)}
    trusted = about.calibration is not None and about.calibration.holds(
        config.min_caught, config.most_false
    )
    if value is None or not trusted:
        why = about.reason or ("judge_fault" if about.fault else "judge_not_calibrated")
        return Verdict(None, UNVERIFIED, None, {"why": why, **shown})

    if value:
        return Verdict(False, "judged_leak", 1.0, shown)
    return Verdict(True, "cleared", detail={JUDGED: str(about.calibration)})


def _judged(case: Case) -> tuple[float | None, JudgedLeak]:
    """What was measured; nothing where nobody was asked."""
    found = next((one for one in case.measures if one.metric == METRIC), None)
    if found is None or found.about is None:
        return None, JudgedLeak(reason="no_judge")

    return found.value, found.about


def _shown(leak: Leak) -> dict[str, Any]:
    return {"turn": leak.turn, "what": leak.what[:200]}


FILTER = Filter(
    LeaksConfig,
    no_leaks,
    measure=measure,
    about=JudgedLeak,
    measured=("role", "samples", "temperature"),
    version=4,
    optional_roles=lambda config: (config.role,),
)
