"""Cases that were forgotten: the other type, the empty value, the second occurrence."""

import ast

from synth.envs.data_file import data_file
from synth.envs.repo.kinds.algorithms.rewriting import Rewriting, Rewritings, written
from synth.envs.repo.source.text import Edit
from synth.envs.repo.source.tree import Function, inner_nodes

_NEAR = data_file("repo/algorithms")


def first_type_alone(function: Function) -> Rewritings:
    """`isinstance` of several types asks for the first."""
    for node in inner_nodes(function.node):
        match node:
            case ast.Call(ast.Name("isinstance"), [_, ast.Tuple([first, _, *_]) as types]):
                text = function.source.said(first)
                yield Rewriting("first type alone", (function.source.replaced(types, text),))


def empty_is_none(function: Function) -> Rewritings:
    """What is empty or zero is taken for what is missing."""
    source = function.source
    for node in inner_nodes(function.node):
        match node:
            case ast.Compare(left, [ast.Is() | ast.IsNot() as op], [ast.Constant(None)]):
                text = written(source, left)
                text = f"(not {text})" if isinstance(op, ast.Is) else text
                yield Rewriting("empty is none", (source.replaced(node, text),))
            case ast.Call(ast.Attribute(attr="get"), [key, default], []):
                found = source.said(node.func) + f"({source.said(key)})"
                text = f"({found} or {written(source, default)})"
                if not isinstance(default, ast.Constant) or default.value:
                    yield Rewriting("empty is none", (source.replaced(node, text),))


def first_occurrence_alone(function: Function) -> Rewritings:
    """Replaced once, split at the first place."""
    source = function.source
    for node in inner_nodes(function.node):
        match node:
            case ast.Call(ast.Attribute(attr="replace"), [_, new], []):
                edit = Edit(source.end(new), source.end(new), ", 1")
            case ast.Call(ast.Attribute(attr="split"), [mark], []):
                edit = Edit(source.end(mark), source.end(mark), ", 1")
            case ast.Call(ast.Attribute(attr="sub"), [_, _, text], []):
                edit = Edit(source.end(text), source.end(text), ", count=1")
            case _:
                continue
        yield Rewriting("first occurrence alone", (edit,))


def near_namesake(function: Function) -> Rewritings:
    """A method or function that does nearly the same."""
    source = function.source
    for node in inner_nodes(function.node):
        match node:
            case ast.Call(ast.Attribute(attr=name) as func) if name in _NEAR["methods"]:
                edit = source.renamed(func, name, _NEAR["methods"][name])
            case ast.Call(ast.Name(name) as func, [_]) if name in _NEAR["functions"]:
                edit = source.replaced(func, _NEAR["functions"][name])
            case _:
                continue
        yield Rewriting("near namesake", (edit,))


def cut_toward_zero(function: Function) -> Rewritings:
    """Whole division that cuts where it should round down, and is not exact."""
    source = function.source
    for node in inner_nodes(function.node):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
            text = f"int({source.said(node.left)} / {written(source, node.right)})"
            yield Rewriting("cut toward zero", (source.replaced(node, text),))
