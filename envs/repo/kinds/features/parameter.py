"""An argument taken out of a function, and of those functions that only hand it on."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from synth.envs.repo.kinds.algorithms.order import without_keyword
from synth.envs.repo.kinds.features.unparameterised import optional, unparameterised
from synth.envs.repo.kinds.source.text import Edit
from synth.envs.repo.kinds.source.tree import Call, Function, Tree


class Lost(NamedTuple):
    """A parameter, what it is without being told, and all edits that take it out."""

    argument: str
    default: str
    functions: tuple[Function, ...]
    edits: dict[str, list[Edit]]


def lost_parameters(tree: Tree, function: Function) -> Iterator[Lost]:
    """Each parameter that can go, from this function and from those that hand it on."""
    for argument, default in optional(function).items():
        found = _everywhere(tree, function, argument)
        if found is not None:
            functions, edits = found
            yield Lost(argument, function.source.said(default), functions, edits)


def _everywhere(
    tree: Tree, function: Function, argument: str
) -> tuple[tuple[Function, ...], dict[str, list[Edit]]] | None:
    edits, todo, done = dict[str, list[Edit]](), [function], list[Function]()
    while todo:
        one = todo.pop()
        done.append(one)
        out = unparameterised(one, argument)
        if out is None:
            return None
        edits.setdefault(one.source.path, []).extend(out)
        for call in tree.calls(one):
            if not _names_all(call, one, argument):
                return None
            handing = [key for key in call.node.keywords if key.arg == argument]
            edits.setdefault(call.caller.source.path, []).extend(
                without_keyword(call.caller, call.node, key) for key in handing
            )
            own = argument in optional(call.caller) and any(map(_its_own, handing))
            if own and call.caller not in (*done, *todo):
                todo.append(call.caller)
    return tuple(done), edits


def _its_own(key: ast.keyword) -> bool:
    """`argument=argument`."""
    return isinstance(key.value, ast.Name) and key.value.id == key.arg


def _names_all(call: Call, function: Function, argument: str) -> bool:
    """Whether a call can give the argument by its name alone."""
    unpacked = any(key.arg is None for key in call.node.keywords)
    unpacked |= any(isinstance(one, ast.Starred) for one in call.node.args)
    names = [one.arg for one in function.node.args.args]
    at = names.index(argument) if argument in names else len(names)
    return not unpacked and len(call.node.args) + bool(function.owner) <= at
