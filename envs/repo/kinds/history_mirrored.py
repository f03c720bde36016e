"""What a release changed, undone: functions as they were in an older one. Its new tests, where
there are any, are out of view.
"""

import ast
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path
from random import Random
from typing import NamedTuple

from synth.envs.repo.broken import BrokenTree
from synth.envs.repo.kinds.change import TreeChange, broken_tree, changed, in_turn
from synth.envs.repo.kinds.hidden.hiding import hidden_tests
from synth.envs.repo.pool import Library
from synth.envs.repo.source.behaviour import behaviour
from synth.envs.repo.source.names import mentioned
from synth.envs.repo.source.text import Edit, SourceFile, read_sources
from synth.envs.repo.source.tree import FUNCTIONS, Function, Tree, functions_of, read_tree

KIND = "history_mirrored"
_MOST_PAIRS = 200


def history_mirrored(library: Library, base: Path, random: Random) -> Iterator[BrokenTree]:
    """One function, two of a file, or all of a file, against the release that lies in the pool's
    folder `older`; nothing where none does.
    """
    older = older_of(base.parent.parent, library.name)
    if not older.is_dir():
        return
    tree, past = read_tree(library, base), _past(older)
    for change in in_turn(_undone(tree, past, random), random):
        broken = broken_tree(KIND, tree, change)
        if broken is not None:
            yield (
                hidden_tests(tree, broken, _NewTests(_known_tests(past), change.functions))
                or broken
            )


def older_of(pool: Path, library: str) -> Path:
    """Where the older release of a library lies, if there is one."""
    return pool / "older" / library


def _past(older: Path) -> dict[str, SourceFile]:
    """All files of the older release by their path without `src/`."""
    paths = (place.relative_to(older).as_posix() for place in sorted(older.rglob("*.py")))
    return {_bare(path): source for path, source in read_sources(older, paths).items()}


def _bare(path: str) -> str:
    """A path, whether or not its sources stand in a folder of their own, as packages or files."""
    return path.removeprefix("src/").replace("/__init__.py", ".py")


def _undone(tree: Tree, past: dict[str, SourceFile], random: Random) -> Iterator[TreeChange]:
    for path, source in tree.sources.items():
        older = past.get(_bare(path))
        if older is None:
            continue
        then = {one.name: one for one in functions_of(older)}
        differing = [
            (one, _as_it_was(one, then[one.name]))
            for one in functions_of(source)
            if one.name in then and _code(one) != _code(then[one.name])
        ]
        groups = [("one function", [one]) for one in differing]
        pairs = list(combinations(differing, 2))
        random.shuffle(pairs)
        groups += [("two functions", [*pair]) for pair in pairs[:_MOST_PAIRS]]
        if len(differing) > 2:
            groups.append(("a whole file", differing))
        for pattern, group in groups:
            yield changed(pattern, group)


def _as_it_was(now: Function, then: Function) -> Edit:
    start, end = now.source.line_of(now.node), now.source.end(now.node)
    return Edit(start, end, then.source.lines(then.node))


def _code(function: Function) -> str:
    return behaviour(ast.unparse(function.node))


def _known_tests(past: dict[str, SourceFile]) -> frozenset[str]:
    """The tests of the older release, as code."""
    return frozenset(
        ast.dump(node)
        for source in past.values()
        for node in ast.walk(source.tree)
        if isinstance(node, FUNCTIONS) and node.name.startswith("test")
    )


class _NewTests(NamedTuple):
    """Tests that the older release does not have, of some functions."""

    known: frozenset[str]
    functions: tuple[str, ...]

    @property
    def names(self) -> frozenset[str]:
        """Nothing is missing that could not be imported."""
        return frozenset()

    def in_text(self, text: str) -> bool:
        """Whether a file mentions one of the functions."""
        return any(name in text for name in self._wanted())

    def in_code(self, node: ast.AST) -> bool:
        """Whether a test is new, and mentions one of the functions."""
        test = isinstance(node, FUNCTIONS) and node.name.startswith("test")
        return test and bool(mentioned(node) & self._wanted()) and ast.dump(node) not in self.known

    def and_also(self, more: Iterable[str]) -> "_NewTests":
        """Helpers stay."""
        return self

    def _wanted(self) -> frozenset[str]:
        parts = (part for name in self.functions for part in name.split("."))
        return frozenset(part for part in parts if not part.startswith("_"))
