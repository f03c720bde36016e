"""The strings and numbers of JSON documents in a text, each by its place."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from synth.text.layers import Layer

_LEXEME = re.compile(
    r'[ \t\n\r]*+(?:(?P<text>"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+")'
    r"|(?P<number>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)"
    r"|(?P<word>true|false|null|NaN|-?Infinity)|(?P<mark>[\[\]{}:,]))"
)
_SPACE = re.compile(r"[ \t\n\r]*+")
_BEGIN = re.compile(r"[\[{]")
_WASTE = 4
"""How often a text may be read in vain, for beginnings that begin no document."""
_ESCAPE = re.compile(r'\\(?:u(?P<unicode>[0-9a-fA-F]{4})|(?P<plain>["\\/bfnrt]))')

_VALUE = frozenset({"text", "number", "word", "[", "{"})
_VALUE_OR_END, _KEY, _KEY_OR_END = _VALUE | {"]"}, frozenset({"text"}), frozenset({"text", "}"})
_COLON, _IN_LIST, _IN_OBJECT = frozenset({":"}), frozenset({",", "]"}), frozenset({",", "}"})
"""What may come next (RFC 8259): kinds of lexemes, and marks."""


class Token(NamedTuple):
    """A `key`, a `text` (both with their quotation marks) or a `number`.

    `holder` numbers the object that a key stands in.
    """

    kind: str
    start: int
    end: int
    holder: int = 0


class Document(NamedTuple):
    """One JSON value in a text, from its first character to behind its last, or all of the text."""

    start: int
    end: int
    tokens: Sequence[Token]


def whole(text: str) -> Document | None:
    """The text as one JSON document, or None; NaN and infinities pass, as Python reads them."""
    document, end = _read(text, 0)
    if document is None or not _SPACE.fullmatch(text, end):
        return None

    return Document(0, len(text), document.tokens)


def documents(text: str, spans: Iterable[tuple[int, int]]) -> list[Document]:
    """The text as one document, or else the outermost objects and lists in it that hold a span."""
    all_of_it = whole(text)
    if all_of_it is not None:
        return [all_of_it]

    wanted = list(spans)
    last = max((end for _, end in wanted), default=0)
    found: list[Document] = []
    at, left = 0, _WASTE * len(text)

    while left > 0 and (begin := _BEGIN.search(text, at, last)) is not None:
        document, reached = _read(text, begin.start())
        if document is None:
            left -= reached - begin.start() + 1
            at = begin.start() + 1
            continue

        at = document.end
        if any(start < document.end and end > document.start for start, end in wanted):
            found.append(document)

    return found


def _read(text: str, start: int) -> tuple[Document | None, int]:
    """The value that begins at a place, None where there is none, and how far the text was read."""
    tokens: list[Token] = []
    opened: list[int] = []  # numbers of objects, 0 for a list: a stack of its own has no limit
    objects, at, due = 0, start, _VALUE

    while (lexeme := _LEXEME.match(text, at)) is not None:
        kind = str(lexeme.lastgroup)
        sign = lexeme[kind] if kind == "mark" else kind
        if sign not in due:
            break

        at = lexeme.end()

        if sign in ("[", "{"):
            objects += sign == "{"
            opened.append(objects if sign == "{" else 0)
            due = _KEY_OR_END if sign == "{" else _VALUE_OR_END
        elif sign in (",", ":"):
            due = _KEY if sign == "," and opened[-1] else _VALUE
        elif sign == "text" and due <= _KEY_OR_END:
            tokens.append(Token("key", *lexeme.span(kind), opened[-1]))
            due = _COLON
        else:
            if sign in ("text", "number"):
                tokens.append(Token(sign, *lexeme.span(kind)))
            elif sign in ("]", "}"):
                opened.pop()

            if not opened:
                return Document(start, at, tokens), at

            due = _IN_OBJECT if opened[-1] else _IN_LIST

    return None, at


def unescaped(text: str, token: Token) -> Layer:
    """What a string says; its places count from behind the opening quotation mark."""
    return Layer(text[token.start + 1 : token.end - 1]).read(_ESCAPE)
