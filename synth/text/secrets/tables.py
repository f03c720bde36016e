"""Secrets in columns whose heading names them: CSV, tables of terminals and Markdown, SQL."""

import re
from collections.abc import Iterator, Sequence

from synth.text.secrets.judges import judge
from synth.text.secrets.labelled import Label, label_of
from synth.text.secrets.spans import Bounds, end_of_line, lines, trimmed
from synth.text.secrets.words import compiled

_CELL_TESTS = {"pin": "cell_pin", "token": "cell_token"}
_ROWS = 200
_LONGEST_HEADING, _LONGEST_ROW, _LONGEST_NAME = 600, 2000, 40
_MARGIN = " \t\r\"'`*"
_SEPARATORS = "|│\t;,"
_RULE = re.compile(r"[\s|:+=\-─│┼╪╞╡├┤═┌┐└┘┬┴╤╧*]+")
_HEADING = re.compile(r"[\w .\"'`*#/()-]{0,40}")
_TUPLE = re.compile(r"\(((?:'(?:''|[^'])*'|\"[^\"]*\"|[^()'\"])*)\)")
_QUOTED_CELL = r"\"(?:\"\"|[^\"])*\"|"
_SQL_CELL = re.compile(r"\s*(?:N?'((?:''|[^'])*)'|\"([^\"]*)\"|([^,]*))\s*(?:,|\Z)")


def table(text: str, start: int, end: int) -> Iterator[Bounds]:
    """Cells below the heading that a match stands in, as far as lines have its columns."""
    head = text.rfind("\n", 0, start + (text[start : start + 1] == "\n")) + 1
    heading = text[head : end_of_line(text, head)]
    if len(heading) > _LONGEST_HEADING:
        return

    sign = next((sign for sign in _SEPARATORS if sign in heading), None)
    names = _aligned_names(heading) if sign is None else _names(heading, sign)
    labels = [_label(heading[first:last]) for first, last in names]
    for first, last in _rows(text, head + len(heading) + 1):
        if sign is None:
            yield from _held(text, labels, _aligned(text, first, last, names))
            continue
        cells = list(_cells(text, first, last, sign))
        if len(cells) != len(names):
            return
        yield from _held(text, labels, cells)


def insert(text: str, start: int, end: int) -> Iterator[Bounds]:
    """Values of the columns that hold secrets, in each tuple after VALUES."""
    columns = text[text.index("(", start) + 1 : text.index(")", start)].split(",")
    labels = [_label(column) for column in columns]
    at = end - 1
    for row in _TUPLE.finditer(text, at, at + 20_000):
        if text[at : row.start()].strip(" \r\n\t,"):
            return
        at = row.end()
        cells = _SQL_CELL.finditer(text, row.start(1), row.end(1))
        yield from _held(text, labels, [cell.span(cell.lastindex or 3) for cell in cells])


def _names(heading: str, sign: str) -> list[Bounds]:
    """The columns of a heading; none where it is a line of something else."""
    names = list(_cells(heading, 0, len(heading), sign))
    fits = all(_HEADING.fullmatch(heading[first:last].strip()) for first, last in names)
    ends_well = sign != "," or not heading.rstrip().endswith(",")
    return names if fits and ends_well and len(names) > 1 else []


def _aligned_names(heading: str) -> list[Bounds]:
    """The columns of a heading with two blanks or more between them."""
    names = [name.span() for name in re.finditer(r"\S+(?: \S+)*", heading)]
    names = [name for name in names if name[1] - name[0] <= _LONGEST_NAME]
    in_code = any(re.search(r"[(){}=:;\"']", heading[first:last]) for first, last in names)
    return [] if in_code or len(names) < 2 else names


def _rows(text: str, at: int) -> Iterator[Bounds]:
    """The lines below a heading without rules, up to a blank one."""
    for first, last in lines(text, at, _ROWS):
        line = text[first:last]
        if not line.strip() or len(line) > _LONGEST_ROW:
            return
        if not _RULE.fullmatch(line):
            yield first, last


def _cells(text: str, first: int, last: int, sign: str) -> Iterator[Bounds]:
    """The parts between separators; those of CSV may stand in quotation marks."""
    sign = re.escape(sign)
    cell = rf"{_QUOTED_CELL}[^{sign}\"]*" if sign in ",;" else f"[^{sign}]*"
    pattern = compiled(rf"({cell})(?:{sign}|\Z)")
    for found in pattern.finditer(text, first, last):
        yield found.span(1)
        if found.end() == found.end(1):
            return


def _aligned(text: str, first: int, last: int, names: Sequence[Bounds]) -> Iterator[Bounds]:
    """Words that begin where the headings do; nothing of a column where none does."""
    line = text[first:last]
    for at, _ in names:
        word = re.compile(r"\S+").match(line, at)
        apart = at == 0 or line[at - 1 : at].isspace()
        if word is None or not apart or (at == 0 and not re.match(r"\s\s", line[word.end() :])):
            yield first, first
        else:
            yield first + at, first + word.end()


def _label(name: str) -> Label | None:
    bare = name.strip(" \t\r\n\"'`*#[]").removesuffix("s")
    if bare.casefold() in ("pass", "pw", "psk", "passphrase", "passcode"):
        return "password"
    found = label_of(bare) or label_of(bare.replace(" ", "_"))
    return None if found == "maybe" else found


def _held(
    text: str, labels: Sequence[Label | None], cells: Iterator[Bounds] | Sequence[Bounds]
) -> Iterator[Bounds]:
    """The cells of a row that hold what the headings above them name."""
    for label, cell in zip(labels, cells, strict=False):
        first, last = trimmed(text, *cell, _MARGIN)
        if label is not None and judge(_CELL_TESTS.get(label, "cell_password"))(text[first:last]):
            yield first, last
