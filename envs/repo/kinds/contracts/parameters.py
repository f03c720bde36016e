"""What a function takes, changed: two parameters the other way round, a number from one on."""

import ast
from collections.abc import Callable

from synth.envs.repo.kinds.algorithms.rewriting import written
from synth.envs.repo.kinds.contracts.contract import (
    Contract,
    Contracts,
    own_parameters,
    plain_arguments,
)
from synth.envs.repo.source.text import Edit
from synth.envs.repo.source.tree import Call, Function

_COUNTS = ("n", "count", "index", "size", "width", "length", "limit", "start", "end", "maxsize")


def swapped_parameters(function: Function) -> Contracts:
    """The first two parameters the other way round."""
    parameters, source = own_parameters(function), function.source
    required = len(parameters) - len(function.node.args.defaults)
    if required < 2 or function.node.name.startswith("__"):
        return
    first, second = parameters[:2]
    edits = (
        source.replaced(first, source.said(second)),
        source.replaced(second, source.said(first)),
    )
    yield Contract("parameters turned round", edits, swapped_arguments)


def swapped_arguments(call: Call) -> Edit | None:
    """The first two arguments of a call the other way round."""
    arguments, source = plain_arguments(call), call.caller.source
    if arguments is None or len(arguments) < 2:
        return None
    first, second = arguments[:2]
    same = source.said(first) == source.said(second)
    return None if same else source.swapped(first, second)


def counted_from_one(function: Function) -> Contracts:
    """A number that the function takes one off again."""
    body, source = function.node.body, function.source
    told = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    body = body[1:] if told else body
    for at, parameter in enumerate(own_parameters(function)):
        said = parameter.annotation
        number = isinstance(said, ast.Name) and said.id == "int"
        if body and (number or (said is None and parameter.arg in _COUNTS)):
            edit = source.before(body[0], f"{parameter.arg} -= 1")
            yield Contract("taken from one on", (edit,), _one_more(at))


def _one_more(at: int) -> Callable[[Call], Edit | None]:
    def at_call(call: Call) -> Edit | None:
        arguments, source = plain_arguments(call), call.caller.source
        if arguments is None or len(arguments) <= at:
            return None
        return source.replaced(arguments[at], f"{written(source, arguments[at])} + 1")

    return at_call
