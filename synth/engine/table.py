"""A table of text: the same columns and rows on a page, on a terminal and in Markdown."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table as Grid
from rich.text import Text

from synth.schemas import SPACING, in_cell, in_html, printable

NOTHING: Mapping[str, str] = MappingProxyType({})
_NUMBER = re.compile(r"^[-+]?[\d.,]+(?:e[-+]\d+)?(?:–[\d.,]+)?(?: ?(?:%|KiB|MiB|ms|s))?$|^-$")
_PIECE = re.compile(r"[^:_]*[:_]|[^:_]+")


class DrawnCell(str):
    """A cell that is markup of our own (a small picture), and not text to be escaped."""

    __slots__ = ()


class Table(msgspec.Struct, frozen=True):
    """Columns and rows, with a title; a column of numbers is set to the right."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    @property
    def numeric(self) -> list[bool]:
        """Of each column, whether it holds nothing but numbers."""
        return [
            bool(self.rows) and all(_NUMBER.match(row[at]) for row in self.rows)
            for at in range(len(self.columns))
        ]

    def html(self, meanings: Mapping[str, str] = NOTHING) -> str:
        """With a caption, in a region that scrolls; a pointer that rests on a column is shown what
        it means.
        """
        kinds = [' class="number"' if is_number else "" for is_number in self.numeric]
        head = "".join(
            f'<th scope="col"{kind}>{meant(column, meanings) or in_html(column)}</th>'
            for column, kind in zip(self.columns, kinds, strict=True)
        )
        lines = "".join(
            "<tr>"
            + "".join(
                f"<td{kind}>{cell if isinstance(cell, DrawnCell) else in_html(cell)}</td>"
                for cell, kind in zip(row, kinds, strict=True)
            )
            + "</tr>"
            for row in self.rows
        )
        title = in_html(self.title)
        region = f'<div class="scroll table" tabindex="0" role="group" aria-label="{title}">'
        return (
            f"{region}<table><caption>{title}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{lines}</tbody></table></div>"
        )

    def markdown(self) -> str:
        """For cards and artifacts."""
        rules = ["---:" if is_number else "---" for is_number in self.numeric]
        rows = [[in_cell(cell) for cell in row] for row in self.rows]
        lines = [f"| {' | '.join(cells)} |" for cells in rows]
        return "\n".join([f"| {' | '.join(self.columns)} |", f"|{'|'.join(rules)}|", *lines]) + "\n"

    def grid(self, styles: Mapping[str, str] = NOTHING) -> Grid:
        """For a terminal: the last column is wrapped, no other one is; `styles` of cells that hold
        just that text.
        """
        grid = Grid(
            title=Text(printable(self.title)) if self.title else None,
            title_style="bold",
            title_justify="left",
            header_style="bold",
        )
        for column, is_number in zip(self.columns, self.numeric, strict=True):
            last = column == self.columns[-1]
            grid.add_column(
                Text(printable(column)),
                justify="right" if is_number else "left",
                no_wrap=not last,
            )

        for row in self.rows:
            *cells, last_cell = (printable(cell, SPACING) for cell in row)
            grid.add_row(
                *(Text(cell, styles.get(cell, "")) for cell in cells), WrappedCell(last_cell)
            )

        return grid


class WrappedCell:
    """A text that a table can set in any width: wrapped between words, names that are too long
    after a `:` or `_`, never cut.
    """

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
    if len(word) <= width or "\n" in word:
        return word
    lines = [""]
    for piece in _PIECE.findall(word):
        if lines[-1] and len(lines[-1]) + len(piece) > width:
            lines.append("")
        lines[-1] += piece
    return "\n".join(lines)


def meant(term: str, meanings: Mapping[str, str]) -> str:
    """A term with what it means, for a pointer that rests on it; nothing where no meaning is
    known.
    """
    return (
        f'<abbr title="{in_html(meanings[term])}">{in_html(term)}</abbr>'
        if term in meanings
        else ""
    )
