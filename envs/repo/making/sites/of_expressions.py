"""Operators on expressions: arguments, comparisons, arithmetic, logic, numbers, subscripts."""

import ast
from collections.abc import Iterator

from synth.envs.repo.making.sites.splice import SourceText, Splice

_COMPARED: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.In: ("in", "not in"),
}
_COMPUTED: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.FloorDiv: ("//", "%"),
    ast.Mod: ("%", "//"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
}
_TEXT = (ast.Constant, ast.JoinedStr)


def swap_arguments(node: ast.AST, source: SourceText) -> Iterator[Splice]:
    """f(a, b) -> f(b, a), of two arguments that stand side by side."""
    if not isinstance(node, ast.Call):
        return
    for left, right in zip(node.args, node.args[1:], strict=False):
        if isinstance(left, ast.Starred) or isinstance(right, ast.Starred):
            continue
        (start, middle), (later, end) = source.span(left), source.span(right)
        gap = source.content[middle:later]
        if b"(" not in gap and b")" not in gap:
            yield Splice(start, end, source.of(right) + gap + source.of(left))


def comparison(node: ast.AST, source: SourceText) -> Iterator[Splice]:
    """a < b -> a <= b, a == b -> a != b, and so on."""
    if not isinstance(node, ast.Compare):
        return
    sides = [node.left, *node.comparators]
    for left, operator, right in zip(sides, node.ops, sides[1:], strict=False):
        if type(operator) in _COMPARED:
            yield from source.between(left, right, *_COMPARED[type(operator)])


def arithmetic(node: ast.AST, source: SourceText) -> Iterator[Splice]:
    """a + b -> a - b, and so on; texts are not joined by a minus."""
    if not isinstance(node, ast.BinOp) or type(node.op) not in _COMPUTED:
        return
    said = [part for part in (node.left, node.right) if isinstance(part, _TEXT)]
    if any(not isinstance(getattr(part, "value", ""), int) for part in said):
        return
    yield from source.between(node.left, node.right, *_COMPUTED[type(node.op)])


def and_or(node: ast.AST, source: SourceText) -> Iterator[Splice]:
    """a and b -> a or b; of a longer row, which is one expression, no part."""
    if isinstance(node, ast.BoolOp) and len(node.values) == 2:
        words = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        left, right = node.values
        yield from source.between(left, right, *words)


def integer_plus_one(node: ast.AST, source: SourceText) -> Iterator[Splice]:
    """n -> n + 1."""
    if isinstance(node, ast.Constant) and type(node.value) is int and source.of(node).isdigit():
        yield source.instead(node, str(node.value + 1))


def boolean(node: ast.AST, source: SourceText) -> Iterator[Splice]:
    """True -> False, False -> True."""
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield source.instead(node, str(not node.value))


def slice_bounds(node: ast.AST, source: SourceText) -> Iterator[Splice]:
    """a[1:] -> a[2:], a[:n] -> a[:n - 1], a[i:j] -> a[i + 1:j]."""
    if not isinstance(node, ast.Slice):
        return
    for bound, sign in ((node.lower, "+"), (node.upper, "-")):
        if isinstance(bound, ast.Constant) and isinstance(bound.value, int):
            yield source.instead(bound, str(bound.value + 1))
        elif isinstance(bound, (ast.Name, ast.Attribute)):
            yield source.instead(bound, source.of(bound) + f" {sign} 1".encode())


def subscript(node: ast.AST, source: SourceText) -> Iterator[Splice]:
    """a[0] -> a[-1], a[-1] -> a[0]."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        index = {b"0": "-1", b"-1": "0"}.get(source.of(node.slice))
        if index is not None:
            yield source.instead(node.slice, index)


def branches_of_an_expression(node: ast.AST, source: SourceText) -> Iterator[Splice]:
    """a if c else b -> b if c else a."""
    if isinstance(node, ast.IfExp):
        (start, first), (second, end) = source.span(node.body), source.span(node.orelse)
        middle = source.content[first:second]
        if not {b"(", b")"} & {bytes([byte]) for byte in middle[:1] + middle[-1:]}:
            yield Splice(start, end, source.of(node.orelse) + middle + source.of(node.body))


def sign(node: ast.AST, source: SourceText) -> Iterator[Splice]:
    """-a -> a, not a -> a."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
        yield source.instead(node, b"(" + source.of(node.operand) + b")")
