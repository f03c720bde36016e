"""Where one ledger stands in the manifest: it reads on from there, line by line or by checkpoints,
and writes where the log ends.
"""

from collections.abc import Sequence
from functools import reduce

from synth.ledger.log import manifest, manifest_checkpoints
from synth.ledger.log.manifest import Line, history_after
from synth.ledger.storage import Storage

ALONE = 2
"""Lines read one after the other before a checkpoint is asked for: a reader that has caught up asks
for none.
"""
FEW = 3
"""A checkpoint, and then the line at its end, are two requests, so they pay from here on."""


class Cursor:
    """The next line is `number`. While the run is opened, a disk is read line by line, so that
    every damaged line is named there.

    `mends`: checkpoints that are missing are made of the lines that were read one by one.
    """

    def __init__(self, storage: Storage, *, mends: bool = False) -> None:
        self.number = 0
        self.opened = False
        self._storage = storage
        self._mends = mends
        self._history = ""
        self._chained = False
        self._block: list[bytes] = []
        self._block_bytes = 0
        self._alone = 0
        self._far_behind = not storage.local
        self._lacking: set[str] = set()
        self._batch: Sequence[Line] = ()
        self._listed_to: int | None = None

    def append(self, line: Line) -> bool:
        """Writes a line at the end of the log, and the checkpoints that it fills; False where
        another writer was first.
        """
        blob = manifest.stored(line, self._history)
        if not self._storage.create(manifest.name_of(self.number), blob):
            return False
        lines, history = [*self._block, blob], history_after(self._history, blob)
        manifest_checkpoints.write(self._storage, self.number, lines, history)
        return True

    def ahead(self, folded: int) -> Sequence[Line]:
        """The lines after those `folded`: one, or those of checkpoints; none at the end. Raises
        `DamagedError`.
        """
        if folded < self.number:  # the caller was interrupted while it folded what it was given
            return self._batch[folded - self.number :]
        stored = self._from_checkpoints() or self._from_line()
        numbered = list(enumerate(stored, self.number))
        self._batch = [manifest.decoded(self._storage, at, blob) for at, blob in numbered]
        for number, blob in numbered:
            self._pass(number, blob)
        self.number += len(stored)
        return self._batch

    def _from_checkpoints(self) -> list[bytes]:
        """Lines from checkpoints that go on from each other, the last of which ends with the line
        that stands there in the manifest itself.
        """
        taken: list[tuple[str, list[bytes]]] = []
        number, history, held = self.number, self._history, 0

        while held < manifest_checkpoints.LARGEST:
            found = self._checkpoint(number, history)
            if found is None:
                break
            taken.append(found)
            number += len(found[1])
            history = reduce(history_after, found[1], history)
            held += sum(map(len, found[1]))

        while taken and manifest.read_stored(self._storage, number - 1) != taken[-1][1][-1]:
            name, lines = taken.pop()
            self._lacking.add(name)
            number -= len(lines)

        return [line for _, lines in taken for line in lines]

    def _checkpoint(self, number: int, history: str) -> tuple[str, list[bytes]] | None:
        """The name of a checkpoint, and its lines from `number` on, which follow that history."""
        sizes: Sequence[int] = manifest_checkpoints.SIZES
        if not self._far_behind:
            sizes = sizes[-1:] if self.opened and self._alone >= ALONE else ()

        for size in sizes:
            name = manifest_checkpoints.name_of(number, size)
            if name in self._lacking or size - number % size < FEW:
                continue
            found = manifest_checkpoints.read(self._storage, number, size)
            lines = found[0][number % size :] if found is not None else []
            if found is not None and reduce(history_after, lines, history) == found[1]:
                self._far_behind = True
                return name, lines
            self._lacking.add(name)

        return None

    def _from_line(self) -> list[bytes]:
        """The next line; none at the end. Raises `DamagedError` where it is missing and the
        manifest goes on.
        """
        blob = manifest.read_stored(self._storage, self.number)
        if blob is None and self._goes_on():
            # another writer may have appended it between the two looks
            blob = manifest.read_stored(self._storage, self.number)
            if blob is None:
                raise manifest.missing_error(self._storage, self.number)

        if blob is None:
            self._alone, self._far_behind, self.opened = 0, False, True
            self._lacking.clear()
            return []

        self._alone += 1
        return [blob]

    def _goes_on(self) -> bool:
        """Whether lines stand from here on: by one listing as the run is opened, which must show
        every line before too, then by looks.
        """
        if self._listed_to is None:
            listed = manifest.listed(self._storage)
            self._listed_to = max(listed, default=-1)
            for number in range(self.number):
                if number not in listed and self._storage.size(manifest.name_of(number)) is None:
                    raise manifest.missing_error(self._storage, number)
            return self._listed_to >= self.number
        return self._listed_to >= self.number or manifest.goes_on(self._storage, self.number)

    def _pass(self, number: int, blob: bytes) -> None:
        """Goes over a line, and keeps it until a checkpoint of the greatest size is full with it.

        Raises `DamagedError` where it says that it follows others than those read before it, or no
        longer says which.
        """
        before = manifest.chained(blob)
        if before != self._history if before is not None else self._chained:
            raise manifest.misplaced_error(self._storage, number)
        self._chained = before is not None
        self._history = history_after(self._history, blob)
        self._block.append(blob)
        self._block_bytes += len(blob)
        size = max(manifest_checkpoints.SIZES)
        full = (number + 1) % size == 0
        if full and self._mends:
            name = manifest_checkpoints.name_of(number, size)
            if self._storage.size(name) is None:
                manifest_checkpoints.write(self._storage, number, self._block, self._history)

        if full or self._block_bytes > manifest_checkpoints.LARGEST:
            self._block, self._block_bytes = [], 0
