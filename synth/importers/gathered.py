"""What files gave that is not committed yet."""

from collections.abc import Container

from synth.importers.labelling.joined import Named
from synth.importers.records import Entry, Imported, Labelled, Rejection, Replaced
from synth.importers.tally import ImportTally
from synth.ledger.log.manifest import ShardLine

SHARD = 500
_SHARD_TURNS = 20_000
"""A shard ends at either: long trajectories must not fill the memory."""


class Gathered:
    """What one file gave while it is read, or what whole files gave that are not committed yet."""

    def __init__(self) -> None:
        self.tally = ImportTally()
        self.named: list[Named] = []
        self.labels: list[Labelled] = []
        self.rows: list[Imported] = []
        self.shards: list[ShardLine] = []
        self.turns = self.count = 0

    def take(self, entry: Entry, slots: Container[str]) -> None:
        """Keeps what is new, and counts the rest: no attempt at one of these slots is new."""
        if isinstance(entry, Rejection):
            self.tally.reject(entry)
        elif isinstance(entry, Replaced):
            self.tally.replaced.append(entry)
        elif isinstance(entry, Labelled):
            self.labels.append(entry)
        else:
            trajectory = entry.trajectory
            if entry.name is not None:
                named = Named(entry.name, trajectory.trajectory_id, entry.turn_of_message)
                self.named.append(named)

            if trajectory.slot_id in slots:
                self.tally.of_format(entry)["present"] += 1
                return

            self.rows.append(entry)
            self.turns += len(trajectory.turns)
            self.count += 1

    def add(self, file: "Gathered") -> None:
        """Takes over what a file gave that is whole."""
        self.tally.take(file.tally)
        self.named += file.named
        self.labels += file.labels
        self.rows += file.rows
        self.shards += file.shards
        self.turns += file.turns

    @property
    def full(self) -> bool:
        """Whether there are as many rows as a shard is to have."""
        return len(self.rows) >= SHARD or self.turns >= _SHARD_TURNS
