"""From a change of some nodes to a broken tree; a kind is a function that finds such changes."""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from random import Random

import msgspec

from synth.envs.repo.broken import Breaking, BrokenTree, told_of
from synth.envs.repo.pool import Library
from synth.envs.repo.source.behaviour import exports
from synth.envs.repo.source.text import Edit, SourceFile
from synth.envs.repo.source.tree import Function, Tree, functions_of, read_tree


class TreeChange(msgspec.Struct, frozen=True, kw_only=True):
    """Edits by path. `functions` are the names whose behaviour changes, `pattern` what was done:
    a kind offers its patterns in turn.
    """

    edits: Mapping[str, Sequence[Edit]]
    functions: tuple[str, ...]
    pattern: str
    hint: str = ""


def changed(pattern: str, placed: Iterable[tuple[Function, Edit]]) -> TreeChange:
    """Edits of functions, each beside the function that it changes."""
    edits, functions = dict[str, list[Edit]](), dict[Function, None]()
    for function, edit in placed:
        edits.setdefault(function.source.path, []).append(edit)
        functions[function] = None
    return TreeChange(edits=edits, functions=tuple(one.name for one in functions), pattern=pattern)


def changed_in(function: Function, pattern: str, edits: Iterable[Edit]) -> TreeChange:
    """Edits of one function."""
    return changed(pattern, ((function, edit) for edit in edits))


Found = Iterable[TreeChange]
Finding = Callable[[Tree, Random], Found]


def breaking(kind: str) -> Callable[[Finding], Breaking]:
    """Makes a way of breaking trees of a function that finds changes in a parsed tree."""

    def of(find: Finding) -> Breaking:
        def offered(library: Library, base: Path, random: Random) -> Iterator[BrokenTree]:
            tree = read_tree(library, base)
            for change in in_turn(find(tree, random), random):
                broken = broken_tree(kind, tree, change)
                if broken is not None:
                    yield broken

        offered.__doc__ = find.__doc__
        return offered

    return of


def in_turn(found: Found, random: Random) -> list[TreeChange]:
    """All changes, shuffled, one pattern after the other, so that none crowds out the rest."""
    by_pattern: dict[str, list[TreeChange]] = {}
    for change in found:
        by_pattern.setdefault(change.pattern, []).append(change)
    for group in by_pattern.values():
        random.shuffle(group)
    groups = [by_pattern[name] for name in sorted(by_pattern)]
    random.shuffle(groups)
    return [one for round_ in zip_longest(*groups) for one in round_ if one is not None]


def broken_tree(kind: str, tree: Tree, change: TreeChange) -> BrokenTree | None:
    """The tree after a change; None where that is no Python, or the same."""
    edits = {}
    for path, some in change.edits.items():
        source = tree.sources[path] if path in tree.sources else tree.tests[path]
        after = source.edited(*some)
        if after is None:
            return None
        if after.text != source.text:
            edits[path] = after.text
    sites = sites_of(tree, edits)
    if not sites:
        return None
    about = told_of(change.pattern, edits, change.functions)
    return BrokenTree(kind=kind, edits=edits, sites=sites, hint=change.hint, about=about)


def sites_of(tree: Tree, edits: Mapping[str, str | None]) -> int:
    """How many functions of the sources differ or are missing; code outside of them is one more
    for each file.
    """
    return sum(
        _differing(source.text, edits[path] or "")
        for path, source in tree.sources.items()
        if path in edits
    )


def _differing(before: str, after: str) -> int:
    old, new = _parts(before), _parts(after)
    return sum(old.get(name) != new.get(name) for name in {*old, *new})


def _parts(text: str) -> dict[str, str]:
    source = SourceFile(text)
    found = list(functions_of(source))
    parts = {one.name: ast.dump(one.node) for one in found}
    inside = {id(one.node) for one in found}
    rest = (
        ast.dump(node)
        for top in source.tree.body
        for node in ([top] if not isinstance(top, ast.ClassDef) else top.body)
        if id(node) not in inside and not _names_alone(node)
    )
    return {**parts, "": "\n".join(rest)}


def _names_alone(node: ast.AST) -> bool:
    """An import, or a list of what is exported: it goes with its function and is no place of its
    own.
    """
    return exports(node) or isinstance(node, ast.Import | ast.ImportFrom)
