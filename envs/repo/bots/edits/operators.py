"""The operators that undo small bugs: what may be written in the place of a node's parts."""

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from synth.envs.data_file import data_file
from synth.envs.repo.source.text import Edit, SourceFile

Edits = Iterator[tuple[str, Edit]]
"""(operator, edit)."""

_TABLES: Mapping[str, Any] = data_file("repo/operators")
_TOKENS: Mapping[str, str] = _TABLES["tokens"]


def _taken_for() -> Mapping[str, list[str]]:
    """Names by the names that they may have been put in place of."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for pairs in data_file("repo/look_alikes").values():
        for right, wrong in pairs.items():
            found[wrong].append(right)
    return found


_TAKEN_FOR = _taken_for()


def edits_of(node: ast.AST, source: SourceFile) -> Edits:
    """All edits of one node, without those of its parts."""
    for kind, edits in _OPERATORS:
        if isinstance(node, kind):
            yield from edits(node, source)


def _swapped(operator: str, one: ast.AST, other: ast.AST, source: SourceFile) -> Edits:
    """Two parts the other way round, with what stands between them."""
    if source.beside(one, other):
        yield operator, source.swapped(one, other)


def _arguments(node: ast.Call, source: SourceFile) -> Edits:
    """Two neighbours among the positional arguments the other way round."""
    for one, other in pairwise(node.args):
        yield from _swapped("arguments", one, other, source)


def _tokens(operator: ast.AST, left: ast.AST, right: ast.AST, source: SourceFile) -> Edits:
    """Other operators between two values, as the tables have them."""
    token = _TOKENS[type(operator).__name__]
    for table in ("comparison", "arithmetic"):
        for other in _TABLES[table].get(token, ()):
            for edit in source.operator(left, right, token, other):
                yield table, edit


def _compared(node: ast.Compare, source: SourceFile) -> Edits:
    """Another comparison of the same values."""
    for operator, (left, right) in zip(
        node.ops, pairwise([node.left, *node.comparators]), strict=True
    ):
        yield from _tokens(operator, left, right, source)


def _computed(node: ast.BinOp, source: SourceFile) -> Edits:
    """Another operation, the values the other way round, or one of them left out."""
    yield from _tokens(node.op, node.left, node.right, source)
    yield from _swapped("operands", node.left, node.right, source)
    for side in (node.left, node.right):
        yield "operand left out", source.replaced(node, source.said(side))


def _in_place(node: ast.AugAssign, source: SourceFile) -> Edits:
    """Another operation in place."""
    yield from _tokens(node.op, node.target, node.value, source)


def _junctions(node: ast.BoolOp, source: SourceFile) -> Edits:
    """`and` for `or`, and one of the conditions left out."""
    token, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    for left, right in pairwise(node.values):
        for edit in source.operator(left, right, token, other):
            yield "junction", edit

    for left_out in node.values:
        kept = [source.said(one) for one in node.values if one is not left_out]
        yield "condition left out", source.replaced(node, f" {token} ".join(kept))


def _conditions(node: ast.If | ast.IfExp | ast.While | ast.Assert, source: SourceFile) -> Edits:
    """A condition the other way round, and the branches of an expression."""
    test = node.test
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield "negation", source.replaced(test, source.said(test.operand))
    else:
        yield "negation", source.replaced(test, "not (" + source.said(test) + ")")
    if isinstance(node, ast.IfExp):
        yield from _swapped("branches", node.body, node.orelse, source)


def _constants(node: ast.Constant, source: SourceFile) -> Edits:
    """A number one less or more, the other truth value, a text with or without a blank."""
    value = node.value
    if isinstance(value, bool):
        yield "truth value", source.replaced(node, str(not value))
    elif isinstance(value, int):
        for other in (value - 1, value + 1, -value, -1):
            yield "number", source.replaced(node, str(other))
    elif value is None:
        for text in ("True", "False", "0"):
            yield "nothing", source.replaced(node, text)
    elif value in ("", " "):
        yield "blank", source.replaced(node, "' '" if value == "" else "''")


def _unsigned(node: ast.UnaryOp, source: SourceFile) -> Edits:
    """A sign or a `not` left out; the last element for the first."""
    yield "sign", source.replaced(node, source.said(node.operand))
    if source.said(node) == "-1":
        yield "number", source.replaced(node, "0")


def _named(node: ast.Name | ast.Attribute, source: SourceFile) -> Edits:
    """The names that this one is taken for."""
    name = node.id if isinstance(node, ast.Name) else node.attr
    for right in _TAKEN_FOR.get(name, ()):
        yield "name", source.renamed(node, name, right)


def _returned(node: ast.Return, source: SourceFile) -> Edits:
    """What is returned the other way round: a truth, or a pair."""
    value = node.value
    if isinstance(value, ast.Compare | ast.BoolOp | ast.Name | ast.Call):
        yield "negation", source.replaced(value, "not (" + source.said(value) + ")")
    elif isinstance(value, ast.Tuple) and len(value.elts) == 2:
        one, other = value.elts
        yield from _swapped("pair", one, other, source)


def _sliced(node: ast.Slice, source: SourceFile) -> Edits:
    """A bound of a slice one less or more, where it is no number."""
    for bound in (node.lower, node.upper):
        if bound is not None and not isinstance(bound, ast.Constant):
            for more in (" + 1", " - 1"):
                yield "bound", source.replaced(bound, source.said(bound) + more)


_OPERATORS: tuple[tuple[type | Any, Callable[[Any, SourceFile], Edits]], ...] = (
    (ast.Compare, _compared),
    (ast.Call, _arguments),
    (ast.If | ast.IfExp | ast.While | ast.Assert, _conditions),
    (ast.BinOp, _computed),
    (ast.AugAssign, _in_place),
    (ast.BoolOp, _junctions),
    (ast.Constant, _constants),
    (ast.UnaryOp, _unsigned),
    (ast.Name | ast.Attribute, _named),
    (ast.Return, _returned),
    (ast.Slice, _sliced),
)
