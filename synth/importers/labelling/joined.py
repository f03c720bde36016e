"""Labels that stand in a file of their own, brought to the trajectories that they name."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from synth.importers.records import ImportedLabel, Labelled, Rejection
from synth.ledger.ledger import Score


class Named(NamedTuple):
    """What a trajectory is called by labels of other files, and its turns by the source's message
    indices.
    """

    name: str | None
    trajectory_id: str
    turn_of_message: tuple[int | None, ...]


def joined(
    trajectories: Iterable[Named], labels: Iterable[Labelled]
) -> Iterator[tuple[Labelled, tuple[Score, ...]] | Rejection]:
    """Scores of every label that names exactly one of the trajectories, whichever file came first;
    the others are rejections.
    """
    by_name: dict[str | None, list[Named]] = defaultdict(list)
    for one in trajectories:
        by_name[one.name].append(one)

    for label in labels:
        found = by_name[label.name]
        if len(found) != 1:
            yield label.record.rejected(
                "ambiguous_label" if found else "no_trajectory",
                f"{label.name} is in this import {len(found)} times; import labels "
                "together with their trajectories",
            )
            continue

        try:
            marks = label.marks(found[0].turn_of_message)
            yield label, scores(found[0].trajectory_id, marks)
        except ValueError as error:
            yield label.record.rejected("bad_record", str(error))


def scores(trajectory_id: str, labels: Iterable[ImportedLabel]) -> tuple[Score, ...]:
    """The rows in which labels of a trajectory are stored."""
    return tuple(
        Score(trajectory_id, label.metric, label.value, label.turn, label.detail)
        for label in labels
    )
