"""A file of Python, parsed, and changed by replacing what stands between two of its bytes."""

import ast
import textwrap
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Edit(NamedTuple):
    """`text` in the place of the bytes from `start` to `end`."""

    start: int
    end: int
    text: str


class SourceFile:
    """A file's text, its tree, and where each node stands in its bytes."""

    def __init__(self, path: str, text: str) -> None:
        """Raises `SyntaxError` where the text is no Python."""
        self.path, self.text = path, text
        self.tree = ast.parse(text)

    @cached_property
    def _bytes(self) -> bytes:
        return self.text.encode()

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        for line in self._bytes.split(b"\n"):
            starts.append(starts[-1] + len(line) + 1)
        return starts

    def start(self, node: ast.AST) -> int:
        """The byte that a node starts at; a definition's decorators are before it."""
        return self._line_starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined, no-any-return]

    def end(self, node: ast.AST) -> int:
        """The byte after a node."""
        return self._line_starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined, no-any-return]

    def said(self, node: ast.AST) -> str:
        """A node as it is written."""
        return self._bytes[self.start(node) : self.end(node)].decode()

    def between(self, first: ast.AST, second: ast.AST) -> str:
        """What stands between two nodes."""
        return self._bytes[self.end(first) : self.start(second)].decode()

    def replaced(self, node: ast.AST, text: str) -> Edit:
        """Another text for one node."""
        return Edit(self.start(node), self.end(node), text)

    def indentation(self, node: ast.AST) -> str:
        """What stands before a statement on its line, if it is only white space."""
        line = self._line_starts[node.lineno - 1]  # type: ignore[attr-defined]
        before = self._bytes[line : self.start(node)].decode()
        return before if not before.strip() else before[: len(before) - len(before.lstrip())]

    def first_line(self, node: ast.stmt) -> int:
        """The line of a statement's first decorator, or its own."""
        decorators = node.decorator_list if isinstance(node, DEFINITIONS) else []
        return min([node.lineno, *(one.lineno for one in decorators)])

    def line_of(self, node: ast.stmt) -> int:
        """The byte that a statement's first line starts at, decorators included."""
        return self._line_starts[self.first_line(node) - 1]

    def lines(self, node: ast.stmt) -> str:
        """A statement with its decorators, from the start of its first line."""
        return self._bytes[self.line_of(node) : self.end(node)].decode()

    def lines_removed(self, node: ast.stmt) -> Edit:
        """The lines of a statement taken out, with the comments right above a definition and the
        empty lines after it.
        """
        lines, first = self._bytes.split(b"\n"), self.first_line(node)
        last = node.end_lineno or node.lineno
        if isinstance(node, DEFINITIONS):
            while first > 1 and lines[first - 2].strip().startswith(b"#"):
                first -= 1
            while last < len(lines) and not lines[last].strip():
                last += 1
        start, end = self._line_starts[first - 1], self._line_starts[last]
        return Edit(start, min(end, len(self._bytes)), "")

    def before(self, node: ast.stmt, text: str) -> Edit:
        """Lines, written without indentation, in front of a statement and at its depth."""
        start = self.line_of(node)
        return Edit(start, start, textwrap.indent(text, self.indentation(node)) + "\n")

    def raised(self, body: Sequence[ast.stmt], indentation: str) -> str:
        """Statements as they are written, but at another depth; the first line without any."""
        text = self._bytes[self.line_of(body[0]) : self.end(body[-1])].decode()
        deeper = self.indentation(body[0])
        lines = [indentation + line.removeprefix(deeper) for line in text.split("\n")]
        return "\n".join(lines).removeprefix(indentation)

    def spliced(self, edits: Iterable[Edit]) -> str:
        """The text after all edits. Raises `ValueError` where two overlap."""
        out, at = [], 0
        for edit in sorted(set(edits)):
            if edit.start < at:
                raise ValueError(f"{self.path}: two edits of one place")
            out += [self._bytes[at : edit.start], edit.text.encode()]
            at = edit.end
        return b"".join([*out, self._bytes[at:]]).decode()
