"""Answers kept for later: by a part of what they depend on, or past a change."""

import ast
from collections.abc import Iterator

from synth.envs.repo.kinds.change import TreeChange, changed_in
from synth.envs.repo.kinds.contracts.contract import own_parameters, returned
from synth.envs.repo.source.text import Edit
from synth.envs.repo.source.tree import FUNCTIONS, Function, Tree, functions_of, inner_nodes


def first_part_alone(tree: Tree) -> Iterator[TreeChange]:
    """A function of several parameters that remembers its answers by the first."""
    for function in tree.functions:
        parameters, source = own_parameters(function), function.source
        if function.owner or len(parameters) < 2 or not _simple(function):
            continue
        first, rest = parameters[0].arg, [one.arg for one in parameters]
        rest += [one.arg for one in function.node.args.kwonlyargs]
        if len({*rest} & _read(function)) < 2:
            continue
        kept = f"_kept_{function.node.name.strip('_')}"
        key = f"{function.node.name.strip('_')}_key"
        opening = f"{key} = repr({first})\nif {key} in {kept}:\n    return {kept}[{key}]"
        edits = [
            source.before(function.node, f"{kept} = {{}}\n\n"),
            source.before(_after_docstring(function), opening),
            *(_kept_first(function, one, f"{kept}[{key}]") for one in returned(function)),
        ]
        yield changed_in(function, "key without a part", edits)


def past_a_change(tree: Tree) -> Iterator[TreeChange]:
    """What an instance tells of itself is kept, and forgotten in all changes but one."""
    for source in tree.sources.values():
        methods = [one for one in functions_of(source) if one.owner]
        for told in methods:
            if not _tells(told):
                continue
            kept = f"_kept_{told.node.name.strip('_')}"
            forget = f'self.__dict__.pop("{kept}", None)'
            changing = [one for one in methods if one.owner is told.owner and _changes(one)]
            opening = f'if "{kept}" in self.__dict__:\n    return self.{kept}'
            edits = [
                source.before(_after_docstring(told), opening),
                *(_kept_first(told, one, f"self.{kept}") for one in returned(told)),
            ]
            for left_out in changing if len(changing) > 1 else []:
                clearing = [
                    source.before(_after_docstring(one), forget)
                    for one in changing
                    if one is not left_out
                ]
                yield TreeChange(
                    edits={source.path: [*edits, *clearing]},
                    functions=(told.name, left_out.name),
                    pattern="kept past a change",
                )


def _kept_first(function: Function, value: ast.expr, place: str) -> Edit:
    """`return value` as `place = value; return place`, on two lines."""
    source = function.source
    node = next(
        one
        for one in inner_nodes(function.node)
        if isinstance(one, ast.Return) and one.value is value
    )
    text = f"{place} = {source.said(value)}\n{source.indentation(node)}return {place}"
    return source.replaced(node, text)


def _simple(function: Function) -> bool:
    """Undecorated, returns at its end, and at least two statements long."""
    node = function.node
    if node.decorator_list or isinstance(node, ast.AsyncFunctionDef) or not returned(function):
        return False
    inside = any(isinstance(one, FUNCTIONS) for one in inner_nodes(node))
    return not inside and len(node.body) > 1 and not _one_line(function)


def _one_line(function: Function) -> bool:
    return any(
        function.source.said(one).startswith("return")
        and function.source.indentation(one) != " " * one.col_offset
        for one in inner_nodes(function.node)
        if isinstance(one, ast.Return)
    )


def _tells(function: Function) -> bool:
    """Takes nothing but the instance, reads it, changes nothing and returns something new."""
    alone = [one.arg for one in function.node.args.args] == ["self"]
    values = returned(function)
    computed = any(
        isinstance(one, ast.Call | ast.BinOp | ast.ListComp | ast.JoinedStr) for one in values
    )
    return alone and computed and not _changes(function) and not _one_line(function)


def _changes(function: Function) -> bool:
    """Whether a method sets something of its instance, or changes what it holds."""
    if function.node.name == "__init__" or not function.node.args.args:
        return False
    for node in inner_nodes(function.node):
        match node:
            case ast.Attribute(ast.Name("self"), ctx=ast.Store() | ast.Del()):
                return True
            case ast.Subscript(ast.Attribute(ast.Name("self")), ctx=ast.Store() | ast.Del()):
                return True
            case ast.Call(ast.Attribute(ast.Attribute(ast.Name("self")), name)):
                if name in (
                    "append",
                    "add",
                    "pop",
                    "clear",
                    "update",
                    "remove",
                    "insert",
                    "extend",
                ):
                    return True
    return False


def _read(function: Function) -> set[str]:
    return {
        one.id
        for one in inner_nodes(function.node)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)
    }


def _after_docstring(function: Function) -> ast.stmt:
    body = function.node.body
    first = body[0]
    told = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return body[1] if told and len(body) > 1 else first
