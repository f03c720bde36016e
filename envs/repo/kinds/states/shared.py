"""State that several hold: a default made once, a list of the class, what the caller still has."""

import ast
from collections.abc import Iterator

from synth.envs.repo.kinds.change import TreeChange, changed_in
from synth.envs.repo.source.tree import Function, Tree, inner_nodes

_COPIES = ("list", "dict", "set", "copy", "deepcopy", "OrderedDict")
_EMPTY = ("list", "dict", "set", "OrderedDict", "defaultdict", "deque", "Counter")


def default_made_once(tree: Tree) -> Iterator[TreeChange]:
    """`argument=None`, made anew inside, becomes a default that all calls share."""
    for function in tree.functions:
        defaults = _defaults(function)
        for node in function.node.body:
            match node:
                case ast.If(
                    ast.Compare(ast.Name(name), [ast.Is()], [ast.Constant(None)]),
                    [ast.Assign([ast.Name(target)], made)],
                    [],
                ) if name == target and name in defaults and _is_empty(made):
                    edits = [
                        function.source.replaced(defaults[name], function.source.said(made)),
                        function.source.lines_removed(node),
                    ]
                    yield changed_in(function, "default made once", edits)


def one_for_all_instances(tree: Tree) -> Iterator[TreeChange]:
    """`self.items = []` of `__init__` becomes an attribute of the class."""
    for function in tree.functions:
        if function.owner is None or function.node.name != "__init__":
            continue
        for node in function.node.body:
            match node:
                case ast.Assign([ast.Attribute(ast.Name("self"), name)], made) if (
                    _is_empty(made) and len(function.node.body) > 1
                ):
                    source = function.source
                    moved = f"{name} = {source.said(made)}\n"
                    edits = [source.before(function.node, moved), source.lines_removed(node)]
                    yield changed_in(function, "one for all instances", edits)


def still_the_callers(tree: Tree) -> Iterator[TreeChange]:
    """A copy that was made of what was handed in, left out."""
    for function in tree.functions:
        names = {one.arg for one in ast.walk(function.node.args) if isinstance(one, ast.arg)}
        for node in inner_nodes(function.node):
            match node:
                case ast.Assign(value=ast.Call(ast.Name(made), [ast.Name(name)], []) as call) if (
                    made in _COPIES and name in names
                ):
                    text = name
                case ast.Assign(value=ast.Call(ast.Attribute(of, "copy"), [], []) as call):
                    text = function.source.said(of)
                case _:
                    continue
            yield changed_in(function, "still the caller's", [function.source.replaced(call, text)])


def not_forgotten(tree: Tree) -> Iterator[TreeChange]:
    """A method that no longer sets back what the instance had kept."""
    for function in tree.functions:
        if function.owner is None or function.node.name == "__init__":
            continue
        for node in inner_nodes(function.node):
            match node:
                case ast.Assign([ast.Attribute(ast.Name("self"))], ast.Constant(None)):
                    pass
                case ast.Expr(
                    ast.Call(
                        ast.Attribute(ast.Attribute(ast.Name("self")), "clear" | "pop" | "discard")
                    )
                ):
                    pass
                case ast.Delete([ast.Subscript(ast.Attribute(ast.Name("self")))]):
                    pass
                case _:
                    continue
            yield changed_in(function, "not forgotten", [function.source.replaced(node, "pass")])


def _is_empty(node: ast.expr) -> bool:
    match node:
        case ast.List([]) | ast.Dict([]):
            return True
        case ast.Call(ast.Name(name) | ast.Attribute(attr=name)):
            return name in _EMPTY and len(node.args) <= (name == "defaultdict")
    return False


def _defaults(function: Function) -> dict[str, ast.expr]:
    """The parameters whose default is None."""
    arguments = function.node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    given = list(zip(reversed(positional), reversed(arguments.defaults), strict=False))
    given += [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d]
    return {
        one.arg: default
        for one, default in given
        if isinstance(default, ast.Constant) and default.value is None
    }
