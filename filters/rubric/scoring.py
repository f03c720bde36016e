"""From K answers to one value per item: the median, the majority of choices, nothing where too few
could be read.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median

from msgspec.structs import replace

from synth.filters.rubric.rubric import Answer, Rubric, RubricVerdict
from synth.schemas.filter import Measure
from synth.schemas.measures import Faulted

FEWEST = 2
"""Draws that must have been read for a value, where more than one was asked for."""


class Rating(Faulted, frozen=True, omit_defaults=True, kw_only=True):
    """What the judge answered about an item, or why there is no value."""

    why: str | None = None
    values: tuple[Answer, ...] | None = None
    k_valid: int | None = None
    version: int | str | None = None
    unread: tuple[str, ...] = ()
    spread: float | None = None
    reason: str | None = None
    answer: Answer | None = None


def enough(samples: int) -> int:
    """Readable draws that a value needs."""
    return min(FEWEST, samples)


def item_measure(
    rubric: Rubric,
    item: RubricVerdict,
    answers: Sequence[Answer],
    samples: int,
    unread: Sequence[str],
) -> Measure:
    """A scale's median, or the position of the majority's choice (0 = the worst); undefined below
    `enough`, or where choices tie.
    """
    values = [
        float(item.scale.answers.index(answer)) if item.scale.choices else float(answer)
        for answer in answers
    ]
    about = Rating(
        values=tuple(answers),
        k_valid=len(answers),
        version=rubric.version,
        unread=tuple(sorted(set(unread))),
    )
    name = f"{rubric.name}.{item.name}"
    if len(values) < enough(samples):
        return Measure(name, None, about=replace(about, reason="unreadable"))
    about = replace(about, spread=max(values) - min(values))
    if not item.scale.choices:
        return Measure(name, float(median(values)), about=about)
    (first, count), *others = Counter(answers).most_common()
    if others and others[0][1] == count:
        return Measure(name, None, about=replace(about, reason="tie"))
    value = float(item.scale.answers.index(first))
    return Measure(name, value, about=replace(about, answer=first))


def overall(rubric: Rubric, values: Mapping[str, float | None]) -> Measure:
    """The weighted mean of all items, each from 0 (worst) to 1; undefined where a judged one is.
    Computed items that are undefined
    are left out.
    """
    total = weight = 0.0
    for item in rubric.items:
        value = values[item.name]
        if value is None:
            if isinstance(item, RubricVerdict) and item.weight:
                return Measure(
                    f"{rubric.name}.score", None, about=Rating(reason=f"{item.name} is undefined")
                )
            continue
        total += (
            item.weight * _unit(item, value)
            if isinstance(item, RubricVerdict)
            else item.weight * value
        )
        weight += item.weight
    return Measure(
        f"{rubric.name}.score",
        total / weight if weight else None,
        about=Rating(version=rubric.version),
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


def _unit(item: RubricVerdict, value: float) -> float:
    low, high = (
        (0, len(item.scale.choices) - 1)
        if item.scale.choices
        else (item.scale.low, item.scale.high)
    )
    share = (value - low) / (high - low)
    return 1 - share if item.negative else share
