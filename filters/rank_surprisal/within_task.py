"""The filter `rank_surprisal`: measures under a student, and on request drops what is clearly above
the lowest ratio of its task.

Within a task the spread of the ratio is small against its noise, so a choice is made only among
candidates of two policies, or of many, and
only where the difference is larger than the noise; the rest is a tie, `rsr_tie`, which the next
criterion decides (rigor.md 10.1).
"""

from collections.abc import Mapping, Sequence
from random import Random
from statistics import pstdev

import msgspec
from msgspec import to_builtins

from synth.filters.rank_surprisal.measure import MEASURED, RSR, RankSurprisalConfig, measure
from synth.filters.rank_surprisal.ratio import Sums
from synth.schemas.errors import SynthError
from synth.schemas.filter import Case, Filter, Measure
from synth.schemas.measures import Faulted, Ranked
from synth.schemas.outcome import Outcome
from synth.schemas.verdict import Verdict

TIE = "rsr_tie"
RESAMPLES = 400
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
        ratio = sum(self.turns, Sums()).ratio
        assert ratio is not None
        return ratio


async def within_task(cases: Sequence[Case], config: RankSurprisalConfig) -> Mapping[str, Verdict]:
    """Verdicts on a task's trials; undefined (`scored`, or why it was not) where nothing is
    selected.

    Raises `SynthError` where the student's server failed in a way that may pass: what was scored is
    kept.
    """
    verdicts: dict[str, Verdict] = {}
    candidates: list[RankedTrial] = []
    for case in cases:
        found = next(one for one in case.measures if one.metric == RSR)
        about: Ranked = found.about
        if about.fault is not None and not about.final:
            raise SynthError(
                f"rank_surprisal: the student could not score {case.trajectory.trajectory_id}: "
                f"{about.message}; what was scored is "
                "kept: mend the server, and the same command goes on"
            )
        if found.value is None:
            verdicts[case.trajectory.trajectory_id] = Verdict(
                None,
                about.why or "fault",
                detail=to_builtins(Faulted(fault=about.fault, message=about.message)),
            )
        else:
            candidates.append(_candidate(case, found))
    if not config.select:
        return verdicts | {one.identity: Verdict(None, "scored", one.ratio) for one in candidates}
    return verdicts | selected(candidates, config)


def _candidate(case: Case, found: Measure) -> RankedTrial:
    about, trajectory = found.about, case.trajectory
    who = (trajectory.policy, trajectory.model)
    success = trajectory.outcome is Outcome.SUCCESS
    return RankedTrial(
        trajectory.trajectory_id,
        who,
        success,
        Sums.of(about.turns),
        (about.weights_id, about.template_hash),
    )


def selected(scored: Sequence[RankedTrial], config: RankSurprisalConfig) -> dict[str, Verdict]:
    """Of each: kept where all others lie above it by more than the noise, dropped where it lies so
    above the lowest, else a tie.
    """
    solved = [one for one in scored if one.success]
    candidates = solved if config.solved_first and solved else list(scored)
    lowest_of_all = (
        min(scored, key=lambda one: (one.ratio, one.identity)).identity if scored else None
    )
    verdicts = {one.identity: Verdict(None, "not_a_candidate", one.ratio) for one in scored}
    why = _no_choice(candidates, config)
    if why is not None:
        told = {"why": why, "lowest_of_all": lowest_of_all}
        return verdicts | {one.identity: Verdict(None, TIE, one.ratio, told) for one in candidates}
    best = min(candidates, key=lambda one: (one.ratio, one.identity))
    gaps = {
        one.identity: (one.ratio - best.ratio, standard_error(best, one))
        for one in candidates
        if one is not best
    }
    above = {identity for identity, (gap, error) in gaps.items() if gap > config.errors * error}
    for one in candidates:
        gap, error = gaps.get(one.identity, (0.0, 0.0))
        detail = {
            "gap": gap,
            "error": error,
            "lowest": best.identity,
            "lowest_of_all": lowest_of_all,
        }
        if one.identity in above:
            verdicts[one.identity] = Verdict(False, "higher_rsr", one.ratio, detail)
        elif len(above) == len(candidates) - 1:
            verdicts[one.identity] = Verdict(True, "lowest_rsr", one.ratio, detail)
        else:
            verdicts[one.identity] = Verdict(
                None, TIE, one.ratio, {"why": "within_noise", **detail}
            )
    return verdicts


def _no_choice(candidates: Sequence[RankedTrial], config: RankSurprisalConfig) -> str | None:
    """Why there is nothing to choose, or None."""
    if len(candidates) < 2:
        return "one_candidate"
    if len({one.under for one in candidates}) > 1:
        return "different_weights_or_templates"
    if len({one.policy for one in candidates}) < 2 and len(candidates) < config.least_candidates:
        return "few_of_one_policy"
    return "few_turns" if any(len(one.turns) < LEAST_TURNS for one in candidates) else None


def standard_error(low: RankedTrial, high: RankedTrial) -> float:
    """Of the difference of two ratios, by drawing the turns of both again with replacement."""
    rng = Random(f"{low.identity} {high.identity}")
    return pstdev([_redrawn(high, rng) - _redrawn(low, rng) for _ in range(RESAMPLES)])


def _redrawn(candidate: RankedTrial, rng: Random) -> float:
    ratio = sum(rng.choices(candidate.turns, k=len(candidate.turns)), Sums()).ratio
    assert ratio is not None
    return ratio


FILTER = Filter(
    RankSurprisalConfig,
    within_task,
    scope="task",
    measure=measure,
    measured=MEASURED,
    about=Ranked,
    roles=lambda config: (config.role,),
)
