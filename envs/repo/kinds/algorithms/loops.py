"""Loops and recursion that end too early: one round in place of many, the first find in place of
the best, one step down and no further.
"""

import ast
from collections.abc import Iterator, Sequence

from synth.envs.repo.kinds.algorithms.rewriting import (
    LOOPS,
    Rewriting,
    Rewritings,
    single_argument,
)
from synth.envs.repo.source.text import Edit, SourceFile
from synth.envs.repo.source.tree import FUNCTIONS, Function, inner_nodes


def one_round(function: Function) -> Rewritings:
    """`while` that goes round once at most."""
    source = function.source
    for node in inner_nodes(function.node):
        if not isinstance(node, ast.While) or node.orelse or isinstance(node.test, ast.Constant):
            continue
        if not any(isinstance(one, ast.Break | ast.Continue) for one in _of_loop(node.body)):
            start = source.start(node)
            yield Rewriting("one round", (Edit(start, start + len("while"), "if"),))


def first_is_best(function: Function) -> Rewritings:
    """The search for the best ends with the first that is better than nothing."""
    for loop in _loops(function):
        for node in _of_loop(loop.body):
            if isinstance(node, ast.If) and _improves(node) and not node.orelse:
                yield Rewriting("first is best", (after(function.source, node.body[-1], "break"),))


def last_alone(function: Function) -> Rewritings:
    """What a loop adds up is set anew in each round."""
    source = function.source
    for loop in _loops(function):
        for node in _of_loop(loop.body):
            if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
                text = f"{source.said(node.target)} = {source.said(node.value)}"
                if not isinstance(node.value, ast.Constant):
                    yield Rewriting("last alone", (source.replaced(node, text),))


def ended_by_skip(function: Function) -> Rewritings:
    """What should be passed over ends the loop."""
    for loop in _loops(function):
        for node in _of_loop(loop.body):
            if isinstance(node, ast.Continue):
                yield Rewriting("ended by skip", (function.source.replaced(node, "break"),))


def never_noted(function: Function) -> Rewritings:
    """What was seen is not noted, so it is met again."""
    source = function.source
    for loop in _loops(function):
        for node in _of_loop(loop.body):
            match node:
                case ast.Expr(ast.Call(ast.Attribute(ast.Name(), "add"))):
                    yield Rewriting("never noted", (source.replaced(node, "pass"),))


def after(source: SourceFile, node: ast.stmt, text: str) -> Edit:
    """A line after a statement, at its depth."""
    end = source.end(node)
    return Edit(end, end, f"\n{source.indentation(node)}{text}")


def _loops(function: Function) -> Iterator[ast.For | ast.AsyncFor | ast.While]:
    return (node for node in inner_nodes(function.node) if isinstance(node, LOOPS))


def _of_loop(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a loop's body, without those of loops and functions inside it."""
    for node in body:
        yield node
        if not isinstance(node, (*LOOPS, *FUNCTIONS, ast.ClassDef)):
            for field in ("body", "orelse", "finalbody"):
                yield from _of_loop(getattr(node, field, []))
            for handler in getattr(node, "handlers", []):
                yield from _of_loop(handler.body)


def _improves(node: ast.If) -> bool:
    """`if a > best: best = a`."""
    if not isinstance(node.test, ast.Compare):
        return False
    if not isinstance(node.test.ops[0], ast.Lt | ast.Gt | ast.LtE | ast.GtE):
        return False
    compared = {one.id for one in ast.walk(node.test) if isinstance(one, ast.Name)}
    kept = {
        target.id
        for one in node.body
        if isinstance(one, ast.Assign)
        for target in one.targets
        if isinstance(target, ast.Name)
    }
    return bool(compared & kept)


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
