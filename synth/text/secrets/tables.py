"""Secrets in columns whose heading names them: CSV, tables of terminals and Markdown, SQL."""

import re
from collections.abc import Iterable, Iterator, Sequence

from synth.text.secrets.judges import judge
from synth.text.secrets.labelled import Label, label_of
from synth.text.secrets.spans import Bounds, end_of_line, lines, trimmed
from synth.text.secrets.words import compiled

_CELL_TESTS = {"pin": "cell_pin", "token": "cell_token"}
_ROWS = 200
_LONGEST_HEADING, _LONGEST_ROW = 600, 2000
_MARGIN = " \t\r\"'`*"
_RULE = re.compile(r"[\s|:+=\-─│┼╪╞╡├┤═┌┐└┘┬┴╤╧*]+")

_SEPARATORS = "|│\t;,"
_HEADING = re.compile(r"[\w .\"'`*#/()-]{0,40}")
_ALIGNED_HEADING = re.compile(r"[^(){}=:;\"']{0,40}")
"""What a heading is between separators, and with two blanks or more around it."""
_ALIGNED_NAME = re.compile(r"\S+(?: \S+)*")
_FIRST_WORD, _WORD = re.compile(r"\S+(?=\s\s)"), re.compile(r"(?<!\S)\S+")

_TUPLE = re.compile(r"\(((?:'(?:''|[^'])*'|\"[^\"]*\"|[^()'\"])*)\)")
_SQL_CELL = re.compile(r"\s*(?:N?'((?:''|[^'])*)'|\"([^\"]*)\"|([^,]*))\s*(?:,|\Z)")
_LONGEST_INSERT = 20_000


def table(text: str, start: int, end: int) -> Iterator[Bounds]:
    """Cells below the heading that a match stands in, as far as lines have its columns."""
    first = text.rfind("\n", 0, start + (text[start : start + 1] == "\n")) + 1
    last = end_of_line(text, first)
    sign = next((sign for sign in _SEPARATORS if sign in text[first:last]), "")
    names = _names(text, first, last, sign)
    if last - first > _LONGEST_HEADING or len(names) < 2:
        return

    labels = [_label(text[name[0] : name[1]]) for name in names]
    columns = [name[0] - first for name in names]

    for row in lines(text, last + 1, _ROWS):
        line = text[row[0] : row[1]]
        if not line.strip() or len(line) > _LONGEST_ROW:
            return

        if _RULE.fullmatch(line):
            continue

        cells = [*(_cells(text, *row, sign) if sign else _aligned(text, *row, columns))]
        if len(cells) != len(names):
            return

        yield from _held(text, labels, cells)


def insert(text: str, start: int, end: int) -> Iterator[Bounds]:
    """Values of the columns that hold secrets, in each tuple after VALUES."""
    columns = text[text.index("(", start) + 1 : text.index(")", start)].split(",")
    labels = [_label(column) for column in columns]
    at = end - 1

    for row in _TUPLE.finditer(text, at, at + _LONGEST_INSERT):
        if text[at : row.start()].strip(" \r\n\t,"):
            return

        at = row.end()
        cells = _SQL_CELL.finditer(text, row.start(1), row.end(1))
        yield from _held(text, labels, (cell.span(cell.lastindex or 3) for cell in cells))


def _names(text: str, first: int, last: int, sign: str) -> list[Bounds]:
    """The columns of a heading; none where it is a line of something else."""
    if sign:
        names, heading = list(_cells(text, first, last, sign)), _HEADING
    else:
        names = [name.span() for name in _ALIGNED_NAME.finditer(text, first, last)]
        heading = _ALIGNED_HEADING

    fits = all(heading.fullmatch(text[begin:end].strip()) for begin, end in names)
    goes_on = sign == "," and text[first:last].rstrip().endswith(",")

    return names if fits and not goes_on else []


def _cells(text: str, first: int, last: int, sign: str) -> Iterator[Bounds]:
    """The parts between separators; those of CSV may stand in quotation marks."""
    sign = re.escape(sign)
    in_quotes = rf"\"(?:\"\"|[^\"])*\"|[^{sign}\"]*"
    cell = in_quotes if sign in ",;" else f"[^{sign}]*"

    for found in compiled(rf"({cell})(?:{sign}|\Z)").finditer(text, first, last):
        yield found.span(1)
        if found.end() == found.end(1):
            return


def _aligned(text: str, first: int, last: int, columns: Iterable[int]) -> Iterator[Bounds]:
    """Words that begin where the headings do; nothing of a column where none does."""
    for column in columns:
        word = (_WORD if column else _FIRST_WORD).match(text, first + column, last)
        yield (first, first) if word is None else word.span()


def _label(name: str) -> Label | None:
    """What a heading announces; nothing where only more than a name would tell."""
    bare = name.strip(" \t\r\n\"'`*#[]").removesuffix("s")
    found = "password" if bare.casefold() == "pass" else label_of(bare)
    return None if found == "maybe" else found


def _held(text: str, labels: Sequence[Label | None], cells: Iterable[Bounds]) -> Iterator[Bounds]:
    """The cells of a row that hold what the headings above them name."""
    for label, cell in zip(labels, cells, strict=False):
        first, last = trimmed(text, *cell, _MARGIN)
        if label is not None and judge(_CELL_TESTS.get(label, "cell_password"))(text[first:last]):
            yield first, last
