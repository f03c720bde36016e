"""Operators on expressions: arguments, comparisons, arithmetic, logic, numbers, subscripts."""

import ast
from collections.abc import Iterator, Mapping

from synth.envs.data_file import data_file
from synth.envs.repo.source.text import Edit, SourceFile

_TOKENS: Mapping[str, str] = data_file("repo/operators")["tokens"]
_OTHER: Mapping[str, Mapping[str, str]] = data_file("repo/operators")["bugs"]
_TEXT = (ast.Constant, ast.JoinedStr)


def swap_arguments(node: ast.AST, source: SourceFile) -> Iterator[Edit]:
    """f(a, b) -> f(b, a), of two arguments that stand side by side."""
    if not isinstance(node, ast.Call):
        return
    for left, right in zip(node.args, node.args[1:], strict=False):
        if isinstance(left, ast.Starred) or isinstance(right, ast.Starred):
            continue
        if source.beside(left, right):
            yield source.swapped(left, right)


def comparison(node: ast.AST, source: SourceFile) -> Iterator[Edit]:
    """a < b -> a <= b, a == b -> a != b, and so on."""
    if not isinstance(node, ast.Compare):
        return
    sides = [node.left, *node.comparators]
    for left, operator, right in zip(sides, node.ops, sides[1:], strict=False):
        yield from _exchanged("comparison", operator, left, right, source)


def arithmetic(node: ast.AST, source: SourceFile) -> Iterator[Edit]:
    """a + b -> a - b, and so on; texts are not joined by a minus."""
    if not isinstance(node, ast.BinOp):
        return
    said = [part for part in (node.left, node.right) if isinstance(part, _TEXT)]
    if any(not isinstance(getattr(part, "value", ""), int) for part in said):
        return
    yield from _exchanged("arithmetic", node.op, node.left, node.right, source)


def and_or(node: ast.AST, source: SourceFile) -> Iterator[Edit]:
    """a and b -> a or b; of a longer row, which is one expression, no part."""
    if isinstance(node, ast.BoolOp) and len(node.values) == 2:
        words = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        left, right = node.values
        yield from source.operator(left, right, *words)


def integer_plus_one(node: ast.AST, source: SourceFile) -> Iterator[Edit]:
    """n -> n + 1."""
    if isinstance(node, ast.Constant) and type(node.value) is int and source.said(node).isdigit():
        yield source.replaced(node, str(node.value + 1))


def boolean(node: ast.AST, source: SourceFile) -> Iterator[Edit]:
    """True -> False, False -> True."""
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield source.replaced(node, str(not node.value))


def slice_bounds(node: ast.AST, source: SourceFile) -> Iterator[Edit]:
    """a[1:] -> a[2:], a[:n] -> a[:n - 1], a[i:j] -> a[i + 1:j]."""
    if not isinstance(node, ast.Slice):
        return
    for bound, sign in ((node.lower, "+"), (node.upper, "-")):
        if isinstance(bound, ast.Constant) and isinstance(bound.value, int):
            yield source.replaced(bound, str(bound.value + 1))
        elif isinstance(bound, (ast.Name, ast.Attribute)):
            yield source.replaced(bound, source.said(bound) + f" {sign} 1")


def subscript(node: ast.AST, source: SourceFile) -> Iterator[Edit]:
    """a[0] -> a[-1], a[-1] -> a[0]."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        index = {"0": "-1", "-1": "0"}.get(source.said(node.slice))
        if index is not None:
            yield source.replaced(node.slice, index)


def branches_of_an_expression(node: ast.AST, source: SourceFile) -> Iterator[Edit]:
    """a if c else b -> b if c else a."""
    if isinstance(node, ast.IfExp):
        middle = source.between(node.body, node.orelse)
        if not {"(", ")"} & {middle[:1], middle[-1:]}:
            yield source.swapped(node.body, node.orelse)


def sign(node: ast.AST, source: SourceFile) -> Iterator[Edit]:
    """-a -> a, not a -> a."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
        yield source.replaced(node, "(" + source.said(node.operand) + ")")


def _exchanged(
    table: str, operator: ast.AST, left: ast.AST, right: ast.AST, source: SourceFile
) -> Iterator[Edit]:
    """Another operator between two values, where the table has one."""
    token = _TOKENS[type(operator).__name__]
    if token in _OTHER[table]:
        yield from source.operator(left, right, token, _OTHER[table][token])
