"""What guidance, pivot and branching are worth at equal cost: endpoints by arm, effects between
arms, intervals by bootstrap over tasks.

Base trials are selected for failing, so that any further try improves on them: only the arms beside
one another say anything.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import Any

import msgspec

from synth.synthesizers.reflection.arms import (
    ARMS,
    ELSEWHERE,
    FRESH,
    GUIDED,
    MOST_EPISODES,
    UNGUIDED,
    ArmResult,
)

EFFECTS: Mapping[str, tuple[str, str]] = {
    "guidance (d - b)": (GUIDED, UNGUIDED),
    "pivot (d - c)": (GUIDED, ELSEWHERE),
    "branching (b - a)": (UNGUIDED, FRESH),
    "net (d - a)": (GUIDED, FRESH),
}
ROWS, TASKS = "kept rows per 1M priced tokens", "tasks newly solved"
RESAMPLES = 2000
MILLION = 1_000_000
Sums = tuple[float, float, float]
"""Of an arm on a task: kept rows, price, 1 where the task is newly solved."""
Measure = Callable[[Sequence[Sums], Sequence[int]], float]
"""An endpoint over the tasks at these places; a place may come more than once."""


class Unit(msgspec.Struct, frozen=True):
    """One failed base trial: its task, whether any base trial solved that, and what each arm came
    to.
    """

    task_id: str
    task_was_solved: bool
    arms: Mapping[str, ArmResult]


class Effect(msgspec.Struct, frozen=True):
    """A difference between two arms; `low` and `high` are its 95 % interval, None with fewer than
    two tasks.
    """

    difference: float
    low: float | None
    high: float | None

    @property
    def verdict(self) -> str:
        """An arm beats another only where the interval excludes 0."""
        if self.low is None or self.high is None:
            return "not known"
        return "beats" if self.low > 0 else "is beaten" if self.high < 0 else "no difference shown"


def compared(
    units: Sequence[Unit], *, gold_informed: bool, reflector: str, seed: int
) -> dict[str, Any]:
    """Endpoints and effects as plain values. Gold-informed guidance gives no verdict: with it the
    result is true by construction.
    """
    tasks = sorted({unit.task_id for unit in units})
    sums = {arm: _by_task(units, arm, tasks) for arm in ARMS}
    everything = range(len(tasks))
    rng = Random(f"equal budget bootstrap {seed}")
    draws = (
        [rng.choices(everything, k=len(tasks)) for _ in range(RESAMPLES)] if len(tasks) > 1 else []
    )
    effects = {}
    for name, (more, less) in EFFECTS.items():
        for endpoint, measure in ((ROWS, _rows), (TASKS, _tasks)):
            found = _effect(measure, sums[more], sums[less], draws)
            effects[f"{name}: {endpoint}"] = {
                **msgspec.to_builtins(found),
                "verdict": "supports no claim: gold-informed" if gold_informed else found.verdict,
            }
    return {
        "reflector": reflector,
        "gold_informed": gold_informed,
        "trials": len(units),
        "tasks": len(tasks),
        "arms": {arm: _endpoints(units, sums[arm], arm) for arm in ARMS},
        "effects": effects,
    }


def _endpoints(units: Sequence[Unit], sums: Sequence[Sums], arm: str) -> dict[str, Any]:
    results = [unit.arms[arm] for unit in units]
    everything = range(len(sums))
    return {
        "episodes": sum(result.episodes for result in results),
        "kept": sum(result.kept for result in results),
        "price": sum(result.price for result in results),
        "overrun": sum(result.overrun for result in results),
        "estimated": sum(result.estimated for result in results),
        "stopped_at_most_episodes": sum(result.episodes >= MOST_EPISODES for result in results),
        ROWS: _rows(sums, everything) if sums else None,
        TASKS: _tasks(sums, everything),
    }


def _by_task(units: Iterable[Unit], arm: str, tasks: Sequence[str]) -> list[Sums]:
    """By task, in the order of `tasks`."""
    found: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for unit in units:
        result, entry = unit.arms[arm], found[unit.task_id]
        entry[0] += result.kept
        entry[1] += result.price
        entry[2] = max(entry[2], float(result.kept > 0 and not unit.task_was_solved))
    return [(found[task][0], found[task][1], found[task][2]) for task in tasks]


def _rows(sums: Sequence[Sums], at: Sequence[int]) -> float:
    kept = price = 0.0
    for index in at:
        kept += sums[index][0]
        price += sums[index][1]
    return MILLION * kept / price if price else 0.0


def _tasks(sums: Sequence[Sums], at: Sequence[int]) -> float:
    return sum(sums[index][2] for index in at)


def _effect(
    measure: Measure, more: Sequence[Sums], less: Sequence[Sums], draws: Sequence[Sequence[int]]
) -> Effect:
    """The difference over all tasks, and the 2.5 and 97.5 percentiles over resamples of whole
    tasks, the same ones for both arms.
    """

    def difference(at: Sequence[int]) -> float:
        return measure(more, at) - measure(less, at)

    found = difference(range(len(more)))
    if not draws:
        return Effect(found, None, None)
    values = sorted(map(difference, draws))
    last = len(values) - 1
    return Effect(found, values[round(0.025 * last)], values[round(0.975 * last)])
