"""Where one ledger stands in the manifest: it reads on from there, line by line or by packs, and
writes where the log ends.
"""

from collections.abc import Sequence
from functools import reduce

from synth.ledger import manifest, packs
from synth.ledger.manifest import Line
from synth.ledger.storage import Storage

ALONE = 2
"""Lines read one after the other before a pack is asked for: who has caught up asks for none."""
FEW = 3
"""A pack, and then the line at its end, are two requests, so they pay from here on."""


class Cursor:
    """The next line is `number`. While the run is opened, a disk is read line by line, so that
    every damaged one is named there.

    `mends`: packs that are missing are made of the lines that were read one by one.
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
        self._reach = 0 if storage.local else max(packs.SIZES)
        self._without: set[tuple[int, int]] = set()
        self._batch: Sequence[Line] = ()
        self._listed_to: int | None = None

    def append(self, line: Line) -> bool:
        """Writes a line at the end of the log, and the packs that it fills; False where another
        writer was first.
        """
        blob = manifest.stored(line, self._history)
        if not self._storage.create(manifest.name_of(self.number), blob):
            return False
        packs.write(
            self._storage,
            self.number,
            [*self._block, blob],
            packs.history_after(self._history, blob),
        )
        return True

    def ahead(self, folded: int) -> Sequence[Line]:
        """The lines after those `folded`: one, or what is left of a pack; none at the end. Raises
        `DamagedError`.
        """
        if folded < self.number:  # it was interrupted while it took in what it was given
            return self._batch[folded - self.number :]
        stored = self._from_packs() or self._from_line()
        self._batch = [
            manifest.decoded(self._storage, self.number + place, blob)
            for place, blob in enumerate(stored)
        ]
        for place, blob in enumerate(stored):
            self._require_fits(self.number + place, blob)
            self._pass(self.number + place, blob)
        self.number += len(stored)
        return self._batch

    def _from_packs(self) -> list[bytes]:
        """Lines from packs that go on from each other, the last of which ends with the line that
        stands there in the manifest itself.
        """
        taken: list[tuple[tuple[int, int], list[bytes]]] = []
        number, history, held = self.number, self._history, 0
        while held < packs.LARGEST and (found := self._pack(number, history)) is not None:
            taken.append(found)
            number += len(found[1])
            history = reduce(packs.history_after, found[1], history)
            held += sum(map(len, found[1]))
        while taken and manifest.read_stored(self._storage, number - 1) != taken[-1][1][-1]:
            block, lines = taken.pop()
            self._without.add(block)
            number -= len(lines)
        return [line for _, lines in taken for line in lines]

    def _pack(self, number: int, history: str) -> tuple[tuple[int, int], list[bytes]] | None:
        for size in packs.SIZES:
            block = (size, number // size)
            if size > self._reach or block in self._without or size - number % size < FEW:
                continue
            lines = packs.read(self._storage, number, size, history)
            if lines is not None:
                self._reach = max(packs.SIZES)
                return block, lines
            self._without.add(block)
        return None

    def _from_line(self) -> list[bytes]:
        """The next line; none at the end. Raises `DamagedError` where it is missing and the
        manifest goes on.
        """
        blob = manifest.read_stored(self._storage, self.number)
        if blob is None and self._goes_on():
            blob = manifest.read_stored(
                self._storage, self.number
            )  # another writer may have appended it between the two looks
            if blob is None:
                raise manifest.missing_error(self._storage, self.number)
        if blob is None:
            self._alone, self._reach, self.opened = 0, 0, True
            self._without.clear()
            return []
        self._alone += 1
        if self._alone >= ALONE and self.opened:
            self._reach = max(self._reach, min(packs.SIZES))
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

    def _require_fits(self, number: int, blob: bytes) -> None:
        """Raises `DamagedError` where a line says that it follows others than those read before it,
        or no longer says which.
        """
        before = manifest.chained(blob)
        if before != self._history if before is not None else self._chained:
            raise manifest.misplaced_error(self._storage, number)
        self._chained = before is not None

    def _pass(self, number: int, blob: bytes) -> None:
        """Goes over a line. Lines are kept until a pack of the greatest size is full with them, as
        far as one may hold them.
        """
        self._history = packs.history_after(self._history, blob)
        self._block.append(blob)
        self._block_bytes += len(blob)
        full = (number + 1) % max(packs.SIZES) == 0
        if full and self._mends and not packs.there(self._storage, number):
            packs.write(self._storage, number, self._block, self._history)
        if full or self._block_bytes > packs.LARGEST:
            self._block, self._block_bytes = [], 0
