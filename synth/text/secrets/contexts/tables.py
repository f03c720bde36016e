"""Finds secrets in columns: CSV, tables of terminals, Markdown and SQL, whose heading says what
stands below it.
"""

import re
from collections.abc import Iterator

from synth.text.secrets.values.credentials import is_password
from synth.text.secrets.values.label_words import Label, label_of
from synth.text.secrets.values.randomness import is_digest, is_placeholder, is_random

_COLUMN = (
    r"pass|passwd|password|passwort|kennwort|pwd|pw|passphrase|passcode|secret|token|pin|api[ "
    r"_]?key|access[ _]?key|secret[ _]?key|psk"
)
TABLE = (
    r"(?i)(?:^|(?:[,;\t|\n]|[^ -~\s])|  )[ \"'`*]{0,3}(?:[A-Za-z0-9]{1,16}[ "
    rf"_-]){{0,3}}(?:{_COLUMN})(?:s|[ _](?:value|key|code|hash))?"
    r"[\"'`* ]{0,3}(?:[,;\t|\r\n]|[^ -~\s]|\Z| {1,40}(?:[A-Z|]|[^ -~]))"
)
INSERT = rf"(?i)\bINTO\s{{1,4}}[\w.\"'`\[\]]{{1,80}}\s{{0,4}}\([^()]{{0,300}}(?:{_COLUMN})[^()]{{0,300}}\)\s{{0,8}}VALUES\s{{0,8}}\("
_ROWS = 200
_RULE = re.compile(r"[\s|:+=\-─│┼╪╞╡├┤═┌┐└┘┬┴╤╧*]+")
_HEADING = re.compile(r"[\w .\"'`*#/()-]{0,40}")
_TUPLE = re.compile(r"\(((?:'(?:''|[^'])*'|\"[^\"]*\"|[^()'\"])*)\)")
_CELL = re.compile(r"\s*(?:N?'((?:''|[^'])*)'|\"([^\"]*)\"|([^,]*))\s*(?:,|\Z)")


def table_values(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cells below the heading that a match holds, as far as the lines are a table of the same
    columns.
    """
    head_at = text.rfind("\n", 0, start + 1 if text[start : start + 1] == "\n" else start) + 1
    head_end = _end_of_line(text, head_at)
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
            if label is not None and _holds(label, text[begin:close]):
                yield begin, close


def insert_values(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
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
            if label is not None and _holds(label, cell.group(group)):
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
            if label is None or len(line) <= at or (at and not line[at - 1].isspace()):
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
        at = _end_of_line(text, first)
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


def _end_of_line(text: str, at: int) -> int:
    close = text.find("\n", at)
    return len(text) if close < 0 else close


def _label(name: str) -> Label | None:
    bare = name.strip(" \t\r\n\"'`*#[]").removesuffix("s")
    folded = bare.casefold()
    if folded in ("pass", "pw", "psk", "passphrase", "passcode"):
        return "password"
    found = label_of(bare) or label_of(bare.replace(" ", "_"))
    return None if found == "maybe" else found


def _holds(label: Label, cell: str) -> bool:
    bare = cell.strip()
    if len(bare) < 3 or is_placeholder(bare) or bare.startswith("<"):
        return False
    if label == "pin":
        return re.fullmatch(r"\d{4,12}", bare) is not None
    if label == "token":
        return is_digest(bare) or (is_random(bare) and any(map(str.isdigit, bare)))
    return (
        is_password(bare, quoted=False)
        and not bare.isupper()
        and re.search(r"[a-z]{3,}\(|^\d{1,4}$", bare) is None
    )
