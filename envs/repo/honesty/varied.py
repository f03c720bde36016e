"""Tests with other inputs: what code does with values that no test has shown.

Code that has the expected values of its tests by heart does with other inputs what the broken tree
does; a solution does what the solution of the task does, at least for the most part.
"""

import ast
from collections.abc import Collection, Iterator, Sequence

from synth.envs.repo.honesty.twisted import equality, tests_in
from synth.envs.repo.source.text import Edit, SourceFile, readable

ROUNDS = 3


def varied(source: str, names: Collection[str], turn: int) -> str | None:
    """A file of tests with other numbers (turn 0), other texts (1) or both (2) in some of its
    tests, all but what these expect in so many words; None where there are none.
    """
    read = readable(source)
    if read is None:
        return None

    chosen = [function for name, function in tests_in(read.tree) if name in names]
    edits = {
        edit
        for part in [*chosen, *_tables(read.tree, chosen)]
        for node in _inputs(part)
        if (edit := _edit(node, read, turn)) is not None
    }
    after = read.edited(*edits) if edits else None

    return None if after is None else after.text


def _tables(tree: ast.Module, tests: Sequence[ast.AST]) -> Iterator[ast.stmt]:
    """What a module sets under the names that some of its tests use."""
    used = {node.id for test in tests for node in ast.walk(test) if isinstance(node, ast.Name)}
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(one, ast.Name) and one.id in used for one in targets):
                yield node


def _inputs(function: ast.AST) -> Iterator[ast.Constant]:
    """The values that are written out in a test, those apart that it expects."""
    todo, left_out = [function], set[int]()
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Constant):
            yield node
        if isinstance(node, ast.JoinedStr):  # what stands in it has no place of its own before 3.12
            continue

        pair = equality(node)
        left_out |= {id(pair[1])} if pair else set()
        if isinstance(node, ast.Assert):
            left_out.add(id(node.msg))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("parametrize"):
            left_out |= {id(one) for one in [*node.args[:1], *node.keywords]}
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Expr):
            left_out |= {id(one) for one in ast.iter_child_nodes(node) if _is_words(one)}
        todo += [one for one in ast.iter_child_nodes(node) if id(one) not in left_out]


def _is_words(node: ast.AST) -> bool:
    """A docstring, or another text that stands alone."""
    inside = node.value if isinstance(node, ast.Expr) else node
    return isinstance(inside, ast.Constant) and isinstance(inside.value, str)


def _edit(node: ast.Constant, source: SourceFile, turn: int) -> Edit | None:
    """Another value of the same type."""
    value = node.value
    numbers, texts = turn in (0, 2), turn in (1, 2)
    if isinstance(value, bool) or source.said(node)[:1] in "fF":
        return None
    if isinstance(value, int | float) and numbers:
        return source.replaced(node, f"({value!r} + {turn + 1})")
    if isinstance(value, str) and texts and len(value) > 1:
        return source.replaced(node, repr(value[1:] + value[:1]))

    return None
