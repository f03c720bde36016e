"""From K answers to one value per item: the median, the majority of choices, nothing where too few
could be read.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from synth.filters.rubric.rubric import Answer, Judged, Rubric
from synth.schemas.filter import Measure

FEWEST = 2
"""Draws that must have been read for a value, where more than one was asked for."""


def enough(samples: int) -> int:
    """Readable draws that a value needs."""
    return min(FEWEST, samples)


def item_measure(
    rubric: Rubric, item: Judged, answers: Sequence[Answer], samples: int, unread: Sequence[str]
) -> Measure:
    """A scale's median, or the position of the majority's choice (0 = the worst); undefined below
    `enough`, or where choices tie.
    """
    values = [
        float(item.scale.answers.index(answer)) if item.scale.choices else float(answer)
        for answer in answers
    ]
    detail: dict[str, Any] = {
        "values": list(answers),
        "k_valid": len(answers),
        "version": rubric.version,
    }
    if unread:
        detail["unread"] = sorted(set(unread))
    name = f"{rubric.name}.{item.name}"
    if len(values) < enough(samples):
        return Measure(name, None, detail={**detail, "reason": "unreadable"})
    detail["spread"] = max(values) - min(values)
    if not item.scale.choices:
        return Measure(name, float(median(values)), detail=detail)
    (first, count), *others = Counter(answers).most_common()
    if others and others[0][1] == count:
        return Measure(name, None, detail={**detail, "reason": "tie"})
    return Measure(name, float(item.scale.answers.index(first)), detail={**detail, "answer": first})


def overall(rubric: Rubric, values: Mapping[str, float | None]) -> Measure:
    """The weighted mean of all items, each from 0 (worst) to 1; undefined where a judged one is.
    Computed items that are undefined
    are left out.
    """
    total = weight = 0.0
    for item in rubric.items:
        value = values[item.name]
        if value is None:
            if isinstance(item, Judged) and item.weight:
                return Measure(
                    f"{rubric.name}.score", None, detail={"reason": f"{item.name} is undefined"}
                )
            continue
        total += (
            item.weight * _unit(item, value) if isinstance(item, Judged) else item.weight * value
        )
        weight += item.weight
    return Measure(
        f"{rubric.name}.score",
        total / weight if weight else None,
        detail={"version": rubric.version},
    )


def sampling_weight(rubric: Rubric, values: Mapping[str, float | None]) -> Measure | None:
    """max(0, (median - 2) / 3) of the deciding item on its 1-to-5 scale: failures weigh nothing.
    None on another scale.
    """
    decides = rubric.decides
    item = next(
        (one for one in rubric.judged if decides is not None and one.name == decides.item), None
    )
    if item is None or item.scale.choices or (item.scale.low, item.scale.high) != (1, 5):
        return None
    value = values[item.name]
    return Measure(f"{rubric.name}.weight", None if value is None else max(0.0, (value - 2) / 3))


def _unit(item: Judged, value: float) -> float:
    low, high = (
        (0, len(item.scale.choices) - 1)
        if item.scale.choices
        else (item.scale.low, item.scale.high)
    )
    share = (value - low) / (high - low)
    return 1 - share if item.negative else share
