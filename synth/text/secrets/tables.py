"""Finds secrets in columns: CSV, tables of terminals, Markdown and SQL, whose heading says what
stands below it.
"""

import re
from collections.abc import Iterator, Mapping

from synth.text.secrets.judges import judge
from synth.text.secrets.labelled import Reader
from synth.text.secrets.labels import Label, label_of

_CELLS = {"pin": "cell_pin", "token": "cell_token"}
_ROWS = 200
_RULE = re.compile(r"[\s|:+=\-─│┼╪╞╡├┤═┌┐└┘┬┴╤╧*]+")
_HEADING = re.compile(r"[\w .\"'`*#/()-]{0,40}")
_TUPLE = re.compile(r"\(((?:'(?:''|[^'])*'|\"[^\"]*\"|[^()'\"])*)\)")
_CELL = re.compile(r"\s*(?:N?'((?:''|[^'])*)'|\"([^\"]*)\"|([^,]*))\s*(?:,|\Z)")


def table(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cells below the heading that a match holds, as far as the lines are a table of the same
    columns.
    """
    head_at = text.rfind("\n", 0, start + 1 if text[start : start + 1] == "\n" else start) + 1
    head_end = end_of_line(text, head_at)
    heading = text[head_at:head_end]
    if len(heading) > 600:
        return
    sign = next((sign for sign in ("|", "│", "\t", ";", ",") if sign in heading), "  ")
    if sign == "  ":
        yield from _aligned(text, head_at, head_end)
        return
    names = heading.split(sign)
    if (
        len(names) < 2
        or not all(_HEADING.fullmatch(name.strip()) for name in names)
        or (sign == "," and heading.rstrip().endswith(","))
    ):
        return
    labels = [_label(name) for name in names]
    for first, last in _lines(text, head_end):
        cells = _cells(text, first, last, sign)
        if len(cells) != len(names):
            return
        for label, (begin, close) in zip(labels, cells, strict=True):
            if _holds(label, text[begin:close]):
                yield begin, close


def insert(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Values of the columns that hold secrets, in each tuple after VALUES."""
    columns = text[text.index("(", start) + 1 : text.index(")", start)].split(",")
    labels = [_label(column) for column in columns]
    at = end - 1
    for match in _TUPLE.finditer(text, at, at + 20_000):
        if text[at : match.start()].strip(" \r\n\t,"):
            return
        at = match.end()
        cells = list(_CELL.finditer(text, match.start(1), match.end(1)))[: len(labels)]
        for label, cell in zip(labels, cells, strict=False):
            group = cell.lastindex or 3
            if _holds(label, cell.group(group)):
                yield cell.span(group)


def _aligned(text: str, head_at: int, head_end: int) -> Iterator[tuple[int, int]]:
    """Columns that begin where their headings do, with two blanks or more between them."""
    heading = text[head_at:head_end]
    names = [match for match in re.finditer(r"\S+(?: \S+)*", heading) if len(match.group()) <= 40]
    if len(names) < 2 or any(re.search(r"[(){}=:;\"']", name.group()) for name in names):
        return
    for first, last in _lines(text, head_end):
        line = text[first:last]
        for name in names:
            label = _label(name.group())
            at = name.start()
            if len(line) <= at or (at and not line[at - 1].isspace()):
                continue
            cell = re.compile(r"\S+").match(line, at)
            if (
                cell is not None
                and _holds(label, cell.group())
                and (at or re.match(r"\s{2}", line[cell.end() : cell.end() + 2]))
            ):
                yield first + at, first + cell.end()


def _lines(text: str, at: int) -> Iterator[tuple[int, int]]:
    """Begin and end of the lines that follow, without rules, to the first blank one."""
    for _ in range(_ROWS):
        first = text.find("\n", at) + 1
        if not first:
            return
        at = end_of_line(text, first)
        line = text[first:at]
        if not line.strip() or len(line) > 2000:
            return
        if not _RULE.fullmatch(line):
            yield first, at


def _cells(text: str, first: int, last: int, sign: str) -> list[tuple[int, int]]:
    if sign == "," or sign == ";":
        found = [
            match.span()
            for match in re.compile(rf"(?:\"(?:\"\"|[^\"])*\"|[^{sign}\"]*)(?={sign}|\Z)").finditer(
                text[:last], first
            )
        ]
        found = [
            span
            for at, span in enumerate(found)
            if at == 0 or span[0] > found[at - 1][1] or span[0] < span[1]
        ]
    else:
        found, at = [], first
        for cell in text[first:last].split(sign):
            found.append((at, at + len(cell)))
            at += len(cell) + 1
    return [_stripped(text, *span) for span in found]


def _stripped(text: str, begin: int, close: int) -> tuple[int, int]:
    while begin < close and text[begin] in " \t\r\"'`*":
        begin += 1
    while close > begin and text[close - 1] in " \t\r\"'`*":
        close -= 1
    return begin, close


def end_of_line(text: str, at: int) -> int:
    """Where the line ends that a place stands in."""
    close = text.find("\n", at)
    return len(text) if close < 0 else close


def _label(name: str) -> Label | None:
    bare = name.strip(" \t\r\n\"'`*#[]").removesuffix("s")
    folded = bare.casefold()
    if folded in ("pass", "pw", "psk", "passphrase", "passcode"):
        return "password"
    found = label_of(bare) or label_of(bare.replace(" ", "_"))
    return None if found == "maybe" else found


def _holds(label: Label | None, cell: str) -> bool:
    """Whether a cell below a heading holds what the heading names."""
    return label is not None and judge(_CELLS.get(label, "cell_password"))(cell)


READERS: Mapping[str, Reader] = {"table": table, "insert": insert}
