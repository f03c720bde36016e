"""The functions of a file of Python, by the lines that they stand on."""

import ast
from collections.abc import Iterator

import msgspec

from synth.envs.repo.source.text import readable

OUTSIDE = ""
"""The name of what stands in no function."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class PlacedFunction(msgspec.Struct, frozen=True):
    """A function, with its classes and functions around it in its name; lines from 1."""

    name: str
    first: int
    last: int


def functions_of(text: str) -> list[PlacedFunction]:
    """All functions of a file, outer ones before those in them; none where it is no Python."""
    source = readable(text)
    return list(_functions(source.tree, "")) if source else []


def function_at(functions: list[PlacedFunction], line: int) -> str:
    """The name of the innermost function that a line stands in; `OUTSIDE` for none."""
    inside = [one for one in functions if one.first <= line <= one.last]
    return max(inside, key=lambda one: one.first).name if inside else OUTSIDE


def _functions(node: ast.AST, around: str) -> Iterator[PlacedFunction]:
    for child in ast.iter_child_nodes(node):
        name = around
        if isinstance(child, (*_FUNCTIONS, ast.ClassDef)):
            name = f"{around}.{child.name}".lstrip(".")
        if isinstance(child, _FUNCTIONS):
            decorators = [one.lineno for one in child.decorator_list]
            first = min([child.lineno, *decorators])
            yield PlacedFunction(name, first, child.end_lineno or child.lineno)
        yield from _functions(child, name)
