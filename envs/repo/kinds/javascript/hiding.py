"""Tests of JavaScript that mention some names, taken out of view."""

import hashlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from random import Random

import msgspec

from synth.envs.repo.broken import Breaking, BrokenTree
from synth.envs.repo.kinds.hidden.hiding import MOST
from synth.envs.repo.kinds.hidden.partly import SHARE
from synth.envs.repo.kinds.javascript.parsed import EsNode, parse
from synth.envs.repo.kinds.javascript.removal import lighter, taken_out
from synth.envs.repo.kinds.javascript.tree import JsTree, called, identifiers, read_javascript
from synth.envs.repo.pool import Library
from synth.envs.repo.source.text import spliced

_TESTS = ("test", "it")


def partly_hidden(breaking: Breaking) -> Breaking:
    """Of every five, two are without the tests that mention what is broken."""

    def offered(library: Library, base: Path, random: Random) -> Iterator[BrokenTree]:
        tree = read_javascript(library, base)
        for broken in breaking(library, base, random):
            names = frozenset(broken.about["functions"].split())
            hidden = without_tests(tree, broken, names) if random.random() < SHARE else None
            yield hidden or broken

    offered.__doc__ = breaking.__doc__
    return offered


def without_tests(tree: JsTree, broken: BrokenTree, names: frozenset[str]) -> BrokenTree | None:
    """The tests that mention a name moved out of the tree; None where there are none,
    or where most do.
    """
    edits, hidden, solution = dict(broken.edits), dict[str, str](), dict[str, str]()
    by_path = {path: list(filter(_is_test, tree.trees[path].walk())) for path in tree.tests}
    every = [one for tests in by_path.values() for one in tests]
    if not 0 < len(_mentioning(every, names)) <= MOST * len(every):
        return None
    for path, tests in by_path.items():
        unseen = _mentioning(tests, names)
        if not unseen:
            continue
        seen, text = _parted(tree, path, tests, unseen, names)
        if len(unseen) < len(tests) and names.isdisjoint(_left(path, seen)):
            edits[path] = solution[path] = seen
            hidden[_unseen_path(path, text)] = text
        else:
            edits[path], hidden[path] = None, tree.texts[path]
    return msgspec.structs.replace(broken, edits=edits, hidden=hidden, solution=solution)


def _mentioning(tests: list[EsNode], names: frozenset[str]) -> list[EsNode]:
    return [one for one in tests if identifiers(one) & names]


def _parted(
    tree: JsTree, path: str, tests: list[EsNode], unseen: list[EsNode], names: frozenset[str]
) -> tuple[str, str]:
    """A test file without the tests that must not be seen, and without the others."""
    out = [taken_out(tree, path, one) for one in unseen]
    out += lighter(tree, path, tree.trees[path], names)
    kept = [taken_out(tree, path, one) for one in tests if one not in unseen]
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
