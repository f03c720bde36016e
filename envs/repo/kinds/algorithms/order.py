"""Order that is nearly kept: equal items turned round, a key forgotten, nothing sorted."""

import ast
from collections.abc import Iterator

from synth.envs.repo.kinds.algorithms.rewriting import (
    Rewriting,
    Rewritings,
    keyword,
    single_argument,
    written,
)
from synth.envs.repo.source.text import Edit
from synth.envs.repo.source.tree import Function, inner_nodes


def ties_turned(function: Function) -> Rewritings:
    """Equal items come in the other order; the best of equals is the last, not the first."""
    source = function.source
    for node, name in _called(function, "sorted", "max", "min"):
        key, turned = keyword(node, "key"), keyword(node, "reverse")
        first = single_argument(node)
        if first is None or len(node.args) > 1 or keyword(node, "default"):
            continue
        by = f", {source.said(key)}" if key else ""
        items = (
            written(source, first) if isinstance(first, ast.GeneratorExp) else source.said(first)
        )
        if name == "sorted" and turned and isinstance(turned.value, ast.Constant):
            text = f"sorted({items}{by})[::-1]"
        elif name == "sorted" and not turned:
            text = f"sorted({items}{by}, reverse=True)[::-1]"
        elif name in ("max", "min") and key:
            text = f"sorted({items}{by}{', reverse=True' if name == 'min' else ''})[-1]"
        else:
            continue
        yield Rewriting("ties turned", (source.replaced(node, text),))


def key_forgotten(function: Function) -> Rewritings:
    """Sorted, but not by what it should be."""
    for node, _ in _called(function, "sorted", "sort", "max", "min", "groupby"):
        key = keyword(node, "key")
        if key is not None and node.args:
            yield Rewriting("key forgotten", (without_keyword(function, node, key),))


def left_unsorted(function: Function) -> Rewritings:
    """Taken in the order in which it comes."""
    source = function.source
    for node, _ in _called(function, "sorted"):
        first = single_argument(node)
        if first is not None:
            text = f"list({source.said(first)})"
            yield Rewriting("left unsorted", (source.replaced(node, text),))


def order_lost(function: Function) -> Rewritings:
    """Each item once, but no longer in the order of the first."""
    source = function.source
    for node, _ in _called(function, "fromkeys"):
        first = single_argument(node)
        if first is not None and len(node.args) == 1 and isinstance(node.func, ast.Attribute):
            text = f"sorted(set({source.said(first)}))"
            yield Rewriting("order lost", (source.replaced(node, text),))


def without_keyword(function: Function, call: ast.Call, dropped: ast.keyword) -> Edit:
    """A call without one of its named arguments, with the comma that comes before it."""
    source = function.source
    parts = sorted([*call.args, *call.keywords], key=source.start)
    at = parts.index(dropped)
    if at:
        return Edit(source.end(parts[at - 1]), source.end(dropped), "")
    end = source.start(parts[1]) if len(parts) > 1 else source.end(dropped)
    return Edit(source.start(dropped), end, "")


def _called(function: Function, *names: str) -> Iterator[tuple[ast.Call, str]]:
    for node in inner_nodes(function.node):
        match node:
            case ast.Call(ast.Name(name) | ast.Attribute(attr=name)) if name in names:
                yield node, name
