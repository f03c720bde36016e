"""Recursion that goes down one step and no further."""

import ast

from synth.envs.repo.kinds.algorithms.rewriting import Rewriting, Rewritings, single_argument
from synth.envs.repo.source.tree import Function, inner_nodes


def one_deep(function: Function) -> Rewritings:
    """Every call of itself is taken for its first argument."""
    source, edits, inside = function.source, [], set()
    for node in inner_nodes(function.node):
        call, whole, before = node, node, ""
        if isinstance(node, ast.YieldFrom):
            call, before = node.value, "yield "
        if not isinstance(call, ast.Call) or id(call) in inside or not _itself(function, call):
            continue
        inside |= {id(one) for one in ast.walk(call)}
        argument = single_argument(call)
        if argument is not None and isinstance(whole, ast.expr):
            edits.append(source.replaced(whole, before + source.said(argument)))
    if edits:
        yield Rewriting("one deep", tuple(edits))


def _itself(function: Function, call: ast.Call) -> bool:
    match call.func:
        case ast.Name(name):
            return function.owner is None and name == function.node.name
        case ast.Attribute(ast.Name("self" | "cls"), name):
            return function.owner is not None and name == function.node.name
    return False
