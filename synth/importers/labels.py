"""Labels that stand in a file of their own, brought to the trajectories that they name."""

from collections.abc import Iterable, Iterator

from synth.importers.records import Imported, ImportedLabel, Labelled, Rejection, one_line
from synth.ledger.ledger import Score


class LabelJoin:
    """Collects both sides while files are read; files that hold labels may come before or after
    those that they are about.
    """

    def __init__(self) -> None:
        self._named: dict[str, list[tuple[str, str, tuple[int | None, ...]]]] = {}
        self._labels: list[Labelled] = []

    def saw(self, entry: Imported, file: str) -> None:
        """Remembers what a trajectory is called by its labels, if it is."""
        if entry.name is not None:
            self._named.setdefault(entry.name, []).append(
                (file, entry.trajectory.trajectory_id, entry.turn_of_message)
            )

    def keep(self, label: Labelled) -> None:
        """Remembers labels until all files are read."""
        self._labels.append(label)

    def forget(self, file: str) -> None:
        """Takes back what a file gave."""
        self._labels = [label for label in self._labels if label.file != file]
        self._named = {
            name: [known for known in found if known[0] != file]
            for name, found in self._named.items()
        }

    def joined(self) -> Iterator[tuple[Labelled, tuple[Score, ...]] | Rejection]:
        """Scores of every label that names exactly one trajectory; the others are rejections."""
        for label in self._labels:
            found = self._named.get(label.name, [])
            if len(found) != 1:
                reason = "no_trajectory" if not found else "ambiguous_label"
                detail = (
                    f"{label.name} is in this import {len(found)} times; import labels "
                    "together with their trajectories"
                )
                yield Rejection(label.file, label.locator, reason, detail)
                continue
            ((_, identity, turns),) = found
            try:
                marks = label.marks(turns)
            except ValueError as error:
                yield Rejection(label.file, label.locator, "bad_record", one_line(str(error)))
                continue
            yield label, scores(identity, marks)


def scores(trajectory_id: str, labels: Iterable[ImportedLabel]) -> tuple[Score, ...]:
    """The rows in which labels of a trajectory are stored."""
    return tuple(
        Score(trajectory_id, label.metric, label.value, label.turn, label.detail)
        for label in labels
    )
