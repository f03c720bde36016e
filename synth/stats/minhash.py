"""Near duplicates: MinHash signatures (rensa), bands, and the true Jaccard similarity of every
candidate.

Kept in memory per document: 512 bytes of signature, 128 of bands; its shingles lie in an unnamed
temporary file.
"""

import tempfile
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray
from rensa import RMinHash

Hashes = NDArray[np.uint64]
PERMUTATIONS = 128
BANDS = 32
ROWS = PERMUTATIONS // BANDS
LEAST_SIMILARITY = 0.45
"""Below it, 32 bands of 4 miss more than a quarter of the pairs."""
_SLACK = 0.2
"""How far below the truth a signature's estimate may lie: 4.5 standard deviations at the worst."""
_BATCH = 512
_SEED = 1


class NearIndex:
    """Documents by number, in the order they are added; after `close_adding` each can be asked what
    is similar to it.
    """

    def __init__(self, similarity: float) -> None:
        self._similarity = similarity
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (closed by __exit__)
        self._ends = [0]
        self._waiting: list[Hashes] = []
        self._signatures: list[NDArray[np.uint32]] = []
        self._all = np.empty((0, PERMUTATIONS), np.uint32)
        self._groups = np.empty((0, BANDS), np.int32)
        self._open: dict[int, list[int]] = {}
        self._shingles: Hashes = np.empty(0, np.uint64)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def __len__(self) -> int:
        return len(self._ends) - 1

    def add(self, shingles: Hashes) -> None:
        """One more document; one without shingles is similar to nothing."""
        self._file.write(shingles.tobytes())
        self._ends.append(self._ends[-1] + len(shingles))
        self._waiting.append(shingles)
        if len(self._waiting) == _BATCH:
            self._sign()

    def close_adding(self) -> None:
        """Groups documents that agree in a band; only groups of two and more are remembered."""
        self._sign()
        self._all = np.concatenate([self._all, *self._signatures])
        self._signatures.clear()
        self._groups = _groups(self._all, np.diff(self._ends) > 0)
        self._file.flush()
        if self._ends[-1]:
            self._shingles = np.memmap(self._file, np.uint64, "r")

    def similar(self, document: int) -> list[tuple[int, float]]:
        """The opened documents whose true Jaccard similarity to one is at least the index's, the
        most similar first.
        """
        found = {
            other for group in self._groups_of(document) for other in self._open.get(group, ())
        }
        found.discard(document)
        if not found:
            return []
        others = np.fromiter(sorted(found), np.int64, len(found))
        estimates = (self._all[others] == self._all[document]).mean(axis=1)
        close = others[estimates >= self._similarity - _SLACK]
        mine = self._shingles_of(document)
        verified = [(int(other), jaccard(mine, self._shingles_of(int(other)))) for other in close]
        return sorted(
            ((o, s) for o, s in verified if s >= self._similarity),
            key=lambda pair: (-pair[1], pair[0]),
        )

    def open(self, document: int) -> None:
        """Lets a document be found from now on."""
        for group in self._groups_of(document):
            self._open.setdefault(group, []).append(document)

    def close_opened(self) -> None:
        """Nothing can be found any more."""
        self._open.clear()

    def _groups_of(self, document: int) -> list[int]:
        row = self._groups[document]
        return [int(group) for group in row[row >= 0]]

    def _shingles_of(self, document: int) -> Hashes:
        return self._shingles[self._ends[document] : self._ends[document + 1]]

    def _sign(self) -> None:
        if not self._waiting:
            return
        offsets = np.cumsum([0, *map(len, self._waiting)]).astype(np.uint64)
        digests = RMinHash.digest_matrix_from_flat_token_hashes(
            np.concatenate(self._waiting), offsets, PERMUTATIONS, _SEED
        )
        self._signatures.append(np.array(digests.to_rows(), np.uint32))
        self._waiting.clear()


def jaccard(one: Hashes, other: Hashes) -> float:
    """Shared over all shingles; both sorted and distinct."""
    both = np.concatenate((one, other))
    both.sort(kind="stable")
    shared = int(np.count_nonzero(both[1:] == both[:-1]))
    return shared / (len(both) - shared) if len(both) else 0.0


def _groups(signatures: NDArray[np.uint32], counted: NDArray[np.bool_]) -> NDArray[np.int32]:
    """For each document and band the number of the group that agrees in it, or -1 where nobody else
    does.
    """
    groups = np.full((len(signatures), BANDS), -1, np.int32)
    rows = np.flatnonzero(counted)
    last = 0
    for band in range(BANDS):
        part = (
            np.ascontiguousarray(signatures[rows, band * ROWS : (band + 1) * ROWS])
            .view(np.dtype((np.void, 4 * ROWS)))
            .ravel()
        )
        _, inverse, counts = np.unique(part, return_inverse=True, return_counts=True)
        together = np.flatnonzero(counts > 1)
        numbers = np.full(len(counts), -1, np.int64)
        numbers[together] = last + np.arange(len(together))
        last += len(together)
        groups[rows, band] = numbers[inverse]
    return groups


def kept_first(
    index: NearIndex, order: Iterator[int], dropped: Callable[[int, int, float], None]
) -> None:
    """Goes through documents in an order, best first, and tells of each that is similar to one that
    was kept (document, kept, similarity).

    What was dropped drops nothing else: of a chain of edits, those far from what was kept stay.
    """
    for document in order:
        similar = index.similar(document)
        if similar:
            dropped(document, *similar[0])
        else:
            index.open(document)
