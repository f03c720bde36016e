"""A library's files of code and tests, and who calls whom in them, as far as names tell."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeVar

from synth.envs.repo.pool import Library
from synth.envs.repo.source.text import SourceFile, read_sources

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
T = TypeVar("T")


class Function(NamedTuple):
    """A function of a module, or a method of a class of a module."""

    source: SourceFile
    node: FunctionNode
    owner: ast.ClassDef | None = None

    @property
    def name(self) -> str:
        """`function`, or `Class.method`."""
        return f"{self.owner.name}.{self.node.name}" if self.owner else self.node.name

    @property
    def public(self) -> bool:
        """Whether users may call it by its name."""
        return not any(part.startswith("_") for part in self.name.split("."))


class Call(NamedTuple):
    """Where a function is called by its name, inside another one."""

    caller: Function
    node: ast.Call


class Tree:
    """The sources and test files of a library that are Python, by path; `support` is what tests use
    and holds none, as conftest.py.
    """

    def __init__(
        self,
        sources: Mapping[str, SourceFile],
        tests: Mapping[str, SourceFile],
        support: Mapping[str, SourceFile] = {},
    ) -> None:
        self.sources, self.tests, self.support = sources, tests, support

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """All functions and methods of the sources, in their order."""
        return tuple(one for source in self.sources.values() for one in functions_of(source))

    @cached_property
    def _calls(self) -> Mapping[str, tuple[Call, ...]]:
        found: dict[str, list[Call]] = {}
        for function in self.functions:
            for node in ast.walk(function.node):
                if isinstance(node, ast.Call) and (name := called(node)):
                    found.setdefault(name, []).append(Call(function, node))
        return {name: tuple(calls) for name, calls in found.items()}

    def calls(self, function: Function) -> tuple[Call, ...]:
        """The calls of a function in other functions; none where its name means several."""
        name = function.node.name
        if sum(one.node.name == name for one in self.functions) > 1:
            return ()
        return tuple(one for one in self._calls.get(name, ()) if one.caller != function)


def call_chains(calls: Iterable[tuple[T, T]]) -> Iterator[tuple[T, ...]]:
    """Functions of which each calls the next, two or three, given (caller, called)."""
    callees: dict[T, dict[T, None]] = {}
    for caller, function in calls:
        callees.setdefault(caller, {})[function] = None
    for first, seconds in callees.items():
        for second in seconds:
            yield first, second
            for third in callees.get(second, ()):
                if third not in (first, second):
                    yield first, second, third


def called(call: ast.Call) -> str:
    """The last name of what is called, empty where it has none."""
    match call.func:
        case ast.Name(name) | ast.Attribute(attr=name):
            return name
    return ""


def functions_of(source: SourceFile) -> Iterator[Function]:
    """The functions of a module and the methods of its classes; not those inside functions."""
    for node in source.tree.body:
        if isinstance(node, FUNCTIONS):
            yield Function(source, node)
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, FUNCTIONS):
                    yield Function(source, inner, node)


def inner_nodes(function: FunctionNode | ast.Lambda) -> Iterator[ast.AST]:
    """The nodes of a function's body that belong to it alone, not to functions inside it."""
    body = function.body if isinstance(function.body, list) else [function.body]
    left: list[ast.AST] = [*reversed(body)]
    while left:
        node = left.pop()
        yield node
        if not isinstance(node, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
            left += reversed(list(ast.iter_child_nodes(node)))


def read_tree(library: Library, base: Path) -> Tree:
    """The sources and test files of a library."""
    tests = sorted({path for path in library.tests.values() if path.endswith(".py")})
    sources = [path for path in sorted(library.source) if path.endswith(".py")]
    folders = {path.rpartition("/")[0] for path in tests}
    beside = (
        place.relative_to(base).as_posix()
        for folder in sorted(folders)
        for place in sorted((base / folder).glob("*.py"))
    )
    support = [path for path in beside if path not in tests and path not in sources]
    return Tree(*(read_sources(base, paths) for paths in (sources, tests, support)))
