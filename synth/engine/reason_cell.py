"""A cell of reasons in the funnel: wrapped between words, names that are too long after a `:` or
`_`, never cut.
"""

import re

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

_PIECE = re.compile(r"[^:_]*[:_]|[^:_]+")


class ReasonCell:
    """A text as a table can set it in any width."""

    def __init__(self, text: str) -> None:
        self._words = text.split(" ")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The words; a piece that is still too long is folded."""
        yield Text(
            " ".join(_broken(word, options.max_width) for word in self._words), overflow="fold"
        )

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """From its longest piece to the whole text in one line."""
        pieces = [piece for word in self._words for piece in _PIECE.findall(word)]
        least = max(map(len, pieces), default=0)
        return Measurement(least, max(least, len(" ".join(self._words)))).with_maximum(
            options.max_width
        )


def _broken(word: str, width: int) -> str:
    """The word, or as many lines as it needs."""
    if len(word) <= width:
        return word
    lines = [""]
    for piece in _PIECE.findall(word):
        if lines[-1] and len(lines[-1]) + len(piece) > width:
            lines.append("")
        lines[-1] += piece
    return "\n".join(lines)
