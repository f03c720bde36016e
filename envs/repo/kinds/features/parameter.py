"""An argument taken out of a function, and of those functions that only hand it on."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from synth.envs.repo.kinds.algorithms.order import without_keyword
from synth.envs.repo.kinds.features.unparameterised import optional, unparameterised
from synth.envs.repo.source.text import Edit
from synth.envs.repo.source.tree import Call, Function, Tree, called

_Edits = dict[str, list[Edit]]
"""By path."""


class Lost(NamedTuple):
    """A parameter, what it is without being told, and all edits that take it out."""

    argument: str
    default: str
    functions: tuple[Function, ...]
    edits: _Edits


def lost_parameters(tree: Tree, function: Function) -> Iterator[Lost]:
    """Each parameter that can go, from this function and from those that hand it on."""
    for argument, default in optional(function).items():
        found = _everywhere(tree, function, argument)
        if found is not None:
            functions, edits = found
            yield Lost(argument, function.source.said(default), functions, edits)


def _everywhere(
    tree: Tree, function: Function, argument: str
) -> tuple[tuple[Function, ...], _Edits] | None:
    edits, todo, done = _Edits(), [function], list[Function]()
    dropped = set[int]()
    while todo:
        one = todo.pop()
        done.append(one)
        calls = _calls(tree, one)
        handing = _handing(calls, argument)
        dropped |= {id(key.value) for _, key in handing}
        out = unparameterised(one, argument, dropped)
        if out is None or not all(_names_all(call, one, argument) for call in calls):
            return None
        edits.setdefault(one.source.path, []).extend(out)
        for call, key in handing:
            without = without_keyword(call.caller, call.node, key)
            edits.setdefault(call.caller.source.path, []).append(without)
            if _hands_on(call, key) and call.caller not in (*done, *todo):
                todo.append(call.caller)
    return tuple(done), edits


def _calls(tree: Tree, function: Function) -> list[Call]:
    """The calls of a function, in others and in itself."""
    own = (
        Call(function, node)
        for node in ast.walk(function.node)
        if isinstance(node, ast.Call) and called(node) == function.node.name
    )
    return [*tree.calls(function), *own]


def _handing(calls: list[Call], argument: str) -> list[tuple[Call, ast.keyword]]:
    """The calls that name an argument, and where they do."""
    return [(call, key) for call in calls for key in call.node.keywords if key.arg == argument]


def _hands_on(call: Call, key: ast.keyword) -> bool:
    """`argument=argument`, where the caller need not be told it either."""
    own = isinstance(key.value, ast.Name) and key.value.id == key.arg
    return own and key.arg in optional(call.caller)


def _names_all(call: Call, function: Function, argument: str) -> bool:
    """Whether a call can give the argument by its name alone."""
    unpacked = any(key.arg is None for key in call.node.keywords)
    unpacked |= any(isinstance(one, ast.Starred) for one in call.node.args)
    names = [one.arg for one in function.node.args.args]
    at = names.index(argument) if argument in names else len(names)
    return not unpacked and len(call.node.args) + bool(function.owner) <= at
