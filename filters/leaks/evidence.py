"""What stands behind a verdict on a retry: the rules' suspicions, weighed by a student, and what a
judge has said of them.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import to_builtins

from synth.filters.leaks.calibration import Calibration
from synth.filters.leaks.planted import PlantedTurns
from synth.schemas import Case, Faulted, Task, Trajectory
from synth.schemas.canonical import canonical_json
from synth.text.leaks import Leak, suspicions
from synth.text.leaks.scan import authored

METRIC = "leaks.judged"
"""1: a judge sees a leak in what is suspected; 0: it sees none; None: there is no judge, no need,
or no answer.
"""
WEIGHT = "leaks.weight"
"""The largest weight of a turn of a retry (`planted.weight`); None: see `reason`."""
LIKELY = "likely_only_with_guidance"
NO_SCORER = "no_scorer"


class JudgedLeak(Faulted, frozen=True, omit_defaults=True, kw_only=True):
    """What a judge says of the suspected turns, and how far it may be believed; or what a student
    (`model`) makes of the turns (`weights`, by turn) and of planted ones, and whether it is
    `heard` (None: that would change nothing) and finds turns `likely`; or the reason why nobody has
    said anything.
    """

    reason: str | None = None
    turn: int | None = None
    calibration: Calibration | None = None
    model: str | None = None
    weights: tuple[tuple[int, float], ...] = ()
    planted: PlantedTurns | None = None
    heard: bool | None = None
    likely: tuple[int, ...] = ()


def about(case: Case, metric: str) -> tuple[float | None, JudgedLeak | None]:
    """What was measured, and what stands behind it; nothing where nothing was."""
    found = next((one for one in case.measures if one.metric == metric), None)
    return (None, None) if found is None else (found.value, found.about)


def suspected(case: Case, weighed: JudgedLeak | None = None) -> tuple[Leak, ...]:
    """What a judge would have to look at, by turn: the world's check counts as told by nobody, too.

    A student that is heard is asked in the rules' place about sentences that only seem to tell
    something: turns are suspected that weigh more than planted harmless ones.
    """
    ruled = suspicions(case.trajectory, hidden=_hidden(case.task))
    if weighed is None or not weighed.heard:
        return ruled

    # a turn that was not weighed has no low weight
    turns = {turn for turn, _ in weighed.weights}
    kept = [one for one in ruled if not one.weak or one.turn not in turns]
    kept += _likely(case.trajectory, set(weighed.likely))

    return tuple(sorted(kept, key=lambda leak: leak.turn))


def unweighed(weighed: JudgedLeak | None) -> str | None:
    """Why a retry is not known to be clean although a student was there to say it; None where it
    has, or never could.
    """
    if weighed is None:
        return None
    if weighed.fault is not None:
        return "scorer_fault"
    return weighed.reason if weighed.heard else None


def _likely(trajectory: Trajectory, turns: set[int]) -> Iterator[Leak]:
    for turn in trajectory.turns:
        if turn.index in turns:
            yield Leak(LIKELY, turn.index, " ".join(authored(turn)))


def _hidden(task: Task | None) -> str:
    """What of a task an agent is never shown."""
    if task is None:
        return ""

    told: list[Any] = [to_builtins(task.check), to_builtins(task.gold), task.script]
    return canonical_json(told).decode()
