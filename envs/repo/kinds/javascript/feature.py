"""A function or method of JavaScript taken out with its uses; its tests are out of view."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import msgspec

from synth.envs.data_file import data_file
from synth.envs.repo.broken import BrokenTree
from synth.envs.repo.kinds.javascript.hiding import without_tests
from synth.envs.repo.kinds.javascript.removal import lighter, taken_out
from synth.envs.repo.kinds.javascript.tree import (
    JsFunction,
    JsTree,
    comment_before,
    identifiers,
    read_javascript,
)
from synth.envs.repo.pool import Library
from synth.envs.repo.source.text import Edit

_WORDS = data_file("repo/kinds")
_MOST_DEPENDENTS = 3
_Edits = dict[str, list[Edit]]


def feature_removed(library: Library, base: Path, random: Random) -> Iterator[BrokenTree]:
    """Exported functions and methods that a comment describes."""
    tree = read_javascript(library, base)
    functions = [one for one in tree.functions if one.exported and _comment(tree, one)]
    random.shuffle(functions)
    for function in functions:
        removed = _removed(tree, function)
        if removed is None:
            continue
        gone, edits = removed
        names = [one.name for one in gone]
        broken = tree.broken("javascript_feature_removed", edits, "feature", *names)
        hidden = broken and without_tests(tree, broken, frozenset(names))
        if hidden is not None:
            hint = "\n\n".join(_hint(tree, one) for one in gone if one.exported)
            yield msgspec.structs.replace(hidden, hint=hint)


def _removed(tree: JsTree, function: JsFunction) -> tuple[list[JsFunction], _Edits] | None:
    """All functions that go, and the edits; None where too much hangs on it."""
    gone, todo = [function], [function]
    while todo:
        name = todo.pop().name
        callers = [one for one in tree.functions if name in identifiers(one.node)]
        more = [one for one in callers if one not in gone]
        gone, todo = gone + more, todo + more
    if len(gone) > 1 + _MOST_DEPENDENTS or any(one.name == "constructor" for one in gone):
        return None
    edits: _Edits = {}
    for one in gone:
        edits.setdefault(one.path, []).append(taken_out(tree, one.path, one.statement))
    names = frozenset(one.name for one in gone)
    for path, root in tree.trees.items():
        if path not in tree.tests:
            edits.setdefault(path, []).extend(lighter(tree, path, root, names))
    return gone, edits


def _comment(tree: JsTree, function: JsFunction) -> str:
    said = comment_before(tree.texts[function.path], function.statement)
    lines = [line.strip().strip("/*").strip() for line in said.splitlines()]
    return "\n".join(line for line in lines if line)


def _hint(tree: JsTree, function: JsFunction) -> str:
    parameters = ", ".join(tree.said(function.path, one) for one in function.node.many("params"))
    return str(
        _WORDS["missing"].format(
            name=function.name,
            signature=f"({parameters})",
            path=function.path,
            doc=_comment(tree, function),
        )
    )
