"""A file of Python, parsed, and changed by replacing what stands between two of its characters."""

import ast
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Edit(NamedTuple):
    """`text` in the place of the characters from `start` to `end`."""

    start: int
    end: int
    text: str


class SourceFile:
    """A file's text, its tree, and where each node stands in its characters."""

    def __init__(self, text: str, path: str = "") -> None:
        """Raises `SyntaxError` or `ValueError` where the text is no Python."""
        self.path, self.text = path, text
        self.tree = ast.parse(text)

    @cached_property
    def _lines(self) -> list[str]:
        """Lines as Python counts them: only line feeds and carriage returns end one."""
        return [line.decode() for line in self.text.encode().splitlines(keepends=True)]

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        for line in self._lines:
            starts.append(starts[-1] + len(line))
        return starts

    def _offset(self, line: int, column: int) -> int:
        """Where a line (from 1) has a column, which Python counts in bytes."""
        text = self._lines[line - 1]
        before = column if text.isascii() else len(text.encode()[:column].decode(errors="ignore"))
        return self._line_starts[line - 1] + before

    def start(self, node: ast.AST) -> int:
        """The character that a node starts at; a definition's decorators are before it."""
        return self._offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> int:
        """The character after a node."""
        return self._offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def said(self, node: ast.AST) -> str:
        """A node as it is written."""
        return self.text[self.start(node) : self.end(node)]

    def between(self, first: ast.AST, second: ast.AST) -> str:
        """What stands between two nodes."""
        return self.text[self.end(first) : self.start(second)]

    def beside(self, first: ast.AST, second: ast.AST) -> bool:
        """Whether no parenthesis stands between two nodes."""
        return not {"(", ")"} & set(self.between(first, second))

    def replaced(self, node: ast.AST, text: str) -> Edit:
        """Another text for one node."""
        return Edit(self.start(node), self.end(node), text)

    def renamed(self, node: ast.AST, name: str, text: str) -> Edit:
        """Another text for the name that a node ends with."""
        end = self.end(node)
        return Edit(end - len(name), end, text)

    def swapped(self, first: ast.AST, second: ast.AST) -> Edit:
        """Two nodes the other way round, with what stands between them."""
        text = self.said(second) + self.between(first, second) + self.said(first)
        return Edit(self.start(first), self.end(second), text)

    def operator(self, left: ast.AST, right: ast.AST, old: str, new: str) -> Iterator[Edit]:
        """Another operator between two nodes, where the old one stands there once, outside of
        comments.
        """
        gap = self.between(left, right)
        if gap.count(old) == 1 and "#" not in gap:
            at = self.end(left) + gap.index(old)
            yield Edit(at, at + len(old), new)

    def indentation(self, node: ast.AST) -> str:
        """What stands before a statement on its line, if it is only white space."""
        line = self._line_starts[node.lineno - 1]  # type: ignore[attr-defined]
        before = self.text[line : self.start(node)]
        return before if not before.strip() else before[: len(before) - len(before.lstrip())]

    def first_line(self, node: ast.stmt) -> int:
        """The line of a statement's first decorator, or its own."""
        decorators = node.decorator_list if isinstance(node, DEFINITIONS) else []
        return min([node.lineno, *(one.lineno for one in decorators)])

    def line_of(self, node: ast.stmt) -> int:
        """The character that a statement's first line starts at, decorators included."""
        return self._line_starts[self.first_line(node) - 1]

    def lines(self, node: ast.stmt) -> str:
        """A statement with its decorators, from the start of its first line."""
        return self.text[self.line_of(node) : self.end(node)]

    def lines_removed(self, node: ast.stmt) -> Edit:
        """The lines of a statement taken out, with the comments right above a definition and the
        empty lines after it.
        """
        lines, first = self._lines, self.first_line(node)
        last = node.end_lineno or node.lineno
        if isinstance(node, DEFINITIONS):
            while first > 1 and lines[first - 2].strip().startswith("#"):
                first -= 1
            while last < len(lines) and not lines[last].strip():
                last += 1
        return Edit(self._line_starts[first - 1], self._line_starts[last], "")

    def before(self, node: ast.stmt, text: str) -> Edit:
        """Lines, written without indentation, in front of a statement and at its depth."""
        start = self.line_of(node)
        return Edit(start, start, textwrap.indent(text, self.indentation(node)) + "\n")

    def raised(self, body: Sequence[ast.stmt], indentation: str) -> str:
        """Statements as they are written, but at another depth; the first line without any."""
        text = self.text[self.line_of(body[0]) : self.end(body[-1])]
        deeper = self.indentation(body[0])
        lines = [indentation + line.removeprefix(deeper) for line in text.split("\n")]
        return "\n".join(lines).removeprefix(indentation)

    def edited(self, *edits: Edit) -> "SourceFile | None":
        """The file after all edits; None where two overlap, or where that is no Python."""
        try:
            return readable(spliced(self.text, edits), self.path)
        except ValueError:
            return None


def spliced(text: str, edits: Iterable[Edit]) -> str:
    """A text after all edits. Raises `ValueError` where two overlap."""
    out, at = [], 0
    for edit in sorted(set(edits)):
        if edit.start < at:
            raise ValueError("two edits of one place")
        out += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join([*out, text[at:]])


def outermost(edits: Iterable[Edit]) -> list[Edit]:
    """Edits that do not lie in one another; of those that do, the outer ones."""
    kept = list[Edit]()
    for edit in sorted(edits, key=lambda one: (one.start, -one.end)):
        if not kept or edit.start >= kept[-1].end:
            kept.append(edit)
    return kept


def readable(content: bytes | str, path: str = "") -> SourceFile | None:
    """A file of Python; None where it cannot be read as one."""
    try:
        return SourceFile(content if isinstance(content, str) else content.decode(), path)
    except (SyntaxError, ValueError, RecursionError):
        return None


def read_sources(base: Path, paths: Iterable[str]) -> dict[str, SourceFile]:
    """The files that can be read and are Python."""
    found = {}
    for path in paths:
        try:
            content = (base / path).read_bytes()
        except OSError:
            continue
        if source := readable(content, path):
            found[path] = source
    return found
