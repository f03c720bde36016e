"""A changed promise: the edits of the definition, and of each call that is brought along."""

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

from synth.envs.repo.source.text import Edit
from synth.envs.repo.source.tree import Call, Function, inner_nodes


class Contract(NamedTuple):
    """How a function's promise changes. `at_call` is None where a call cannot be brought along."""

    change: str
    definition: tuple[Edit, ...]
    at_call: Callable[[Call], Edit | None]


Contracts = Iterator[Contract]


def returned(function: Function) -> list[ast.expr]:
    """What a function returns, in each of its returns that have a value; none for generators."""
    nodes = list(inner_nodes(function.node))
    if any(isinstance(one, ast.Yield | ast.YieldFrom) for one in nodes):
        return []
    return [one.value for one in nodes if isinstance(one, ast.Return) and one.value is not None]


def own_parameters(function: Function) -> list[ast.arg]:
    """The positional parameters, without the instance or class."""
    arguments = function.node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    static = any(
        isinstance(one, ast.Name) and one.id == "staticmethod"
        for one in function.node.decorator_list
    )
    return positional[1:] if function.owner and not static else positional


def plain_arguments(call: Call) -> list[ast.expr] | None:
    """The positional arguments of a call; None where some are unpacked."""
    if any(isinstance(one, ast.Starred) for one in call.node.args):
        return None
    return call.node.args


def annotated(function: Function, *names: str) -> bool:
    """Whether the function says that it returns one of these types."""
    returns = function.node.returns
    return isinstance(returns, ast.Name) and returns.id in names
