"""One expression of a file replaced by another; all else stays byte for byte."""

import ast
from collections.abc import Callable, Iterator
from typing import cast

import msgspec


class Splice(msgspec.Struct, frozen=True):
    """Bytes `start` to `end` become `text`."""

    start: int
    end: int
    text: bytes


class SourceText:
    """A file of Python by its bytes, in which the offsets of its syntax tree count."""

    def __init__(self, text: str) -> None:
        self.content = text.encode()
        self.tree = ast.parse(text)
        self._lines = [0]
        for line in self.content.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Where an expression begins and ends."""
        placed = cast(ast.expr, node)
        start = self._lines[placed.lineno - 1] + placed.col_offset
        return start, self._lines[(placed.end_lineno or 0) - 1] + (placed.end_col_offset or 0)

    def of(self, node: ast.AST) -> bytes:
        """What an expression says."""
        start, end = self.span(node)
        return self.content[start:end]

    def instead(self, node: ast.AST, text: bytes | str) -> Splice:
        """Another text for an expression."""
        return Splice(*self.span(node), text.encode() if isinstance(text, str) else text)

    def between(self, left: ast.AST, right: ast.AST, old: str, new: str) -> Iterator[Splice]:
        """Another operator between two expressions, where the old one stands there once, outside
        of comments.
        """
        start, end = self.span(left)[1], self.span(right)[0]
        gap = self.content[start:end]
        if gap.count(old.encode()) == 1 and b"#" not in gap:
            at = start + gap.index(old.encode())
            yield Splice(at, at + len(old.encode()), new.encode())

    def spliced(self, one: Splice) -> str | None:
        """The file after an edit; None where it is no Python any more, or says the same."""
        found = self.content[: one.start] + one.text + self.content[one.end :]
        try:
            same = ast.dump(ast.parse(found)) == ast.dump(self.tree)
        except (SyntaxError, ValueError):
            return None
        return None if same else found.decode()


Operator = Callable[[ast.AST, SourceText], Iterator[Splice]]
"""The edits that it knows for one node."""
