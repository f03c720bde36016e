"""The statement of a test that failed, and what it expected, as its source says it."""

import ast
from collections.abc import Iterator

import msgspec

from synth.envs.repo.source.text import SourceFile, readable

LONGEST = 300


class FailingStatement(msgspec.Struct, frozen=True):
    """A statement on one line. `call` is the side of `assert call == other` that calls something,
    where the other side does not, or is a value; `first` whether it is the left one.
    """

    text: str
    call: str = ""
    first: bool = True


def statement_at(text: str, line: int) -> FailingStatement | None:
    """The smallest statement that a line stands in; None for one that is too long to be told."""
    source = readable(text)
    if source is None:
        return None

    around = [
        one for one in _statements(source.tree) if one.lineno <= line <= (one.end_lineno or 0)
    ]
    if not around:
        return None

    found = min(around, key=lambda one: (one.end_lineno or 0) - one.lineno)
    said = _one_line(source, found)
    if len(said) > LONGEST or isinstance(found, (ast.FunctionDef, ast.ClassDef)):
        return None

    return FailingStatement(said, *_call(source, found))


def _statements(tree: ast.AST) -> Iterator[ast.stmt]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.stmt))


def _call(source: SourceFile, statement: ast.stmt) -> tuple[str, bool]:
    """The calling side of an assertion that two are equal, and whether it is the left one."""
    compared = statement.test if isinstance(statement, ast.Assert) else None
    if not isinstance(compared, ast.Compare) or len(compared.ops) != 1:
        return "", True
    if not isinstance(compared.ops[0], (ast.Eq, ast.Is)):
        return "", True

    left, right = compared.left, compared.comparators[0]
    calls = [any(isinstance(node, ast.Call) for node in ast.walk(side)) for side in (left, right)]
    if calls[0] == calls[1]:
        return "", True
    return _one_line(source, left if calls[0] else right), calls[0]


def _one_line(source: SourceFile, node: ast.AST) -> str:
    """A node's source; written anew where it stands on several lines."""
    said = source.said(node)
    return said if "\n" not in said else " ".join(ast.unparse(node).split())
