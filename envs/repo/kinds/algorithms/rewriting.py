"""What a simpler implementation is: a name for the idea, and the edits of one function."""

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

from synth.envs.repo.source.text import Edit, SourceFile
from synth.envs.repo.source.tree import Function

LOOPS = (ast.For, ast.AsyncFor, ast.While)


class Rewriting(NamedTuple):
    """An idea, and what it does to a function."""

    idea: str
    edits: tuple[Edit, ...]


Rewritings = Iterator[Rewriting]
Idea = Callable[[Function], Rewritings]


def single_argument(call: ast.Call) -> ast.expr | None:
    """The first argument of a call, where it has one and nothing is unpacked."""
    if not call.args or any(isinstance(one, ast.Starred) for one in call.args):
        return None
    return call.args[0]


def written(source: SourceFile, node: ast.expr) -> str:
    """An expression as it is written, in parentheses where it needs them beside an operator."""
    simple = isinstance(
        node, ast.Name | ast.Attribute | ast.Call | ast.Constant | ast.Subscript | ast.List
    )
    return source.said(node) if simple else f"({source.said(node)})"


def keyword(call: ast.Call, name: str) -> ast.keyword | None:
    """A named argument of a call."""
    return next((one for one in call.keywords if one.arg == name), None)
