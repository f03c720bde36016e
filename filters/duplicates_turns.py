"""Turns that better rows hold already: word for word, or nearly."""

from types import TracebackType
from typing import Self

from synth.stats.minhash import NearIndex
from synth.text.similarity import shingles


class Turns:
    """Distinct turns by key; what was taught is held, and so is what is similar to it where a
    `similarity` is given.
    """

    def __init__(self, similarity: float | None) -> None:
        self._near = NearIndex(similarity) if similarity is not None else None
        self._numbers: dict[bytes, int] = {}
        self._taught: set[bytes] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._near is not None:
            self._near.__exit__(kind, error, trace)

    def added(self, key: bytes, words: list[str]) -> bytes:
        """The key, its words remembered where they are to be compared."""
        if self._near is not None and key not in self._numbers:
            self._numbers[key] = len(self._near)
            self._near.add(shingles(words))
        return key

    def close_adding(self) -> None:
        """From here on turns are compared."""
        if self._near is not None:
            self._near.close_adding()

    def holds(self, key: bytes) -> bool:
        """Whether a better row has a turn of this key, or one that is similar."""
        return key in self._taught or (
            self._near is not None and bool(self._near.similar(self._numbers[key]))
        )

    def teach(self, keys: tuple[bytes, ...]) -> None:
        """A row that stays has these turns."""
        for key in keys:
            if key not in self._taught:
                self._taught.add(key)
                if self._near is not None:
                    self._near.open(self._numbers[key])

    def forget(self) -> None:
        """Nothing was taught yet."""
        self._taught.clear()
        if self._near is not None:
            self._near.close_opened()
