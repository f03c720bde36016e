"""Operators on expressions of statements: conditions, results, errors, defaults, and on names that
are taken for one another.
"""

import ast
from collections.abc import Iterator, Mapping

from synth.envs.data_file import data_file
from synth.envs.repo.source.text import Edit, SourceFile

_OTHER_ERROR: Mapping[str, str] = data_file("repo/look_alikes")["errors"]
_OTHER_NAME: Mapping[str, str] = data_file("repo/look_alikes")["names"]


def negated_condition(node: ast.AST, source: SourceFile) -> Iterator[Edit]:
    """if c: -> if not (c):, with both of its branches."""
    if isinstance(node, (ast.If, ast.While, ast.IfExp)):
        yield source.replaced(node.test, "not (" + source.said(node.test) + ")")


def branch_dropped(node: ast.AST, source: SourceFile) -> Iterator[Edit]:
    """if c and d: -> if d:, and a lone condition -> False: its branch is never taken."""
    if not isinstance(node, ast.If):
        return
    test = node.test
    if isinstance(test, ast.BoolOp):
        for at in range(len(test.values)):
            kept = [source.said(value) for i, value in enumerate(test.values) if i != at]
            word = " and " if isinstance(test.op, ast.And) else " or "
            yield source.replaced(test, word.join(kept))
    else:
        yield source.replaced(test, "False")


def return_value(node: ast.AST, source: SourceFile) -> Iterator[Edit]:
    """return x -> return None; return a, b -> return b, a."""
    if not isinstance(node, ast.Return) or node.value is None:
        return
    value = node.value
    if isinstance(value, ast.Tuple) and len(value.elts) == 2:
        yield source.swapped(*value.elts)
    elif not (isinstance(value, ast.Constant) and value.value is None):
        yield source.replaced(value, "None")


def exception_type(node: ast.AST, source: SourceFile) -> Iterator[Edit]:
    """raise ValueError(...) -> raise TypeError(...), except KeyError: -> except IndexError:."""
    found: ast.expr | None = None
    if isinstance(node, ast.Raise):
        found = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    elif isinstance(node, ast.ExceptHandler):
        found = node.type
    for part in found.elts if isinstance(found, ast.Tuple) else [found]:
        if isinstance(part, ast.Name) and part.id in _OTHER_ERROR:
            yield source.replaced(part, _OTHER_ERROR[part.id])


def default_argument(node: ast.AST, source: SourceFile) -> Iterator[Edit]:
    """def f(a=1) -> def f(a=2); True and False, texts and nothing are taken for one another."""
    if not isinstance(node, ast.arguments):
        return
    for value in [*node.defaults, *node.kw_defaults]:
        if not isinstance(value, ast.Constant):
            continue
        if isinstance(value.value, bool):
            yield source.replaced(value, str(not value.value))
        elif isinstance(value.value, int):
            yield source.replaced(value, str(value.value + 1))
        elif isinstance(value.value, str) and not value.value:
            yield source.replaced(value, "' '")
        elif isinstance(value.value, str) and value.value.isspace():
            yield source.replaced(value, "''")


def added_amount(node: ast.AST, source: SourceFile) -> Iterator[Edit]:
    """a += b -> a -= b, a -= b -> a += b."""
    if isinstance(node, ast.AugAssign) and not isinstance(node.value, (ast.JoinedStr, ast.List)):
        words = {ast.Add: ("+=", "-="), ast.Sub: ("-=", "+=")}.get(type(node.op))
        text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        if words is not None and not text:
            yield from source.operator(node.target, node.value, *words)


def look_alike(node: ast.AST, source: SourceFile) -> Iterator[Edit]:
    """s.lstrip() -> s.rstrip(), min(...) -> max(...): a called name that is near another."""
    if not isinstance(node, ast.Call):
        return
    if isinstance(node.func, ast.Name) and node.func.id in _OTHER_NAME:
        yield source.replaced(node.func, _OTHER_NAME[node.func.id])
    elif isinstance(node.func, ast.Attribute) and node.func.attr in _OTHER_NAME:
        yield source.renamed(node.func, node.func.attr, _OTHER_NAME[node.func.attr])
