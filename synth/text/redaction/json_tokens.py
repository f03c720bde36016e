"""Finds the strings and numbers of JSON documents in a text, each with its place, without reading a
value.
"""

import re
from array import array
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from synth.text.secrets.unescaped import Layer

_LEXEME = re.compile(
    r'[ \t\n\r]*+(?:(?P<text>"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+")'
    r"|(?P<number>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)"
    r"|(?P<word>true|false|null|NaN|-?Infinity)|(?P<mark>[\[\]{}:,]))"
)
_SPACE = re.compile(r"[ \t\n\r]*+")
_BEGIN = re.compile(r"[\[{]")
_WASTE = 4
"""How often a text may be read in vain, for beginnings that begin no document."""
_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
_PLAIN = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
Want = Literal["value", "value or end", "key", "key or end", "colon", "comma or end"]

_CLOSES = {"]": ("value or end", "comma or end"), "}": ("key or end", "comma or end")}


class Token(NamedTuple):
    """A key, a string (both with their quotation marks) or a number; `holder` numbers the object
    that a key stands in.
    """

    kind: Literal["key", "text", "number"]
    start: int
    end: int
    holder: int = 0


class Document(NamedTuple):
    """One JSON value in a text, from its first character to behind its last."""

    start: int
    end: int
    tokens: Sequence[Token]


def whole(text: str) -> Document | None:
    """The text as one JSON document (NaN and infinities pass, as in Python's own reader), or
    None.
    """
    document, end = _Reader(text).read(0)
    return document if document is not None and _SPACE.fullmatch(text, end) else None


def documents(text: str, spans: Iterable[tuple[int, int]]) -> list[Document]:
    """The text as one document; else the outermost objects and lists within it that hold one of the
    `spans`.
    """
    if (all_of_it := whole(text)) is not None:
        return [all_of_it]
    wanted = sorted(spans)
    found: list[Document] = []
    last = max((end for _, end in wanted), default=0)
    at, left = 0, _WASTE * len(text)
    while left > 0 and (begin := _BEGIN.search(text, at)) is not None:
        if begin.start() >= last:
            break
        document, reached = _Reader(text).read(begin.start())
        if document is None:
            left -= reached - begin.start() + 1
            at = begin.start() + 1
            continue
        at = document.end
        if any(start < document.end and end > document.start for start, end in wanted):
            found.append(document)
    return found


class _Reader:
    """Reads one value by the grammar of RFC 8259; a stack of its own, so that depth has no
    limit.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[Token] = []
        self._open: list[int] = []
        """Number of each object that is open, 0 for a list."""
        self._objects = 0
        self._want: Want = "value"

    def read(self, start: int) -> tuple[Document | None, int]:
        """The value that begins here, None where there is none, and how far the text was read."""
        at = start
        while (match := _LEXEME.match(self._text, at)) is not None:
            if not self._takes(match):
                return None, at
            at = match.end()
            if not self._open and self._want == "comma or end":
                return Document(start, at, self._tokens), at
        return None, at

    def _takes(self, match: re.Match[str]) -> bool:
        kind, (begin, end) = match.lastgroup, match.span(match.lastgroup or 0)
        if kind == "mark":
            return self._mark(self._text[begin])
        if kind == "text" and self._want in ("key", "key or end"):
            self._tokens.append(Token("key", begin, end, self._open[-1]))
            self._want = "colon"
            return True
        if self._want not in ("value", "value or end"):
            return False
        if kind == "text":
            self._tokens.append(Token("text", begin, end))
        elif kind == "number":
            self._tokens.append(Token("number", begin, end))
        self._want = "comma or end"
        return True

    def _mark(self, mark: str) -> bool:
        want = self._want
        if mark in "[{" and want in ("value", "value or end"):
            self._objects += mark == "{"
            self._open.append(self._objects if mark == "{" else 0)
            self._want = "key or end" if mark == "{" else "value or end"
        elif mark == ":" and want == "colon":
            self._want = "value"
        elif mark == "," and want == "comma or end":
            self._want = "key" if self._open[-1] else "value"
        elif (
            mark in "]}"
            and self._open
            and want in _CLOSES[mark]
            and (self._open[-1] == 0) is (mark == "]")
        ):
            self._open.pop()
            self._want = "comma or end"
        else:
            return False
        return True


def unescaped(text: str, token: Token) -> Layer:
    """What a string says; `origins` are places in the text, the last one that of the closing
    quotation mark.
    """
    pieces: list[str] = []
    origins = array("q")
    at, end = token.start + 1, token.end - 1
    for match in _ESCAPE.finditer(text, at, end):
        pieces += (text[at : match.start()], _char(match))
        origins.extend(range(at, match.start() + 1))
        at = match.end()
    pieces.append(text[at:end])
    origins.extend(range(at, end + 1))
    return Layer("".join(pieces), origins)


def _char(match: re.Match[str]) -> str:
    code, plain = match.groups()
    return chr(int(code, 16)) if code is not None else _PLAIN.get(plain, plain)
