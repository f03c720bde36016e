"""A function without one of its parameters: the default in its place, no branch that asks for
it.
"""

import ast
from collections.abc import Collection, Mapping

from synth.envs.repo.source.text import Edit
from synth.envs.repo.source.tree import Function, inner_nodes


def optional(function: Function) -> Mapping[str, ast.Constant]:
    """The parameters that callers can leave out: keyword-only ones, the last positional one."""
    arguments = function.node.args
    found = list(zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True))
    if arguments.args and arguments.defaults and not arguments.vararg:
        found.append((arguments.args[-1], arguments.defaults[-1]))
    return {one.arg: default for one, default in found if isinstance(default, ast.Constant)}


def unparameterised(
    function: Function, argument: str, dropped: Collection[int]
) -> list[Edit] | None:
    """The edits; None where the parameter is set anew, never read, or cannot be left out. `dropped`
    are values (by their identity) that calls lose.
    """
    source, default = function.source, optional(function)[argument]
    uses = [
        one for one in ast.walk(function.node) if isinstance(one, ast.Name) and one.id == argument
    ]
    signature = _signature(function, argument, default)
    if signature is None or not uses or any(not isinstance(one.ctx, ast.Load) for one in uses):
        return None
    edits, folded = [signature], set(dropped)
    for node in inner_nodes(function.node):
        if not isinstance(node, ast.If | ast.IfExp) or id(node) in folded:
            continue
        truth = _truth(node.test, argument, default.value)
        if truth is not None:
            edits.append(_kept_branch(function, node, truth))
            folded |= {id(one) for one in ast.walk(node)}
    left = [one for one in uses if id(one) not in folded]
    return [*edits, *(source.replaced(one, source.said(default)) for one in left)]


def _signature(function: Function, argument: str, default: ast.expr) -> Edit | None:
    arguments, source = function.node.args, function.source
    middle = [arguments.vararg] if arguments.vararg else []
    own = [*arguments.posonlyargs, *arguments.args, *middle, *arguments.kwonlyargs]
    at = next(at for at, one in enumerate(own) if one.arg == argument)
    after_star = own[at] in arguments.kwonlyargs[:1] and not middle
    if after_star and len(arguments.kwonlyargs) > 1:
        return Edit(source.start(own[at]), source.start(own[at + 1]), "")
    if not at:
        return None if after_star else Edit(source.start(own[0]), source.end(default), "")
    return Edit(_end(function, own[at - 1]), source.end(default), "")


def _end(function: Function, parameter: ast.arg) -> int:
    """The byte after a parameter and its default."""
    arguments, source = function.node.args, function.source
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [
        *zip(reversed(positional), reversed(arguments.defaults), strict=False),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    default = next((given for own, given in pairs if own is parameter), None)
    return source.end(parameter if default is None else default)


def _truth(test: ast.expr, argument: str, default: object) -> bool | None:
    """What a condition is that asks for the parameter alone, or first."""
    match test:
        case ast.Name(name) if name == argument:
            return bool(default)
        case ast.UnaryOp(ast.Not(), ast.Name(name)) if name == argument:
            return not default
        case ast.Compare(ast.Name(name), [ast.Is()], [ast.Constant(None)]) if name == argument:
            return default is None
        case ast.Compare(ast.Name(name), [ast.IsNot()], [ast.Constant(None)]) if name == argument:
            return default is not None
        case ast.BoolOp(ast.And(), [first, *_]) if _truth(first, argument, default) is False:
            return False
    return None


def _kept_branch(function: Function, node: ast.If | ast.IfExp, truth: bool) -> Edit:
    """The branch that is taken in the place of both."""
    source = function.source
    if isinstance(node, ast.IfExp):
        return source.replaced(node, source.said(node.body if truth else node.orelse))
    kept = node.body if truth else node.orelse
    return source.replaced(node, source.raised(kept, source.indentation(node)) if kept else "pass")
