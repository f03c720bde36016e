"""The filter `rank_surprisal`: measures under a student, and on request drops what is clearly above
the lowest ratio of its task.

Within a task the spread of the ratio is small against its noise, so a choice is made only among
candidates of two policies, or of many, and only where the difference is larger than the noise; the
rest is a tie, `rsr_tie`, which the next criterion decides (rigor.md 10.1).
"""

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from statistics import pstdev

import msgspec
from msgspec import to_builtins

from synth.filters.rank_surprisal.measure import MEASURED, RSR, RankSurprisalConfig, measure
from synth.filters.rank_surprisal.ratio import Sums
from synth.schemas import (
    Case,
    Faulted,
    Filter,
    Outcome,
    Ranked,
    SynthError,
    Trajectory,
    Verdict,
    given,
)

TIE = "rsr_tie"
RESAMPLES = 400
"""Of the turns of both trials, for the standard error of their difference."""
LEAST_TURNS = 4
"""Scored turns below which resampling them shows no noise."""


class RankedTrial(msgspec.Struct, frozen=True):
    """A scored trajectory of a task: who played it, its sums by turn, and under which weights and
    template they were taken.
    """

    identity: str
    policy: tuple[str, str | None]
    success: bool
    turns: tuple[Sums, ...]
    under: tuple[str | None, str | None]

    @property
    def ratio(self) -> float:
        """Of all its turns."""
        return _ratio(self.turns)


def _ratio(turns: Sequence[Sums]) -> float:
    """Of turns that were scored: each has at least one token."""
    ratio = sum(turns, Sums()).ratio
    assert ratio is not None
    return ratio


async def within_task(cases: Sequence[Case], config: RankSurprisalConfig) -> Mapping[str, Verdict]:
    """Verdicts on a task's trials; undefined (`scored`, or why it was not) where nothing is
    selected.

    Raises `SynthError` where the student's server failed in a way that may pass: what was scored is
    kept.
    """
    verdicts: dict[str, Verdict] = {}
    scored: list[RankedTrial] = []

    for case in cases:
        identity = case.trajectory.trajectory_id
        found = next(one for one in case.measures if one.metric == RSR)
        about: Ranked = found.about

        if about.fault is not None and not about.final:
            raise SynthError(
                f"rank_surprisal: the student could not score {identity}: {about.message}; what "
                "was scored is kept: mend the server, and the same command goes on"
            )
        if found.value is None:
            lost = to_builtins(Faulted(fault=about.fault, message=about.message))
            verdicts[identity] = Verdict(None, about.why or "fault", detail=lost)
            continue

        scored.append(_trial(case.trajectory, about))

    if config.select:
        return verdicts | selected(scored, config)

    return verdicts | {one.identity: Verdict(None, "scored", one.ratio) for one in scored}


def _trial(trajectory: Trajectory, about: Ranked) -> RankedTrial:
    """A trajectory with what a student made of it."""
    return RankedTrial(
        trajectory.trajectory_id,
        policy=(trajectory.policy, trajectory.model),
        success=trajectory.outcome is Outcome.SUCCESS,
        turns=tuple(Sums(*turn) for turn in about.turns),
        under=(given(about.weights_id), about.template_hash),
    )


def selected(scored: Sequence[RankedTrial], config: RankSurprisalConfig) -> dict[str, Verdict]:
    """Of each: kept where all others lie above it by more than the noise, dropped where it lies so
    above the lowest, else a tie.

    `lowest_of_all` in the detail names whom the plain minimum over all scored trials would have
    taken.
    """
    order = sorted(scored, key=lambda one: (one.ratio, one.identity))
    solved = [one for one in order if one.success]
    candidates = solved if config.solved_first and solved else order
    verdicts = {one.identity: Verdict(None, "not_a_candidate", one.ratio) for one in order}
    why = _no_choice(candidates, config)

    if why is not None:
        told = {"why": why, "lowest_of_all": order[0].identity if order else None}
        return verdicts | {one.identity: Verdict(None, TIE, one.ratio, told) for one in candidates}

    return verdicts | dict(_compared(candidates, order[0].identity, config.errors))


def _compared(
    candidates: Sequence[RankedTrial], lowest_of_all: str, errors: float
) -> Iterator[tuple[str, Verdict]]:
    """All candidates, the lowest first, beside that one: who lies above it by more than the noise
    goes.
    """
    best, *others = candidates
    gaps = {one.identity: (one.ratio - best.ratio, _error(best, one)) for one in others}
    above = {identity for identity, (gap, error) in gaps.items() if gap > errors * error}

    for one in candidates:
        gap, error = gaps.get(one.identity, (0.0, 0.0))
        lowest = {"lowest": best.identity, "lowest_of_all": lowest_of_all}
        detail = {"gap": gap, "error": error, **lowest}
        verdict = Verdict(None, TIE, one.ratio, {"why": "within_noise", **detail})

        if one.identity in above:
            verdict = Verdict(False, "higher_rsr", one.ratio, detail)
        elif len(above) == len(others):
            verdict = Verdict(True, "lowest_rsr", one.ratio, detail)

        yield one.identity, verdict


def _no_choice(candidates: Sequence[RankedTrial], config: RankSurprisalConfig) -> str | None:
    """Why there is nothing to choose, or None.

    Many trials of one policy differ by chance: fewer than `least_candidates` of them must stand
    beside one of another policy or model.
    """
    if len(candidates) < 2:
        return "one_candidate"
    if len({one.under for one in candidates}) > 1:
        return "different_weights_or_templates"
    if len({one.policy for one in candidates}) < 2 and len(candidates) < config.least_candidates:
        return "few_of_one_policy"

    return "few_turns" if any(len(one.turns) < LEAST_TURNS for one in candidates) else None


def _error(low: RankedTrial, high: RankedTrial) -> float:
    """The standard error of the difference of two ratios, by drawing the turns of both again with
    replacement; the same whenever the two are compared.
    """
    rng = Random(f"{low.identity} {high.identity}")

    def redrawn(trial: RankedTrial) -> float:
        return _ratio(rng.choices(trial.turns, k=len(trial.turns)))

    return pstdev([redrawn(high) - redrawn(low) for _ in range(RESAMPLES)])


FILTER = Filter(
    RankSurprisalConfig,
    within_task,
    scope="task",
    measure=measure,
    measured=MEASURED,
    about=Ranked,
    roles=lambda config: (config.role,),
)
