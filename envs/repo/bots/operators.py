"""The operators that undo small bugs: what may be written in the place of a node's parts."""

import ast
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from synth.envs.data_file import data_file
from synth.envs.repo.text import Node, Text

Spans = Iterator[tuple[str, int, int, bytes]]
"""(operator, first byte, byte after the last, what comes in their place)."""

_TABLES: Mapping[str, Any] = data_file("repo/repairs")
_TOKENS: Mapping[str, str] = _TABLES["tokens"]
_NAMES: Mapping[str, str] = {
    **{other: name for name, other in _TABLES["names"].items()},
    **_TABLES["names"],
}


def edits_of(node: Node, text: Text) -> Spans:
    """All edits of one node, without those of its parts."""
    for kind, edits in _OPERATORS:
        if isinstance(node, kind):
            yield from edits(node, text)


def _arguments_swapped(node: ast.Call, text: Text) -> Spans:
    """Two neighbours among the positional arguments the other way round."""
    for one, other in pairwise(node.args):
        yield _swapped("arguments", one, other, text)


def _swapped(operator: str, one: Node, other: Node, text: Text) -> tuple[str, int, int, bytes]:
    """Two parts the other way round, with what stands between them."""
    between = text.source[text.end(one) : text.start(other)]
    return operator, text.start(one), text.end(other), text.of(other) + between + text.of(one)


def _compared(node: ast.Compare, text: Text) -> Spans:
    """Another comparison of the same values."""
    values = [node.left, *node.comparators]
    for operator, (left, right) in zip(node.ops, pairwise(values), strict=True):
        yield from _tokens("comparison", operator, left, right, text)


def _computed(node: ast.BinOp, text: Text) -> Spans:
    """Another operation, the values the other way round, or one of them left out."""
    yield from _tokens("arithmetic", node.op, node.left, node.right, text)
    yield _swapped("operands", node.left, node.right, text)
    for side in (node.left, node.right):
        yield "operand left out", text.start(node), text.end(node), text.of(side)


def _tokens(table: str, operator: ast.AST, left: Node, right: Node, text: Text) -> Spans:
    """Other tokens between two values, as a table has them."""
    token = _TOKENS[type(operator).__name__]
    place = text.between(left, right, token)
    if place is not None:
        for other in _TABLES[table][token]:
            yield table, *place, other.encode()


def _added_in_place(node: ast.AugAssign, text: Text) -> Spans:
    """Another operation in place."""
    yield from _tokens("arithmetic", node.op, node.target, node.value, text)


def _junctions(node: ast.BoolOp, text: Text) -> Spans:
    """`and` for `or`, and one of the conditions left out."""
    token, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    for left, right in pairwise(node.values):
        place = text.between(left, right, token)
        if place is not None:
            yield "junction", *place, other.encode()

    for left_out in node.values:
        kept = [text.of(one) for one in node.values if one is not left_out]
        yield "condition left out", text.start(node), text.end(node), f" {token} ".encode().join(kept)


def _conditions(node: ast.If | ast.IfExp | ast.While | ast.Assert, text: Text) -> Spans:
    """A condition the other way round, and branches that were cut off."""
    test = node.test
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield "negation", text.start(test), text.end(test), text.of(test.operand)
    elif not isinstance(test, ast.Constant):
        yield "negation", text.start(test), text.end(test), b"not (" + text.of(test) + b")"
    if isinstance(node, ast.IfExp):
        yield _swapped("branches", node.body, node.orelse, text)


def _constants(node: ast.Constant, text: Text) -> Spans:
    """A number one less or more; the other truth value."""
    value, place = node.value, (text.start(node), text.end(node))
    if isinstance(value, bool):
        yield "truth value", *place, str(not value).encode()
    elif isinstance(value, int):
        for other in (value - 1, value + 1, -value):
            yield "number", *place, str(other).encode()
    elif value is None:
        for other in ("True", "False", "0"):
            yield "nothing", *place, other.encode()


def _negated(node: ast.UnaryOp, text: Text) -> Spans:
    """A sign or a `not` left out."""
    yield "sign", text.start(node), text.end(node), text.of(node.operand)


def _named(node: ast.Name | ast.Attribute, text: Text) -> Spans:
    """A name's opposite."""
    name = node.id if isinstance(node, ast.Name) else node.attr
    if name in _NAMES:
        yield "name", text.end(node) - len(name.encode()), text.end(node), _NAMES[name].encode()


def _returned(node: ast.Return, text: Text) -> Spans:
    """What is returned the other way round, as far as it is a truth."""
    if isinstance(node.value, ast.Compare | ast.BoolOp | ast.Name | ast.Call):
        value = node.value
        yield "negation", text.start(value), text.end(value), b"not (" + text.of(value) + b")"


def _sliced(node: ast.Slice, text: Text) -> Spans:
    """A bound of a slice one less or more, where it is no number."""
    for bound in (node.lower, node.upper):
        if bound is not None and not isinstance(bound, ast.Constant):
            for more in (b" + 1", b" - 1"):
                yield "bound", text.end(bound), text.end(bound), more


_Edits = Callable[[Any, Text], Spans]
_OPERATORS: tuple[tuple[type | Any, _Edits], ...] = (
    (ast.Compare, _compared),
    (ast.Call, _arguments_swapped),
    (ast.If | ast.IfExp | ast.While | ast.Assert, _conditions),
    (ast.BinOp, _computed),
    (ast.AugAssign, _added_in_place),
    (ast.BoolOp, _junctions),
    (ast.Constant, _constants),
    (ast.UnaryOp, _negated),
    (ast.Name | ast.Attribute, _named),
    (ast.Return, _returned),
    (ast.Slice, _sliced),
)
