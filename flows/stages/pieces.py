"""Work cut into pieces."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def pieces(items: Iterable[T], size: Callable[[T], int], enough: int) -> Iterator[list[T]]:
    """The items in their order, cut where a piece has enough of what `size` counts."""
    piece: list[T] = []
    count = 0
    for item in items:
        piece.append(item)
        count += size(item)
        if count >= enough:
            yield piece
            piece, count = [], 0
    if piece:
        yield piece
