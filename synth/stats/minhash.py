"""Near duplicates: MinHash signatures (rensa), bands, and the true Jaccard similarity of every
candidate.

Kept in memory per document: 512 bytes of signature, 128 of bands; its shingles lie in an unnamed
temporary file. rensa's own index keeps all of it in memory, datasketch's is 2.5 times slower.
"""

import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
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
_SEED = 1


class NearIndex:
    """Documents by number, in the order they are added; after `close_adding` each can be asked what
    is similar to it.

    Only opened documents are found, so that a caller decides what the others are compared with: the
    rows that it has kept so far, or one side of a split. Two documents are candidates where they
    agree in a band; what is told of them is their true similarity. To be used in a `with`, which
    gives the disk space back.
    """

    def __init__(self, similarity: float) -> None:
        self._similarity = similarity
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (closed by __exit__)
        self._ends = [0]
        self._signed = bytearray()
        self._signatures = np.empty((0, PERMUTATIONS), np.uint32)
        self._groups = np.empty((0, BANDS), np.int32)
        self._open: dict[int, list[int]] = defaultdict(list)
        self._shingles: Hashes = np.empty(0, np.uint64)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def __len__(self) -> int:
        return len(self._ends) - 1

    def add(self, shingles: Hashes) -> None:
        """One more document; one without shingles is similar to nothing."""
        self._file.write(shingles.tobytes())
        self._ends.append(self._ends[-1] + len(shingles))
        ends = np.array([0, len(shingles)], np.uint64)
        signed = RMinHash.digest_matrix_from_flat_token_hashes(shingles, ends, PERMUTATIONS, _SEED)
        self._signed += np.array(signed.to_rows(), np.uint32).tobytes()

    def close_adding(self) -> None:
        """Groups documents that agree in a band; only groups of two and more are remembered."""
        self._signatures = np.frombuffer(self._signed, np.uint32).reshape(-1, PERMUTATIONS)
        self._groups = _groups(self._signatures, np.flatnonzero(np.diff(self._ends)))
        self._file.flush()
        if self._ends[-1]:
            self._shingles = np.memmap(self._file, np.uint64, "r")

    def similar(self, document: int) -> list[tuple[int, float]]:
        """The opened documents whose true Jaccard similarity to one is at least the index's, the
        most similar first.
        """
        groups = self._groups_of(document)
        found = {other for group in groups for other in self._open.get(group, ())} - {document}
        if not found:
            return []

        others = np.array(sorted(found))
        # the signatures spare most candidates the look at their shingles on disk
        estimates = (self._signatures[others] == self._signatures[document]).mean(axis=1)
        close = others[estimates >= self._similarity - _SLACK].tolist()
        mine = self._shingles_of(document)
        verified = [(other, jaccard(mine, self._shingles_of(other))) for other in close]

        return sorted(
            (pair for pair in verified if pair[1] >= self._similarity),
            key=lambda pair: (-pair[1], pair[0]),
        )

    def open(self, document: int) -> None:
        """Lets a document be found from now on."""
        for group in self._groups_of(document):
            self._open[group].append(document)

    def close_opened(self) -> None:
        """Nothing can be found any more."""
        self._open.clear()

    def _groups_of(self, document: int) -> list[int]:
        row = self._groups[document]
        groups: list[int] = row[row >= 0].tolist()
        return groups

    def _shingles_of(self, document: int) -> Hashes:
        return self._shingles[self._ends[document] : self._ends[document + 1]]


def jaccard(one: Hashes, other: Hashes) -> float:
    """Shared over all shingles; both sorted and distinct."""
    # what both have stands twice, side by side, once they are sorted together
    both = np.concatenate((one, other))
    both.sort(kind="stable")
    shared = int(np.count_nonzero(both[1:] == both[:-1]))
    return shared / (len(both) - shared) if len(both) else 0.0


def _groups(signatures: NDArray[np.uint32], rows: NDArray[np.int64]) -> NDArray[np.int32]:
    """[documents, bands]: the number of the group that agrees in a band, -1 where a document agrees
    with no other of `rows`, or is none of them.
    """
    groups = np.full((len(signatures), BANDS), -1, np.int32)
    last = 0

    for band in range(BANDS):
        # a band's rows as one opaque value each, so that equal ones can be told by sorting
        part = np.ascontiguousarray(signatures[rows, band * ROWS : (band + 1) * ROWS])
        keys = part.view(np.dtype((np.void, part.itemsize * ROWS))).ravel()
        _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
        shared = counts > 1
        groups[rows, band] = np.where(shared, last + np.cumsum(shared), -1)[inverse]
        last += int(shared.sum())

    return groups


def near_copies(index: NearIndex, order: Iterable[int]) -> Iterator[tuple[int, int, float]]:
    """Goes through documents in an order, best first, and opens them; gives each that is similar to
    one before it, that one, and their similarity.

    Such a copy is not opened: of a chain of edits, those far from what was kept stay.
    """
    for document in order:
        similar = index.similar(document)
        if similar:
            yield document, *similar[0]
        else:
            index.open(document)
