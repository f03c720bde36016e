"""Tests that mention some names, taken out of a test file; what is left can still be read."""

import ast
import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath
from typing import NamedTuple, Protocol

from synth.envs.repo.source.names import (
    assigned,
    import_without,
    is_import,
    keywords,
    mentioned,
)
from synth.envs.repo.source.text import DEFINITIONS, Edit, SourceFile
from synth.envs.repo.source.tree import FUNCTIONS


class Parted(NamedTuple):
    """A test file in two: what stays to be seen (None: nothing), and what does not."""

    seen: str | None
    unseen: str


class Unseen(Protocol):
    """Which code of a test file must not be seen."""

    @property
    def names(self) -> frozenset[str]:
        """What must not be imported either."""

    def in_text(self, text: str) -> bool:
        """Whether a file may hold such code."""

    def in_code(self, node: ast.AST) -> bool:
        """Whether a piece of code is such."""

    def and_also(self, more: Iterable[str]) -> "Unseen":
        """With what uses helpers of these names."""


class Names(NamedTuple):
    """What a test mentions that must not be seen: names, or arguments that it names in a call."""

    names: frozenset[str]
    arguments: frozenset[str] = frozenset()

    def in_text(self, text: str) -> bool:
        """Whether a file may mention one."""
        return any(one in text for one in self.names | self.arguments)

    def in_code(self, node: ast.AST) -> bool:
        """Whether a piece of code mentions one."""
        return bool(mentioned(node) & self.names or keywords(node) & self.arguments)

    def and_also(self, more: Iterable[str]) -> "Names":
        """With further names."""
        return self._replace(names=self.names | frozenset(more))


def parted(source: SourceFile, names: Unseen) -> Parted | None:
    """None where no test mentions any of the names."""
    if not names.in_text(source.text):
        return None
    names, moved, whole = _with_helpers(source, names)
    tests = list(_tests(source.tree))
    unseen = [one for one in tests if names.in_code(one.node) or _in_class(one, names)]
    if not unseen:
        return None
    if whole or len(unseen) == len(tests):
        return Parted(None, source.text)

    seen = [one for one in tests if one not in unseen]
    out = [
        edit
        for node in source.tree.body
        if is_import(node)
        for edit in import_without(source, node, names.names)
    ]
    out += [source.lines_removed(one) for one in moved]
    left = source.edited(*out, *_taken_out(source, unseen))
    rest = source.edited(*_taken_out(source, seen))
    if left is None or rest is None:
        return Parted(None, source.text)
    return Parted(left.text, rest.text)


def unseen_path(path: str, text: str) -> str:
    """Where the tests that are taken out of a file stand when the check runs them; by their text,
    so that several tasks of one tree do not meet.
    """
    place, mark = PurePosixPath(path), hashlib.sha256(text.encode()).hexdigest()[:8]
    stem = place.stem if place.stem.startswith("test") else f"test_{place.stem}"
    return str(place.with_name(f"{stem}_{mark}{place.suffix}"))


def count_tests(text: str | None) -> int:
    """How many tests a file has."""
    return len(list(_tests(ast.parse(text or ""))))


class _Test(NamedTuple):
    node: ast.stmt
    owner: ast.ClassDef | None


def _tests(tree: ast.Module) -> Iterator[_Test]:
    for node in tree.body:
        if isinstance(node, FUNCTIONS) and node.name.startswith("test"):
            yield _Test(node, None)
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, FUNCTIONS) and inner.name.startswith("test"):
                    yield _Test(inner, node)


def _with_helpers(source: SourceFile, names: Unseen) -> tuple[Unseen, list[ast.stmt], bool]:
    """The names with those of helpers that mention them, these helpers, and whether something that
    is no definition does.
    """
    moved: list[ast.stmt] = []
    imported = [one for node in source.tree.body if is_import(node) for one in ast.walk(node)]
    aliases = [one for one in imported if isinstance(one, ast.alias)]
    names = names.and_also(one.asname for one in aliases if one.asname and one.name in names.names)
    test_nodes = {id(one.node) for one in _tests(source.tree)}
    test_nodes |= {id(one.owner) for one in _tests(source.tree) if one.owner}
    more = True
    while more:
        more = False
        for node in source.tree.body:
            if is_import(node) or id(node) in test_nodes or node in moved:
                continue
            if names.in_code(node):
                if not assigned(node):
                    return names, moved, True
                moved.append(node)
                names, more = names.and_also(assigned(node)), True
    return names, moved, False


def _in_class(test: _Test, names: Unseen) -> bool:
    """Whether what a test's class has beside its tests mentions a name."""
    if test.owner is None:
        return False
    others = [
        one
        for one in test.owner.body
        if not (isinstance(one, DEFINITIONS) and one.name.startswith("test"))
    ]
    return any(names.in_code(one) for one in [*others, *test.owner.bases])


def _taken_out(source: SourceFile, tests: list[_Test]) -> list[Edit]:
    """The edits that remove tests; classes that would be left with nothing go as a whole."""
    gone = {id(one.node) for one in tests}
    owners = {id(one.owner): one.owner for one in tests if one.owner}
    emptied = {
        key for key, owner in owners.items() if all(_nothing(one, gone) for one in owner.body)
    }
    edits = [source.lines_removed(owners[key]) for key in emptied]
    apart: Callable[[_Test], bool] = lambda one: id(one.owner) not in emptied  # noqa: E731
    return [*edits, *(source.lines_removed(one.node) for one in tests if apart(one))]


def _nothing(node: ast.stmt, gone: set[int]) -> bool:
    words = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return id(node) in gone or words
