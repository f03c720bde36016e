"""Labels that stand in a file of their own, brought to the trajectories that they name."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from synth.importers.records import Imported, ImportedLabel, Labelled, Rejection
from synth.ledger.ledger import Score


class LabelJoin:
    """Collects both sides while files are read; files that hold labels may come before or after
    those that they are about.
    """

    def __init__(self) -> None:
        self._named: dict[str, list[tuple[str, tuple[int | None, ...]]]] = defaultdict(list)
        self._labels: list[Labelled] = []

    def saw(self, entry: Imported) -> None:
        """Remembers what a trajectory is called by its labels, if it is."""
        if entry.name is not None:
            known = (entry.trajectory.trajectory_id, entry.turn_of_message)
            self._named[entry.name].append(known)

    def keep(self, label: Labelled) -> None:
        """Remembers labels until all files are read."""
        self._labels.append(label)

    def add(self, file: "LabelJoin") -> None:
        """Takes over what a file gave that is whole."""
        self._labels += file._labels
        for name, found in file._named.items():
            self._named[name] += found

    def joined(self) -> Iterator[tuple[Labelled, tuple[Score, ...]] | Rejection]:
        """Scores of every label that names exactly one trajectory; the others are rejections."""
        for label in self._labels:
            found = self._named[label.name]
            if len(found) != 1:
                yield label.record.rejected(
                    "ambiguous_label" if found else "no_trajectory",
                    f"{label.name} is in this import {len(found)} times; import labels "
                    "together with their trajectories",
                )
                continue
            ((identity, turns),) = found
            try:
                yield label, scores(identity, label.marks(turns))
            except ValueError as error:
                yield label.record.rejected("bad_record", str(error))


def scores(trajectory_id: str, labels: Iterable[ImportedLabel]) -> tuple[Score, ...]:
    """The rows in which labels of a trajectory are stored."""
    return tuple(
        Score(trajectory_id, label.metric, label.value, label.turn, label.detail)
        for label in labels
    )
