"""A function or method of JavaScript taken out with its uses; its tests are out of view."""

import hashlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from random import Random

import msgspec

from synth.envs.data_file import data_file
from synth.envs.repo.broken import BrokenTree
from synth.envs.repo.kinds.javascript.parsed import EsNode, parse
from synth.envs.repo.kinds.javascript.tree import (
    JsEdit,
    JsFunction,
    JsTree,
    called,
    comment_before,
    identifiers,
    read_javascript,
    spliced,
)
from synth.envs.repo.pool import Library

_WORDS = data_file("repo/kinds")
_TESTS = ("test", "it")
_MOST_DEPENDENTS = 3
_Edits = dict[str, list[JsEdit]]


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
        hidden = broken and _without_tests(tree, broken, frozenset(names))
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
        edits.setdefault(one.path, []).append(_taken_out(tree, one.path, one.statement))
    names = frozenset(one.name for one in gone)
    for path, root in tree.trees.items():
        if path not in tree.tests:
            edits.setdefault(path, []).extend(_lighter(tree, path, root, names))
    return gone, edits


def _lighter(tree: JsTree, path: str, root: EsNode, names: frozenset[str]) -> Iterator[JsEdit]:
    """Imports and exports without some names."""
    for statement in root.many("body"):
        specifiers = statement.many("specifiers")
        gone = [one for one in specifiers if identifiers(one) & names]
        if gone and len(gone) == len(specifiers):
            yield _taken_out(tree, path, statement)
        elif gone:
            kept = [tree.said(path, one) for one in specifiers if one not in gone]
            yield JsEdit(specifiers[0].start, specifiers[-1].end, ", ".join(kept))


def _taken_out(tree: JsTree, path: str, statement: EsNode) -> JsEdit:
    """A statement with its comment, its lines and the empty line after it."""
    text = tree.texts[path]
    start = statement.start - len(comment_before(text, statement))
    start = text.rfind("\n", 0, start) + 1
    end = statement.end
    while end < len(text) and text[end] in " \t;\n" and text[end - 2 : end] != "\n\n":
        end += 1
    return JsEdit(start, end - len(text[:end]) + len(text[:end].rstrip(" \t")), "")


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


def _without_tests(tree: JsTree, broken: BrokenTree, names: frozenset[str]) -> BrokenTree | None:
    """The tests that mention a name moved out of the tree; None where there are none."""
    edits, hidden, solution = dict(broken.edits), dict[str, str](), dict[str, str]()
    for path in tree.tests:
        tests = [node for node in tree.trees[path].walk() if _is_test(node)]
        unseen = [one for one in tests if identifiers(one) & names]
        if not unseen:
            continue
        seen, text = _parted(tree, path, tests, unseen, names)
        if len(unseen) < len(tests) and names.isdisjoint(_left(path, seen)):
            edits[path] = solution[path] = seen
            hidden[_unseen_path(path, text)] = text
        else:
            edits[path], hidden[path] = None, tree.texts[path]
    if not hidden:
        return None
    return msgspec.structs.replace(broken, edits=edits, hidden=hidden, solution=solution)


def _parted(
    tree: JsTree, path: str, tests: list[EsNode], unseen: list[EsNode], names: frozenset[str]
) -> tuple[str, str]:
    """A test file without the tests that must not be seen, and without the others."""
    out = [_taken_out(tree, path, one) for one in unseen]
    out += _lighter(tree, path, tree.trees[path], names)
    kept = [_taken_out(tree, path, one) for one in tests if one not in unseen]
    return spliced(tree.texts[path], out), spliced(tree.texts[path], kept)


def _left(path: str, text: str) -> frozenset[str]:
    found = parse({path: text}).get(path)
    return frozenset() if found is None else identifiers(found)


def _is_test(node: EsNode) -> bool:
    call = node.one("expression") if node.type == "ExpressionStatement" else None
    return call is not None and call.type == "CallExpression" and called(call) in _TESTS


def _unseen_path(path: str, text: str) -> str:
    place, mark = PurePosixPath(path), hashlib.sha256(text.encode()).hexdigest()[:8]
    stem, _, ending = place.name.partition(".")
    return str(place.with_name(f"{stem}_{mark}.{ending}"))
