"""The statement of a test that failed, and what it expected, as its source says it."""

import ast
from collections.abc import Iterator

import msgspec

LONGEST = 300


class TestedStatement(msgspec.Struct, frozen=True):
    """A statement on one line. `call` and `expected` are the sides of `assert call == expected`,
    where the second is written out as a value.
    """

    text: str
    call: str = ""
    expected: str = ""


def statement_at(text: str, line: int) -> TestedStatement | None:
    """The smallest statement that a line stands in; None for one that is too long to be told."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None

    around = [one for one in _statements(tree) if one.lineno <= line <= (one.end_lineno or 0)]
    if not around:
        return None

    found = min(around, key=lambda one: (one.end_lineno or 0) - one.lineno)
    said = _one_line(text, found)
    if len(said) > LONGEST or isinstance(found, (ast.FunctionDef, ast.ClassDef)):
        return None

    return TestedStatement(said, *_sides(text, found))


def _statements(tree: ast.AST) -> Iterator[ast.stmt]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.stmt))


def _sides(text: str, statement: ast.stmt) -> tuple[str, str]:
    """The call and the value of an assertion that they are equal."""
    compared = statement.test if isinstance(statement, ast.Assert) else None
    if not isinstance(compared, ast.Compare) or len(compared.ops) != 1:
        return "", ""

    left, right = compared.left, compared.comparators[0]
    if not isinstance(compared.ops[0], (ast.Eq, ast.Is)):
        return "", ""
    if _value(left) and not _value(right):
        left, right = right, left
    if not _value(right) or not any(isinstance(node, ast.Call) for node in ast.walk(left)):
        return "", ""

    return _one_line(text, left), _one_line(text, right)


def _value(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _one_line(text: str, node: ast.AST) -> str:
    """A node's source; written anew where it stands on several lines."""
    said = ast.get_source_segment(text, node) or ""
    return said if "\n" not in said else " ".join(ast.unparse(node).split())
