"""The kind `single_site`: one operator at one site of one function that a test calls.

Operators take turns, so that none dominates: an argument can be swapped at more sites than all
others together.
"""

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random

from synth.envs.repo.broken import BrokenTree
from synth.envs.repo.making.sites import of_expressions as expressions
from synth.envs.repo.making.sites import of_statements as statements
from synth.envs.repo.pool import Library
from synth.envs.repo.source.text import Edit, SourceFile, read_sources
from synth.envs.repo.source.tree import FUNCTIONS

KIND = "single_site"
Operator = Callable[[ast.AST, SourceFile], Iterator[Edit]]
"""The edits that it knows for one node."""
OPERATORS: Mapping[str, Operator] = {
    operator.__name__: operator
    for operator in (
        expressions.swap_arguments,
        expressions.comparison,
        expressions.arithmetic,
        expressions.and_or,
        expressions.integer_plus_one,
        expressions.boolean,
        expressions.slice_bounds,
        expressions.subscript,
        expressions.branches_of_an_expression,
        expressions.sign,
        statements.negated_condition,
        statements.branch_dropped,
        statements.return_value,
        statements.exception_type,
        statements.default_argument,
        statements.added_amount,
        statements.look_alike,
    )
}
Site = tuple[str, Edit]
"""A file, and an edit of it."""


def single_site(library: Library, tree: Path, chance: Random) -> Iterator[BrokenTree]:
    """Ways to break a tree by one edit each, until no site is left; operators take turns."""
    sources = read_sources(tree, library.source)
    sites = by_operator(sources)
    for found in sites.values():
        chance.shuffle(found)
    names = sorted(sites)
    while names:
        chance.shuffle(names)
        for name in names:
            path, edit = sites[name].pop()
            after = sources[path].edited(edit)
            if after is not None and ast.dump(after.tree) != ast.dump(sources[path].tree):
                about = {"operators": name, "modules": path}
                yield BrokenTree(kind=KIND, edits={path: after.text}, about=about)
        names = [name for name in names if sites[name]]


def by_operator(sources: Mapping[str, SourceFile]) -> dict[str, list[Site]]:
    """Every site in a function, by the operator that knows it."""
    found: defaultdict[str, list[Site]] = defaultdict(list)
    for path, source in sources.items():
        for node in _in_functions(source.tree):
            for name, operator in OPERATORS.items():
                found[name] += [(path, edit) for edit in operator(node, source)]
    return {name: sites for name, sites in found.items() if sites}


def _in_functions(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node of every function, once; annotations apart, which nothing executes."""
    todo: list[ast.AST] = [node for node in _outside(tree) if isinstance(node, FUNCTIONS)]
    while todo:
        node = todo.pop()
        yield node
        apart = {id(getattr(node, name, None)) for name in ("annotation", "returns")}
        for child in ast.iter_child_nodes(node):
            # before Python 3.12 what stands in an f-string does not know where it stands
            if id(child) not in apart and not isinstance(child, ast.JoinedStr):
                todo.append(child)


def _outside(tree: ast.AST) -> Iterator[ast.AST]:
    """What stands in no function."""
    for child in ast.iter_child_nodes(tree):
        yield child
        if not isinstance(child, FUNCTIONS):
            yield from _outside(child)
