"""From K answers to one value per item: the median, the majority of choices; and from the items to
the score of a trajectory.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median

from msgspec.structs import replace

from synth.filters.rubric.rubric import Answer, Judged, Rubric
from synth.schemas import Faulted, Measure


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


def item_measure(
    rubric: Rubric, item: Judged, answers: Sequence[Answer], unread: Sequence[str]
) -> Measure:
    """A scale's median, or the position of the majority's choice (0 = the worst); undefined where
    choices tie.
    """
    # the spread tells how sure the judge is, and stands beside the value
    values = [item.scale.value(answer) for answer in answers]
    about = Rating(
        values=tuple(answers),
        k_valid=len(answers),
        version=rubric.version,
        unread=tuple(sorted(set(unread))),
        spread=max(values) - min(values),
    )

    name = f"{rubric.name}.{item.name}"
    if not item.scale.choices:
        return Measure(name, float(median(values)), about=about)

    # choices have no middle: the majority decides, and a tie decides nothing
    (first, count), *others = Counter(answers).most_common()
    if others and others[0][1] == count:
        return Measure(name, None, about=replace(about, reason="tie"))

    return Measure(name, item.scale.value(first), about=replace(about, answer=first))


def overall(rubric: Rubric, values: Mapping[str, float | None]) -> Measure:
    """The weighted mean of all items, each from 0 (worst) to 1; undefined where a judged one is.
    Computed items that are undefined are left out, and so are those of weight 0.

    `values`: item -> its value on its own scale.
    """
    metric = f"{rubric.name}.score"

    total = weight = 0.0

    for item in rubric.items:
        value = values[item.name]
        if isinstance(item, Judged):
            if value is None and item.weight:
                return Measure(metric, None, about=Rating(reason=f"{item.name} is undefined"))

            value = None if value is None else item.scale.unit(value)
            value = 1 - value if value is not None and item.negative else value

        if value is not None:
            total += item.weight * value
            weight += item.weight

    about = Rating(version=rubric.version)
    return Measure(metric, total / weight if weight else None, about=about)


def sampling_weight(rubric: Rubric, values: Mapping[str, float | None]) -> Measure | None:
    """max(0, (median - 2) / 3) of the deciding item on its 1-to-5 scale: failures weigh nothing.
    None on another scale.
    """
    item = rubric.deciding
    if item is None or item.scale.answers != (1, 2, 3, 4, 5):
        return None

    value = values[item.name]
    return Measure(f"{rubric.name}.weight", None if value is None else max(0.0, (value - 2) / 3))
