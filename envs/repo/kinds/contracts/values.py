"""What is returned, changed: a number from one on, a truth turned, a list that is used up."""

import ast
from collections.abc import Callable
from typing import NamedTuple

from synth.envs.repo.kinds.algorithms.rewriting import written
from synth.envs.repo.kinds.contracts.contract import Contract, Contracts, annotated, returned
from synth.envs.repo.source.text import Edit
from synth.envs.repo.source.tree import Call, Function, called

_NUMBERS = ("len", "int", "index", "find", "rfind", "count", "sum", "round", "ord", "ceil", "floor")
_TRUTHS = ("isinstance", "issubclass", "bool", "any", "all", "hasattr", "callable", "startswith")
_LISTS = ("list", "sorted", "split", "splitlines", "rsplit", "findall")
_TEXTS = ("join", "format", "str", "replace", "strip", "lower", "upper", "sub", "ljust", "rjust")


class _Value(NamedTuple):
    change: str
    is_one: Callable[[ast.expr], bool]
    types: tuple[str, ...]
    returns: str
    at_call: str


def _number(node: ast.expr) -> bool:
    arithmetic = isinstance(node, ast.BinOp) and isinstance(
        node.op, ast.Sub | ast.Mult | ast.FloorDiv | ast.Div | ast.Pow
    )
    constant = isinstance(node, ast.Constant) and type(node.value) in (int, float)
    return arithmetic or constant or _calls(node, _NUMBERS)


def _truth(node: ast.expr) -> bool:
    compared = isinstance(node, ast.Compare)
    turned = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    constant = isinstance(node, ast.Constant) and isinstance(node.value, bool)
    return compared or turned or constant or _calls(node, _TRUTHS)


def _list(node: ast.expr) -> bool:
    return isinstance(node, ast.List | ast.ListComp) or _calls(node, _LISTS)


def _text(node: ast.expr) -> bool:
    formatted = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod | ast.Add)
    left = node.left if isinstance(node, ast.BinOp) else node
    constant = isinstance(left, ast.Constant) and isinstance(left.value, str)
    return isinstance(node, ast.JoinedStr) or (constant and formatted) or _calls(node, _TEXTS)


def _calls(node: ast.expr, names: tuple[str, ...]) -> bool:
    return isinstance(node, ast.Call) and called(node) in names


_VALUES = (
    _Value("counted from one", _number, ("int", "float"), "{} + 1", "({} - 1)"),
    _Value("the opposite told", _truth, ("bool",), "not {}", "(not {})"),
    _Value("used up once read", _list, ("list",), "iter({})", "list({})"),
    _Value("the last one first", _list, (), "{}[::-1]", "{}[::-1]"),
    _Value("a line end at the end", _text, ("str",), '{} + "\\n"', "{}[:-1]"),
)


def changed_values(function: Function) -> Contracts:
    """Another value returned, which each caller can turn back."""
    values, source = returned(function), function.source
    for kind in _VALUES:
        if not values or not (annotated(function, *kind.types) or all(map(kind.is_one, values))):
            continue
        edits = [source.replaced(one, kind.returns.format(written(source, one))) for one in values]
        yield Contract(kind.change, tuple(edits), _turned_back(kind.at_call))


def _turned_back(form: str) -> Callable[[Call], Edit]:
    def at_call(call: Call) -> Edit:
        source = call.caller.source
        return source.replaced(call.node, form.format(source.said(call.node)))

    return at_call


def swapped_pair(function: Function) -> Contracts:
    """Two values returned the other way round."""
    values, source = returned(function), function.source
    pairs = [one for one in values if isinstance(one, ast.Tuple) and len(one.elts) == 2]
    if not values or len(pairs) < len(values):
        return
    edits = []
    for pair in pairs:
        first, second = pair.elts
        edits += [
            source.replaced(first, source.said(second)),
            source.replaced(second, source.said(first)),
        ]
    yield Contract("the pair turned round", tuple(edits), _turned_back("{}[::-1]"))
